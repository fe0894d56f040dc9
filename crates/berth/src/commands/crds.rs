//! `berth crds`: prints the custom resource definitions or writes them into a directory.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use berth_crds::generate::File;

use crate::{args::CrdsArguments, error::Error};

pub(super) fn run(arguments: &CrdsArguments) -> Result<(), Error> {
    let files = berth_crds::generate::files().map_err(|error| Error::Crds { reason: error.to_string() })?;
    match &arguments.directory {
        Some(directory) => write(directory, &files),
        None => print(&files),
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

/// A reader that has seen enough, such as `head`, is no failure.
fn print(files: &[File]) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    for file in files {
        match write!(out, "---\n{}", file.text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|source| Error::File { path: "standard output".into(), source })?,
        }
    }
    Ok(())
}
