//! Writing to standard output.

use std::io::{self, Write};

use serde::Serialize;

use crate::{args::Output, error::Error};

/// A reader that has seen enough, such as `head`, is no failure.
pub(super) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Error::File { path: "standard output".into(), source }),
    }
}

/// Prints an answer in the wanted form.
pub(super) fn show<T: Serialize>(form: Output, answer: &T, text: impl FnOnce(&T) -> String) -> Result<(), Error> {
    match form {
        Output::Text => print(&text(answer)),
        Output::Json => print(&json(answer)?),
    }
}

/// An answer for programs.
pub(super) fn json<T: Serialize>(answer: &T) -> Result<String, Error> {
    let failed = |error: serde_json::Error| Error::File { path: "standard output".into(), source: error.into() };
    Ok(serde_json::to_string_pretty(answer).map_err(failed)? + "\n")
}
