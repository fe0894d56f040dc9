//! Asking a running operator what it logs, and changing that, over an abstract unix socket: it needs no file, so that it works
//! in a container whose file system is read-only, and the kernel says who asks. It decides who may ask, and how long and
//! how much; which levels there are is decided by telemetry.

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
/// So long one question may take.
const WITHIN: Duration = Duration::from_secs(5);

/// What an operator answers; the text is for people.
pub(crate) type Answer = Result<String, String>;

/// Processes of other process namespaces may have the same id, but not in the same network namespace, unless containers
/// share the network of their node.
fn address(pid: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("berth/log-level/{pid}"))
}

/// Answers until `stop`. Where that is not possible the process logs what it was started with.
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
            warn!(error = chain(&error), "a question about the log level was not answered");
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

/// Asks the operator with this process id; an empty text only asks what is shown.
pub(crate) async fn ask(pid: u32, wanted: &str) -> io::Result<Answer> {
    if wanted.len() > MOST {
        return Ok(Err(format!("more than {MOST} bytes are no list of levels; write a shorter one")));
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
