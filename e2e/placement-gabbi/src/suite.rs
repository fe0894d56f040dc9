//! Runs the files of the suite, each against a server of its own, some at the same time. It decides who runs which file;
//! what a result means is left to the report.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use berth_control_plane::FromRefused as _;
use tokio::task::JoinSet;

use crate::description::{Description, File};
use crate::server::Server;
use crate::worker::{Tested, Worker};
use crate::{Error, Toolbox};

/// Runs all files of the description, `at_once` at the same time; gives the tests in the order of the description.
pub async fn run(
    toolbox: &Toolbox,
    description: &Description,
    server: &Server,
    at_once: usize,
) -> Result<Vec<Tested>, Error> {
    let open = Arc::new(Mutex::new(longest_first(&description.files)));
    let rules: Arc<[String]> = description.rules.clone().into();
    let mut lanes = JoinSet::new();
    for _ in 0..at_once.max(1) {
        let lane =
            Lane { worker: Worker::start(toolbox)?, server: server.clone(), rules: rules.clone(), open: open.clone() };
        lanes.spawn(lane.run());
    }
    let mut tested = Vec::new();
    while let Some(lane) = lanes.join_next().await {
        tested.extend(lane.map_err(|error| Error::io("run the suite")(error.into()))??);
    }
    tested.sort_by_key(|(place, _)| *place);
    Ok(tested.into_iter().flat_map(|(_, tests)| tests).collect())
}

/// So that the last ones to be run are short. Each with its place in the suite.
fn longest_first(files: &[File]) -> VecDeque<(usize, File)> {
    let mut files: Vec<(usize, File)> = files.iter().cloned().enumerate().collect();
    files.sort_by_key(|(_, file)| std::cmp::Reverse(file.tests.len()));
    files.into()
}

/// One worker that takes file after file.
struct Lane {
    worker: Worker,
    server: Server,
    rules: Arc<[String]>,
    open: Arc<Mutex<VecDeque<(usize, File)>>>,
}

impl Lane {
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
        // A server that has ended is what there is to know, whatever the worker made of it.
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
        let told: Vec<_> = order.iter().map(|(place, file)| (*place, file.name.as_str())).collect();
        assert_eq!(told, [(1, "long"), (2, "middle"), (0, "short")]);
    }
}
