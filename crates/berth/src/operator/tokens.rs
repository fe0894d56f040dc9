//! The tokens of the scheduler API. Those of a file are read again when it changes, so that a rotation needs no restart.

use std::path::PathBuf;
use std::time::Duration;

use berth_scheduler_api::server::TokensInForce;
use berth_telemetry::TelemetryError;
use berth_telemetry::config::{Scheduler, Tokens};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};

use super::parts::Parts;
use crate::error::Error;

/// How often the file is read: a Secret that is mounted takes a minute to change anyway.
const EVERY: Duration = Duration::from_secs(5);

/// The tokens of the scheduler API, if callers must show any. Starts the task that follows their file.
pub(super) fn follow(keys: &Scheduler, parts: &Parts) -> Result<Option<TokensInForce>, Error> {
    let Some(tokens) = keys.read_tokens()? else { return Ok(None) };
    let (sender, tokens) = watch::channel(tokens);
    if let Some(path) = keys.token_file.clone() {
        let stop = parts.stop.clone();
        parts.spawn_endless("the reader of the token file", async move {
            // It ends with `stop` only.
            let _ = stop.run_until_cancelled(reread(path, sender)).await;
        });
    }
    Ok(Some(tokens))
}

/// Reads the file again and again. Tokens stay valid as long as the file cannot be used.
async fn reread(path: PathBuf, sender: watch::Sender<Tokens>) {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = None;
    loop {
        tick.tick().await;
        let file = path.clone();
        match tokio::task::spawn_blocking(move || Tokens::read_file(&file)).await {
            Ok(read) => take_over(read, &sender, &mut reported),
            // The runtime ends.
            Err(_) => return,
        }
    }
}

/// Puts tokens in force. A failure is logged once, until it changes or ends.
fn take_over(read: Result<Tokens, TelemetryError>, sender: &watch::Sender<Tokens>, reported: &mut Option<String>) {
    let failure = read.as_ref().err().map(ToString::to_string);
    if let Some(failure) = failure.as_ref().filter(|_| failure != *reported) {
        error!(error = failure, "token file cannot be used; the former tokens stay valid");
    }
    *reported = failure;
    let Ok(tokens) = read else { return };
    let replaces = |former: &mut Tokens| {
        let is_new = *former != tokens;
        *former = tokens;
        is_new
    };
    if sender.send_if_modified(replaces) {
        info!("tokens of the scheduler API read again");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tokens(text: &str) -> Tokens {
        Tokens::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_follow_their_file_and_stay_while_it_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, "old\n").unwrap();
        let (sender, mut in_force) = watch::channel(tokens("old"));
        let task = tokio::spawn(reread(path.clone(), sender));
        for (text, accepted, refused) in [("old\nnew\n", &["old", "new"][..], "x"), ("new\n", &["new"], "old")] {
            fs::write(&path, text).unwrap();
            in_force.changed().await.unwrap();
            let now = in_force.borrow().clone();
            assert!(accepted.iter().all(|token| now.have(token.as_bytes())) && !now.have(refused.as_bytes()));
        }
        for unusable in ["", "a\nb\nc\n"] {
            fs::write(&path, unusable).unwrap();
            assert!(tokio::time::timeout(10 * EVERY, in_force.changed()).await.is_err(), "{unusable:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(tokio::time::timeout(10 * EVERY, in_force.changed()).await.is_err());
        assert!(in_force.borrow().have(b"new") && !in_force.borrow().have(b""));
        task.abort();
    }

    #[test]
    fn a_failure_is_reported_until_it_ends() {
        let (sender, _in_force) = watch::channel(tokens("old"));
        let failure = || Tokens::read_file("/nowhere/tokens".as_ref());
        let mut reported = None;
        take_over(failure(), &sender, &mut reported);
        assert!(reported.as_ref().is_some_and(|text| text.contains("/nowhere/tokens")));
        take_over(Ok(tokens("new")), &sender, &mut reported);
        assert!(reported.is_none() && sender.borrow().have(b"new"));
    }
}
