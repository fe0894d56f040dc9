//! Writes to standard output, and manifests also to a directory.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use berth_core::text::escape;
use serde::Serialize;

use crate::args::Output;
use crate::error::Error;

/// The only writer to standard output. It escapes what would move the cursor or reorder a line, in JSON as well. A reader that has seen
/// enough, such as `head`, is no failure.
pub(super) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().lock().write_all(escape(text).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Error::File { path: "standard output".into(), source }),
    }
}

/// `no hosts`, `1 host`, `2 hosts`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) text: String,
}

/// Prints manifests as one stream of documents, or writes them into a directory.
pub(super) fn files(directory: Option<&Path>, files: &[File]) -> Result<(), Error> {
    match directory {
        Some(directory) => write(directory, files),
        None => print(&files.iter().flat_map(|file| ["---\n", &file.text]).collect::<String>()),
    }
}

fn write(directory: &Path, files: &[File]) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    for file in files {
        let path = directory.join(&file.name);
        fs::write(&path, &file.text).map_err(failed(&path))?;
    }
    Ok(())
}

pub(super) fn show<T: Serialize>(form: Output, answer: &T, text: impl FnOnce(&T) -> String) -> Result<(), Error> {
    match form {
        Output::Text => print(&text(answer)),
        Output::Json => print(&json(answer)?),
    }
}

pub(super) fn json<T: Serialize>(answer: &T) -> Result<String, Error> {
    let failed = |error: serde_json::Error| Error::File { path: "standard output".into(), source: error.into() };
    Ok(serde_json::to_string_pretty(answer).map_err(failed)? + "\n")
}
