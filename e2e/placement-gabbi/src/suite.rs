//! Runs the files of the suite concurrently, each against its own server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use berth_control_plane::FromRefused as _;
use tokio::task::JoinSet;

use crate::description::{Description, File};
use crate::server::Server;
use crate::worker::{Tested, Worker};
use crate::{Error, Toolbox};

/// Runs all files of the description, `at_once` at the same time; returns the tests in the order of the description.
pub async fn run(
    toolbox: &Toolbox,
    description: &Description,
    server: &Server,
    at_once: usize,
) -> Result<Vec<Tested>, Error> {
    let open = Arc::new(Mutex::new(longest_first(&description.files)));
    let rules: Arc<[String]> = description.rules.clone().into();
    let mut runners = JoinSet::new();
    for _ in 0..at_once.max(1) {
        let runner = FileRunner {
            worker: Worker::start(toolbox)?,
            server: server.clone(),
            rules: rules.clone(),
            open: open.clone(),
        };
        runners.spawn(runner.run());
    }
    let mut tested = Vec::new();
    while let Some(runner) = runners.join_next().await {
        tested.extend(runner.map_err(|error| Error::io("run the suite")(error.into()))??);
    }
    tested.sort_by_key(|(place, _)| *place);
    Ok(tested.into_iter().flat_map(|(_, tests)| tests).collect())
}

/// The longest files first, so that the last ones are short. Each with its place in the suite.
fn longest_first(files: &[File]) -> VecDeque<(usize, File)> {
    let mut files: Vec<(usize, File)> = files.iter().cloned().enumerate().collect();
    files.sort_by_key(|(_, file)| std::cmp::Reverse(file.tests.len()));
    files.into()
}

/// One worker that runs file after file.
struct FileRunner {
    worker: Worker,
    server: Server,
    rules: Arc<[String]>,
    open: Arc<Mutex<VecDeque<(usize, File)>>>,
}

impl FileRunner {
    async fn run(mut self) -> Result<Vec<(usize, Vec<Tested>)>, Error> {
        let mut done = Vec::new();
        while let Some((place, file)) = self.next() {
            done.push((place, self.test(&file).await?));
        }
        Ok(done)
    }

    fn next(&self) -> Option<(usize, File)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn test(&mut self, file: &File) -> Result<Vec<Tested>, Error> {
        let mut server = self.server.start(&file.fixture, &self.rules).await?;
        let tested = self.worker.run(&file.name, server.port).await;
        // A server that has exited is the cause of the failure, whatever the worker reports.
        server.check()?;
        tested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_come_first_and_keep_their_places() {
        let file = |name: &str, tests: usize| File {
            name: name.to_owned(),
            fixture: "APIFixture".to_owned(),
            tests: vec![String::new(); tests],
        };
        let order = longest_first(&[file("short", 1), file("long", 9), file("middle", 5)]);
        let reported: Vec<_> = order.iter().map(|(place, file)| (*place, file.name.as_str())).collect();
        assert_eq!(reported, [(1, "long"), (2, "middle"), (0, "short")]);
    }
}
