//! `berth crds`: prints the custom resource definitions or writes them into a directory.

use super::output::{self, File};
use crate::args::CrdsArguments;
use crate::error::Error;

pub(super) fn run(arguments: &CrdsArguments) -> Result<(), Error> {
    let files = berth_crds::generate::files().map_err(|error| Error::Crds { reason: error.to_string() })?;
    let files: Vec<_> = files.into_iter().map(|file| File { name: file.name, text: file.text }).collect();
    output::files(arguments.directory.as_deref(), &files)
}
