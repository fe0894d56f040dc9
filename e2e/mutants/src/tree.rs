//! A copy of the workspace with all mutants, so that the sources stay as they are. Unchanged files are not written
//! again, so a second campaign compiles only what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::{Error, patches};

/// Writes the copy of the workspace `root` to this directory.
pub fn write(root: &Path, folder: &Path) -> Result<(), Error> {
    let patched = patches::apply(root, &patches::all(root)?)?;
    let sources = sources(root)?;
    for file in &sources {
        let content = fs::read(root.join(file)).map_err(|error| Error::Files(file.clone(), error))?;
        put(folder, file, patched.get(file).map_or(&content, |text| text.as_bytes()))?;
    }
    for (file, text) in patched.iter().filter(|(file, _)| !sources.contains(*file)) {
        put(folder, file, text.as_bytes())?;
    }
    remove_others(folder, &sources, &patched)
}

/// The files of the workspace: those that git tracks, and new ones that it does not ignore.
fn sources(root: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = git.output().map_err(|error| Error::Run("git ls-files".to_owned(), error))?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(files.filter(|file| root.join(file).is_file()).collect())
}

fn put(folder: &Path, file: &Path, content: &[u8]) -> Result<(), Error> {
    let path = folder.join(file);
    let written = || -> io::Result<()> {
        if fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, content)
    };
    written().map_err(|error| Error::Files(path.clone(), error))
}

/// A removed test file must not be built from the copy.
fn remove_others(folder: &Path, sources: &BTreeSet<PathBuf>, patched: &BTreeMap<PathBuf, String>) -> Result<(), Error> {
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        let cannot = |error| Error::Files(inside.clone(), error);
        for entry in fs::read_dir(&inside).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let file = path.strip_prefix(folder).unwrap_or(&path);
            if path.is_dir() {
                folders.push(path);
            } else if !sources.contains(file) && !patched.contains_key(file) {
                fs::remove_file(&path).map_err(cannot)?;
            }
        }
    }
    Ok(())
}
