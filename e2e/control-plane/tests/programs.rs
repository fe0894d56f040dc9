//! Where the programs are found, and the messages when they are missing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_control_plane::{Binaries, Environment, Error};
use tempfile::TempDir;

const NEW_API_SERVER: &str = "echo Kubernetes v1.36.0";
const OLD_API_SERVER: &str = "echo Kubernetes v1.30.2";

/// A machine with only an empty cache and an empty directory on the `PATH`.
struct Machine {
    folder: TempDir,
    environment: Environment,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().join("bin").into_os_string());
        let cache_home = Some(folder.path().join("cache"));
        Self { folder, environment: Environment { kubebuilder_assets: None, path, cache_home } }
    }

    fn with(self, name: &str, script: &str) -> Self {
        write_program(&self.bin(), name, script);
        self
    }

    fn with_control_plane(self, api_server: &str) -> Self {
        self.with("kube-apiserver", api_server).with("etcd", "").with("kubectl", "")
    }

    fn with_assets(mut self, folder: PathBuf) -> Self {
        self.environment.kubebuilder_assets = Some(folder);
        self
    }

    fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    async fn refusal(&self) -> Error {
        Binaries::obtain(&self.environment).await.unwrap_err()
    }
}

/// Another process writes the program: a child that a concurrent test starts at this moment could inherit the open
/// file, and a program that is open for writing cannot be run.
fn write_program(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let source = folder.join(format!("{name}.script"));
    fs::write(&source, format!("#!/bin/sh\n{script}\n")).unwrap();
    let install = Command::new("install").arg(&source).arg(folder.join(name)).status();
    assert!(install.unwrap().success());
}

#[tokio::test]
async fn without_programs_and_without_go_the_text_reports_how_to_get_them() {
    let machine = Machine::new();
    assert_eq!(Binaries::find(&machine.environment).await.unwrap(), None);
    let text = machine.refusal().await.to_string();
    for hint in ["kube-apiserver, etcd and kubectl", "Go 1.26", "make setup", "KUBEBUILDER_ASSETS"] {
        assert!(text.contains(hint), "{hint} is not in: {text}");
    }
    assert!(!text.contains('\n'));
}

#[tokio::test]
async fn without_any_variable_the_text_names_those_to_set() {
    let text = Binaries::obtain(&Environment::default()).await.unwrap_err().to_string();
    assert!(text.contains("XDG_CACHE_HOME") && text.contains("HOME"), "{text}");
}

#[tokio::test]
async fn an_old_go_is_named_with_the_version_that_is_needed() {
    let text = Machine::new().with("go", "echo go1.19.8").refusal().await.to_string();
    assert!(text.contains("go1.19.8 is too old") && text.contains("Go 1.26"), "{text}");
}

#[tokio::test]
async fn programs_on_the_path_are_taken_unless_they_are_too_old() {
    let machine = Machine::new().with_control_plane(NEW_API_SERVER);
    let found = Binaries::find(&machine.environment).await.unwrap().unwrap();
    assert_eq!(found.etcd, machine.bin().join("etcd"));
    assert_eq!(found.folders(), [machine.bin()]);

    let machine = Machine::new().with_control_plane(OLD_API_SERVER);
    assert_eq!(Binaries::find(&machine.environment).await.unwrap(), None);
}

#[tokio::test]
async fn assets_go_before_the_path_and_must_be_complete_and_recent() {
    let chosen = Machine::new().with_control_plane(NEW_API_SERVER);
    let machine = Machine::new().with_control_plane(NEW_API_SERVER).with_assets(chosen.bin());
    let found = Binaries::find(&machine.environment).await.unwrap().unwrap();
    assert_eq!(found.folders(), [chosen.bin()]);

    let incomplete = Machine::new().with("kubectl", "");
    let text = Machine::new().with_assets(incomplete.bin()).refusal().await.to_string();
    assert!(text.contains("KUBEBUILDER_ASSETS") && text.contains("kube-apiserver, etcd"), "{text}");

    let old = Machine::new().with_control_plane(OLD_API_SERVER);
    let text = Machine::new().with_assets(old.bin()).refusal().await.to_string();
    assert!(text.contains("Kubernetes v1.30.2") && text.contains("v1.36"), "{text}");
}
