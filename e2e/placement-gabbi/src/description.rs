//! The content of the suite, as its own files describe it.

use std::collections::BTreeMap;
use std::process::Stdio;

use berth_control_plane::FromRefused as _;
use serde::Deserialize;

use crate::{Error, Toolbox};

/// The suite.
#[derive(Debug, Clone, Deserialize)]
pub struct Description {
    pub files: Vec<File>,
    /// The names of all policy rules of Placement.
    pub rules: Vec<String>,
}

/// One file: its tests run in order against one server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct File {
    pub name: String,
    /// The fixture before its first test, such as `APIFixture`.
    pub fixture: String,
    /// The names of its tests, in order, each once.
    pub tests: Vec<String>,
}

impl Description {
    pub async fn read(toolbox: &Toolbox) -> Result<Self, Error> {
        let mut command = toolbox.command("worker.py");
        command.arg("describe").stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().await.map_err(Error::io("run the worker"))?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    pub fn tests(&self) -> usize {
        self.files.iter().map(|file| file.tests.len()).sum()
    }

    /// Keeps only the files of these names; all when there is none.
    pub fn only(mut self, names: &[String]) -> Result<Self, Error> {
        let known: BTreeMap<&str, &File> = self.files.iter().map(|file| (file.name.as_str(), file)).collect();
        if let Some(name) = names.iter().find(|name| !known.contains_key(name.as_str())) {
            return Err(Error::NoSuchFile { name: name.clone(), files: self.files.len() });
        }
        if !names.is_empty() {
            self.files.retain(|file| names.contains(&file.name));
        }
        Ok(self)
    }
}
