//! One run of some tests of a binary, with or without a mutant.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::Error;

/// The named tests are short. One that takes longer hangs, and has noticed nothing.
const DEADLINE: Duration = Duration::from_secs(180);

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    Passed,
    Failed,
}

/// The results of a run's tests, by name. Missing and unfinished tests have no result.
pub type Outcome = BTreeMap<String, TestOutcome>;

/// Runs these tests of the binary, in the directory of its package.
pub fn run(binary: &Path, folder: &Path, tests: &[&str], mutant: Option<&str>) -> Result<Outcome, Error> {
    let cannot = |error| Error::Run(binary.display().to_string(), error);
    let child = command(binary, folder, tests, mutant).spawn().map_err(cannot)?;
    Ok(outcome(&heard(child, DEADLINE).map_err(cannot)?))
}

fn command(binary: &Path, folder: &Path, tests: &[&str], mutant: Option<&str>) -> Command {
    let mut command = Command::new(binary);
    // One after the other, so that the output of one is not in the line of another.
    command.args(["--exact", "--test-threads=1"]).args(tests).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    match mutant {
        Some(mutant) => command.env("BERTH_MUTANT", mutant),
        None => command.env_remove("BERTH_MUTANT"),
    };
    // An intended failure must leave nothing in the sources.
    command.env("INSTA_UPDATE", "no").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
    command
}

/// The output of the process until it ends, or until the deadline, which kills it.
fn heard(mut child: Child, deadline: Duration) -> io::Result<String> {
    let (done, ended) = mpsc::channel();
    let out = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let read = out.map_or(Ok(0), |mut out| out.read_to_string(&mut text));
        // The receiver is gone when it is late.
        let _ = done.send(());
        read.map(|_| text)
    });
    if ended.recv_timeout(deadline).is_err() {
        child.kill()?;
    }
    child.wait()?;
    reader.join().unwrap_or_else(|_| Err(io::Error::other("its output was not read")))
}

/// Reads `test <name> ... ok` and `test <name> ... FAILED`.
fn outcome(printed: &str) -> Outcome {
    let lines = printed.lines().filter_map(|line| line.strip_prefix("test ")?.rsplit_once(" ... "));
    let reported = |(name, word): (&str, &str)| match word {
        "ok" => Some((name.to_owned(), TestOutcome::Passed)),
        "FAILED" => Some((name.to_owned(), TestOutcome::Failed)),
        _ => None,
    };
    lines.filter_map(reported).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_reported_what_its_line_ends_with() {
        let printed = "\nrunning 4 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ignored\ntest e ... ";
        let expected = [("a::b".to_owned(), TestOutcome::Passed), ("c".to_owned(), TestOutcome::Failed)];
        assert_eq!(outcome(printed), expected.into());
    }

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn who_hangs_is_ended_and_has_reported_what_was_heard_until_then() {
        let hanging = heard(shell("echo test a ... ok; exec sleep 600"), Duration::from_millis(500)).unwrap();
        let ending = heard(shell("echo test a ... ok; exit 101"), DEADLINE).unwrap();
        assert_eq!((hanging.as_str(), ending.as_str()), ("test a ... ok\n", "test a ... ok\n"));
    }
}
