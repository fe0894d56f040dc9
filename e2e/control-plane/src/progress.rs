//! Progress messages of work that takes minutes.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(5);

/// A long piece of work, reported on stderr: its start, and every few seconds its duration.
pub(crate) struct Progress {
    work: &'static str,
    started: Instant,
    reported: Instant,
}

impl Progress {
    pub(crate) fn start(work: &'static str, hint: &str) -> Self {
        tell(&format!("{work} ({hint})"));
        let now = Instant::now();
        Self { work, started: now, reported: now }
    }

    /// Reports the duration, unless it was reported just now.
    pub(crate) fn tick(&mut self, detail: impl FnOnce() -> String) {
        if self.reported.elapsed() >= EVERY {
            self.reported = Instant::now();
            tell(&format!("{}: {} s{}", self.work, self.started.elapsed().as_secs(), detail()));
        }
    }

    pub(crate) fn done(self) {
        tell(&format!("{}: done in {} s", self.work, self.started.elapsed().as_secs()));
    }
}

/// One line on stderr. Not `eprintln!`: the test harness would keep it until the test has failed.
pub(crate) fn tell(line: &str) {
    // A closed stderr is no reason to fail.
    let _ = writeln!(io::stderr(), "control plane: {}", line.trim_end());
}
