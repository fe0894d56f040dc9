//! Runs the binary as a command: its arguments and input, and its result.

use std::fs;
use std::process::Stdio;

use serde_json::Value;
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

/// Whether the argument names the kubeconfig of the administrator of a control plane.
fn is_of_administrator(argument: &str) -> bool {
    let text = argument.strip_prefix("--kubeconfig=").and_then(|path| fs::read_to_string(path).ok());
    let content: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    content.is_some_and(|content| content["users"][0]["name"] == "admin")
}

/// Runs the binary, with this on its standard input.
pub async fn berth(arguments: &[&str], input: &str) -> Ended {
    assert!(
        !arguments.iter().any(|argument| is_of_administrator(argument)),
        "{arguments:?}: people have accounts of their own"
    );
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
