//! A Python process that runs files of the suite, one after the other, and reports the result of each test.

use std::process::Stdio;
use std::time::Duration;

use berth_control_plane::FromRefused as _;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::{Error, Toolbox};

/// A test is one request, which the client gives up after half of this.
const SILENT_AT_MOST: Duration = Duration::from_secs(60);

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Passed,
    Failed,
    /// The test skipped itself.
    Skipped,
}

/// A test that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    pub file: String,
    pub test: String,
    pub outcome: Outcome,
    /// For a failed test: what is wrong, the request, the response, and the expected one.
    pub detail: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WorkerMessage {
    Test { test: String, outcome: Outcome, detail: String },
    End { end: Option<String> },
}

pub(crate) struct Worker {
    _process: Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    pub(crate) fn start(toolbox: &Toolbox) -> Result<Self, Error> {
        let mut command = toolbox.command("worker.py");
        command.arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().map_err(Error::io("run the worker"))?;
        match (process.stdin.take(), process.stdout.take()) {
            (Some(orders), Some(output)) => {
                Ok(Self { _process: process, orders, answers: BufReader::new(output).lines() })
            }
            _ => Err(Error::io("talk to the worker")(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Runs one file against the server at this port.
    pub(crate) async fn run(&mut self, file: &str, port: u16) -> Result<Vec<Tested>, Error> {
        let order = serde_json::json!({ "file": file, "port": port });
        self.orders.write_all(format!("{order}\n").as_bytes()).await.map_err(Error::io("order the worker"))?;
        let mut tested = Vec::new();
        loop {
            match serde_json::from_str(&self.line(file).await?)? {
                WorkerMessage::Test { test, outcome, detail } => {
                    tested.push(Tested { file: file.to_owned(), test, outcome, detail });
                }
                WorkerMessage::End { end: None } => return Ok(tested),
                WorkerMessage::End { end: Some(text) } => return Err(Error::Fixture { file: file.to_owned(), text }),
            }
        }
    }

    async fn line(&mut self, file: &str) -> Result<String, Error> {
        let failed = |problem| Error::Worker { file: file.to_owned(), problem };
        let line = timeout(SILENT_AT_MOST, self.answers.next_line()).await;
        let line = line.map_err(|_| failed("said nothing for a minute"))?;
        line.map_err(Error::io("read what the worker says"))?.ok_or_else(|| failed("ended"))
    }
}
