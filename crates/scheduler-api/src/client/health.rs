//! Whether an external scheduler gives usable answers, for the log: its end and its recovery are told once, not with every
//! slot and every retry while it is away.

use std::sync::atomic::{AtomicBool, Ordering};

/// What the last answer was.
#[derive(Debug, Default)]
pub(super) struct Health {
    failing: AtomicBool,
}

impl Health {
    /// It has failed; whether that is news.
    pub(super) fn failed(&self) -> bool {
        !self.failing.swap(true, Ordering::Relaxed)
    }

    /// It has answered; whether that is news after a failure.
    pub(super) fn answered(&self) -> bool {
        self.failing.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_news() {
        let health = Health::default();
        let told = [health.answered(), health.failed(), health.failed(), health.answered(), health.answered()];
        assert_eq!(told, [false, true, false, true, false]);
        assert!(health.failed());
    }
}
