//! `berth crds`: prints the custom resource definitions or writes them into a directory.

use std::{fs, path::Path};

use berth_crds::generate::File;

use super::output;
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

fn print(files: &[File]) -> Result<(), Error> {
    let texts = files.iter().flat_map(|file| ["---\n", &file.text]);
    output::print(&texts.collect::<String>())
}
