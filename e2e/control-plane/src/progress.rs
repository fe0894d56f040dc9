//! Signs of life during work that takes minutes.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(5);

/// One long piece of work, told on stderr: its beginning, and every few seconds how long it has been going on.
pub(crate) struct Progress {
    work: &'static str,
    started: Instant,
    told: Instant,
}

impl Progress {
    pub(crate) fn start(work: &'static str, hint: &str) -> Self {
        tell(&format!("{work} ({hint})"));
        let now = Instant::now();
        Self { work, started: now, told: now }
    }

    /// Says how long the work has been going on, unless it was said just now.
    pub(crate) fn tick(&mut self, detail: impl FnOnce() -> String) {
        if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            tell(&format!("{}: {} s{}", self.work, self.started.elapsed().as_secs(), detail()));
        }
    }

    pub(crate) fn done(self) {
        tell(&format!("{}: done in {} s", self.work, self.started.elapsed().as_secs()));
    }
}

/// One line on stderr. Not `eprintln!`: the test harness would keep it until the test has failed.
pub(crate) fn tell(line: &str) {
    // Nobody reads stderr any more: that is no reason to fail.
    let _ = writeln!(io::stderr(), "control plane: {}", line.trim_end());
}
