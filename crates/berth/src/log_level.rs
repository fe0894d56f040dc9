//! Shows or changes the log level of a running operator over an abstract Unix socket. It needs no writable file system,
//! and the kernel names the user of the client, so that only the operator's own user is served.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{self, SocketAddr};
use std::time::Duration;

use berth_cluster::chain;
use berth_telemetry::verbosity::Verbosity;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// More than any list of levels needs.
const MOST: usize = 4096;
const WITHIN: Duration = Duration::from_secs(5);

/// The reply of an operator, as text for users.
pub(crate) type Answer = Result<String, String>;

/// Processes of other process namespaces may have the same id, but not in the same network namespace, unless containers
/// share the network of their node.
fn address(pid: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("berth/log-level/{pid}"))
}

/// Serves requests until `stop`. If the socket is not available, the log level stays that of the start.
pub(crate) async fn serve(verbosity: Verbosity, stop: CancellationToken) {
    match listen() {
        Ok(listener) => drop(stop.run_until_cancelled(answer_all(&listener, &verbosity)).await),
        Err(error) => {
            warn!(error = chain(&error), "berth log-level cannot reach this process");
            stop.cancelled().await;
        }
    }
}

fn listen() -> io::Result<UnixListener> {
    let listener = net::UnixListener::bind_addr(&address(std::process::id())?)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

/// One question after the other; one that takes too long is dropped.
async fn answer_all(listener: &UnixListener, verbosity: &Verbosity) {
    loop {
        let outcome = match listener.accept().await {
            Ok((stream, _)) => timeout(WITHIN, answer(stream, verbosity)).await.unwrap_or(Ok(())),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            warn!(error = chain(&error), "a client of berth log-level got no answer");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn answer(mut stream: UnixStream, verbosity: &Verbosity) -> io::Result<()> {
    let mut wanted = String::new();
    let answer = if stream.peer_cred()?.uid() == own_user()? {
        (&mut stream).take(MOST as u64).read_to_string(&mut wanted).await?;
        match wanted.as_str() {
            "" => Ok(verbosity.now()),
            wanted => verbosity.change(wanted).map_err(|error| error.to_string()),
        }
    } else {
        Err("only the user that the operator runs as may ask".to_owned())
    };
    stream.write_all(&serde_json::to_vec(&answer)?).await
}

/// The user of this process, as the kernel sees it.
fn own_user() -> io::Result<u32> {
    let (own, _other) = UnixStream::pair()?;
    Ok(own.peer_cred()?.uid())
}

/// Sends a request to the operator with this process id; an empty text only requests the present level.
pub(crate) async fn ask(pid: u32, wanted: &str) -> io::Result<Answer> {
    if wanted.len() > MOST {
        return Ok(Err(format!("a list of levels has at most {MOST} bytes; write a shorter one")));
    }
    let stream = net::UnixStream::connect_addr(&address(pid)?)?;
    stream.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(stream)?;
    let asking = async {
        stream.write_all(wanted.as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(serde_json::from_slice(&answer)?)
    };
    timeout(2 * WITHIN, asking).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
