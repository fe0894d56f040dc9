//! Starts processes that end with this one, however this one ends.
//!
//! The kernel can send a child a signal when its parent ends (`setpriv --pdeathsig` asks for it). The parent is the
//! *thread* that started the child: a child of a test's or a runtime's thread would be killed as soon as that thread
//! ends. So one thread that lives as long as the process starts all of them.

use std::path::Path;
use std::process::{Child, Command};
use std::sync::{OnceLock, mpsc};
use std::{io, thread};

use tokio::sync::oneshot;

struct Order {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Runs a program only if the expected parent still lives: the signal is not sent for a parent that ended before the
/// request. `$0` is the process id of that parent; `exec` keeps the process id and the request.
const UNLESS_ORPHANED: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// A command for [`spawn`] that runs a program which is killed when this process ends.
pub(crate) fn bound_to_this_process(setpriv: &Path, program: &Path) -> Command {
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "KILL", "--", "/bin/sh", "-c", UNLESS_ORPHANED]);
    command.arg(std::process::id().to_string()).arg(program);
    command
}

/// Starts a command from the thread that lives as long as this process.
pub(crate) async fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = oneshot::channel();
    spawner().send(Order { command, reply }).map_err(|_| no_spawner())?;
    answer.await.map_err(|_| no_spawner())?
}

fn spawner() -> &'static mpsc::Sender<Order> {
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel();
        // When the thread cannot be started, its inbox is dropped, and every order fails.
        drop(thread::Builder::new().name("control-plane-spawner".to_owned()).spawn(move || serve(&inbox)));
        orders
    })
}

fn serve(inbox: &mpsc::Receiver<Order>) {
    for Order { mut command, reply } in inbox {
        if let Err(Ok(mut child)) = reply.send(command.spawn()) {
            // The caller is gone.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

fn no_spawner() -> io::Error {
    io::Error::other("the thread that starts processes is not there")
}
