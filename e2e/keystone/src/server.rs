//! The process of Keystone in a directory with its database and keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use berth_control_plane::{Daemon, FromRefused as _};
use berth_python::Python;
use reqwest::Method;
use tokio::time::sleep;

use crate::Error;
use crate::api::Api;

/// A busy machine needs some times the two seconds of a free one.
const READY_WITHIN: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What tests choose of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub token_lifetime: Duration,
    /// Rules that replace those of Keystone, as YAML.
    pub policy: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self { token_lifetime: Duration::from_secs(3600), policy: "{}" }
    }
}

/// One of our programs.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(name)
}

/// Writes `keystone.conf` and the policy into a directory.
pub(crate) fn configure(folder: &Path, port: u16, settings: &Settings) -> Result<(), Error> {
    let files = [("keystone.conf", text(folder, port, settings)), ("policy.yaml", settings.policy.to_owned())];
    files.into_iter().try_for_each(|(name, text)| {
        let file = folder.join(name);
        fs::write(&file, text).map_err(Error::path("write", &file))
    })
}

/// Starts Keystone in a directory that is complete; returns when it answers.
pub(crate) async fn start(python: &Python, folder: &Path, port: u16, api: &Api) -> Result<Daemon, Error> {
    let mut arguments = Python::line(&script("serve.py"));
    arguments.extend([folder.display().to_string(), port.to_string()]);
    let mut daemon = Daemon::start("keystone", python.program(), &arguments, folder).await?;
    let begin = Instant::now();
    while !api.send(&Method::GET, "", &[], None).await.is_ok_and(|answer| answer.status == 200) {
        daemon.check()?;
        if begin.elapsed() > READY_WITHIN {
            return Err(Error::NotReady { seconds: READY_WITHIN.as_secs(), log: daemon.log_tail() });
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(daemon)
}

/// The fewest rounds of a password hash, as every login computes one.
fn text(folder: &Path, port: u16, settings: &Settings) -> String {
    let folder = folder.display();
    let lifetime = settings.token_lifetime.as_secs();
    format!(
        "[DEFAULT]\npublic_endpoint = http://127.0.0.1:{port}\n\
         [database]\nconnection = sqlite:///{folder}/keystone.db\n\
         [token]\nexpiration = {lifetime}\n\
         [fernet_tokens]\nkey_repository = {folder}/fernet-tokens\n\
         [fernet_receipts]\nkey_repository = {folder}/fernet-receipts\n\
         [credential]\nkey_repository = {folder}/credentials\n\
         [identity]\npassword_hash_rounds = 4\n\
         [oslo_policy]\npolicy_file = {folder}/policy.yaml\n\
         [cache]\nenabled = false\n"
    )
}
