//! Waits for a condition, with a text that says what was there instead.

use std::env;
use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Far more than anything here takes, because compilers may run at the same time.
pub const WITHIN: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Repeats the check until it succeeds; returns the last error otherwise.
pub async fn until<T, E: Display>(mut reconcile: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    let deadline = Instant::now() + WITHIN;
    loop {
        match reconcile().await {
            Ok(good) => return Ok(good),
            Err(bad) if Instant::now() > deadline => return Err(bad),
            Err(_) => sleep(POLL_INTERVAL).await,
        }
    }
}

/// How often something is repeated, unless this variable of the environment says otherwise.
pub fn repetitions(variable: &str, usual: usize) -> usize {
    env::var(variable).ok().and_then(|times| times.parse().ok()).unwrap_or(usual)
}

/// `Ok` if the condition holds; otherwise the words about what is wrong.
pub fn so(is: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(words()) }
}

pub fn none(violations: &[String]) -> Result<(), String> {
    so(violations.is_empty(), || violations.join("\n"))
}
