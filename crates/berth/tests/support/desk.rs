//! The workplace of an administrator: files, a kubeconfig of the home cluster, and the commands of the binary besides
//! the operator.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{Ended, berth};

pub struct Desk {
    folder: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Desk {
    pub fn of(kubeconfig: &Path) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), kubeconfig: kubeconfig.to_owned() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Runs the binary, with this on its standard input.
    pub async fn berth(&self, arguments: &[&str], input: &str) -> Ended {
        let kubeconfig = format!("--kubeconfig={}", self.kubeconfig.display());
        berth(&[arguments, &[&kubeconfig]].concat(), input).await
    }

    pub async fn shown(&self, arguments: &[&str]) -> String {
        let ended = self.berth(arguments, "").await;
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{ended:#?}");
        ended.stdout
    }

    /// Checks that a command ended with this code and one line on standard error.
    pub async fn refused(&self, arguments: &[&str], code: i32, line: &str) {
        let ended = self.berth(arguments, "").await;
        assert_eq!((ended.status, ended.stdout.as_str()), (code, ""), "{ended:#?}");
        assert_eq!(ended.stderr, format!("berth: {line}\n"));
    }
}

pub fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
