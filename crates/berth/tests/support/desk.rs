//! The desk of an administrator: files, a way to the home cluster, and the commands of the binary that are not the operator.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use super::waiting::WITHIN;

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// What an administrator has beside the binary.
pub struct Desk {
    folder: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Desk {
    /// With this way to the home cluster.
    pub fn of(kubeconfig: &Path) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), kubeconfig: kubeconfig.to_owned() }
    }

    /// Where a file would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with this content.
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Runs the binary, with this on its standard input.
    pub async fn berth(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
        command.args(arguments).arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        command.env_remove("RUST_LOG").env_remove("LOG_LEVEL").kill_on_drop(true);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // Whoever does not read it has refused something before.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
        let ended = timeout(WITHIN, child.wait_with_output()).await.unwrap().unwrap();
        Ended {
            status: ended.status.code().unwrap(),
            stdout: String::from_utf8(ended.stdout).unwrap(),
            stderr: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    /// What was shown without a complaint.
    pub async fn shown(&self, arguments: &[&str]) -> String {
        let ended = self.berth(arguments, "").await;
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{ended:#?}");
        ended.stdout
    }

    /// Ended with this code and one line on standard error.
    pub async fn refused(&self, arguments: &[&str], code: i32, line: &str) {
        let ended = self.berth(arguments, "").await;
        assert_eq!((ended.status, ended.stdout.as_str()), (code, ""), "{ended:#?}");
        assert_eq!(ended.stderr, format!("berth: {line}\n"));
    }
}

pub fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
