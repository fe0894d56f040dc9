//! Shutdown: SIGTERM and SIGINT cancel one token; a second signal ends the process at once. SIGHUP ends nothing.

use futures::{Stream, StreamExt as _};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::TelemetryError;

/// Exit status when a second signal did not want to wait.
pub const IMPATIENT: i32 = 1;

/// Listens for SIGTERM and SIGINT and returns the token that the first of them cancels.
///
/// Call it once, inside the runtime, before anything else is started.
pub fn on_signals() -> Result<CancellationToken, TelemetryError> {
    let listen = |kind, name: &'static str| {
        signal(kind)
            .map_err(|source| TelemetryError::Signals { source })
            .map(|mut signals| futures::stream::poll_fn(move |cx| signals.poll_recv(cx)).map(move |()| name).fuse())
    };
    tokio::spawn(survive(listen(SignalKind::hangup(), "SIGHUP")?));
    let signals = futures::stream::select(
        listen(SignalKind::terminate(), "SIGTERM")?,
        listen(SignalKind::interrupt(), "SIGINT")?,
    );
    let token = CancellationToken::new();
    tokio::spawn(watch(signals, token.clone(), || std::process::exit(IMPATIENT)));
    Ok(token)
}

/// Operators send SIGHUP after they have replaced a file, and by default it would end the process. Files with secrets are read again
/// every few seconds in any case.
async fn survive(mut signals: impl Stream<Item = &'static str> + Unpin) {
    while let Some(name) = signals.next().await {
        tracing::info!(signal = name, "files with secrets are read again by themselves; other settings need a restart");
    }
}

/// The first signal cancels, the second gives up waiting.
async fn watch(
    mut signals: impl Stream<Item = &'static str> + Unpin,
    token: CancellationToken,
    give_up: impl FnOnce(),
) {
    let Some(name) = signals.next().await else { return };
    tracing::info!(signal = name, "stopping; a second signal stops at once");
    token.cancel();
    let Some(name) = signals.next().await else { return };
    tracing::warn!(signal = name, "stopping at once: second signal");
    give_up();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    async fn after(signals: &[&'static str]) -> (bool, bool) {
        let token = CancellationToken::new();
        let gave_up = Arc::new(AtomicBool::new(false));
        let flag = gave_up.clone();
        watch(futures::stream::iter(signals.to_vec()), token.clone(), move || flag.store(true, Ordering::SeqCst)).await;
        (token.is_cancelled(), gave_up.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn one_signal_asks_and_a_second_one_insists() {
        assert_eq!(after(&[]).await, (false, false));
        assert_eq!(after(&["SIGTERM"]).await, (true, false));
        assert_eq!(after(&["SIGTERM", "SIGINT"]).await, (true, true));
    }

    async fn signal_myself(name: &str) {
        let me = std::process::id().to_string();
        assert!(tokio::process::Command::new("kill").args(["-s", name, &me]).status().await.unwrap().success());
    }

    #[tokio::test]
    async fn a_real_sigterm_cancels_the_token_and_a_sighup_before_ends_nothing() {
        let token = on_signals().unwrap();
        signal_myself("HUP").await;
        tokio::task::yield_now().await;
        assert!(!token.is_cancelled());
        signal_myself("TERM").await;
        token.cancelled().await;
    }
}
