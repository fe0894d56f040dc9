//! Waiting for something to be so, with a text that says what was there instead.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Far more than anything here takes: compilers may run beside it.
pub const WITHIN: Duration = Duration::from_secs(30);

const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Looks until the answer is good; the last bad one otherwise.
pub async fn until<T, E: Display>(mut look: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    let deadline = Instant::now() + WITHIN;
    loop {
        match look().await {
            Ok(good) => return Ok(good),
            Err(bad) if Instant::now() > deadline => return Err(bad),
            Err(_) => sleep(LOOK_EVERY).await,
        }
    }
}

/// `Ok` if it is so; otherwise the words for what is not.
pub fn so(is: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if is { Ok(()) } else { Err(words()) }
}

/// `Ok` if nothing is on the list.
pub fn none(broken: &[String]) -> Result<(), String> {
    so(broken.is_empty(), || broken.join("\n"))
}
