//! Runs programs and keeps what they print.

use std::process::{Command, Output, Stdio};

use crate::Error;

/// Runs a program to its end, however it ends.
pub fn output(command: &mut Command) -> Result<Output, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).output().map_err(|source| Error::Start { program, source })
}

/// What a program has printed that must succeed.
pub fn text(command: &mut Command) -> Result<String, Error> {
    let ended = output(command)?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let printed = [ended.stdout, ended.stderr].concat();
    let output = String::from_utf8_lossy(&printed).trim().to_owned();
    Err(Error::Failed { command: line(command), output })
}

/// The program and its arguments, without the environment.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
