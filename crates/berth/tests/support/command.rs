//! Runs the binary as a command: its arguments and input, and its result.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::waiting::WITHIN;

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the binary, with this on its standard input.
pub async fn berth(arguments: &[&str], input: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(arguments).env_remove("RUST_LOG").env_remove("LOG_LEVEL").kill_on_drop(true);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A process that does not read its input has refused something before.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
    let ended = timeout(WITHIN, child.wait_with_output()).await.unwrap().unwrap();
    Ended {
        status: ended.status.code().unwrap(),
        stdout: String::from_utf8(ended.stdout).unwrap(),
        stderr: String::from_utf8(ended.stderr).unwrap(),
    }
}
