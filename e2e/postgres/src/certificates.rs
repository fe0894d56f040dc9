//! Certificates for servers that encrypt their connections, made with openssl.

use std::fs;
use std::path::PathBuf;

use berth_control_plane::FromRefused as _;
use tempfile::TempDir;
use tokio::process::Command;

use crate::Error;

/// Certificates in a directory, by name, each with its key.
#[derive(Debug)]
pub struct Certificates(TempDir);

impl Certificates {
    pub fn new() -> Result<Self, Error> {
        Ok(Self(tempfile::tempdir().map_err(Error::io("create a folder for certificates"))?))
    }

    /// The file of a certificate (`crt`) or of its key (`key`).
    pub fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.0.path().join(format!("{name}.{ending}"))
    }

    pub fn text(&self, name: &str, ending: &str) -> Result<String, Error> {
        fs::read_to_string(self.file(name, ending)).map_err(Error::io("read a certificate"))
    }

    /// A new key and its self-signed certificate.
    pub async fn make_authority(&self, name: &str) -> Result<(), Error> {
        self.make(name, &[]).await
    }

    /// The certificate of a server with this name, such as `IP:127.0.0.1`, signed by an authority.
    pub async fn make_server(&self, name: &str, authority: &str, called: &str) -> Result<(), Error> {
        let [signer, key] = ["crt", "key"].map(|ending| self.file(authority, ending).display().to_string());
        let called = format!("subjectAltName={called}");
        let own = ["-addext", &called, "-addext", "basicConstraints=critical,CA:FALSE", "-CA", &signer, "-CAkey", &key];
        self.make(name, &own).await
    }

    async fn make(&self, name: &str, more: &[&str]) -> Result<(), Error> {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        command.args(["-subj", &format!("/CN={name}"), "-keyout"]).arg(self.file(name, "key"));
        command.arg("-out").arg(self.file(name, "crt")).args(more);
        let output = command.output().await.map_err(Error::io("run openssl"))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::Failed { program: "openssl".to_owned(), status: output.status, output: text })
    }
}
