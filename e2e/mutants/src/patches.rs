//! The mutants: each is a patch of the sources with a plausible mistake. The shipped sources have none of them. All
//! patches are applied together, and each checks at its line whether `BERTH_MUTANT` names it, so that one build has all
//! of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use tempfile::TempDir;

use crate::Error;

/// The directory of the patches in the workspace.
pub const FOLDER: &str = "e2e/mutants/patches";

/// The prefix of the first line of each patch, followed by the name; a patch without a mutant has no such line.
const NAMED: &str = "Mutant: ";

/// A patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub name: Option<String>,
    path: PathBuf,
    /// The files that it changes, relative to the workspace.
    pub files: Vec<PathBuf>,
}

/// All patches of the workspace in `root`, in the order of their file names.
pub fn all(root: &Path) -> Result<Vec<Patch>, Error> {
    let cannot = |error| Error::Files(FOLDER.into(), error);
    let entries = fs::read_dir(root.join(FOLDER)).map_err(cannot)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>().map_err(cannot)?;
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Result<Patch, Error> {
    let text = fs::read_to_string(&path).map_err(|error| Error::Files(path.clone(), error))?;
    let name = text.lines().next().and_then(|line| line.strip_prefix(NAMED)).map(str::to_owned);
    let files = text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(PathBuf::from).collect();
    Ok(Patch { name, path, files })
}

/// The changed files with all patches applied.
pub fn apply(root: &Path, patches: &[Patch]) -> Result<BTreeMap<PathBuf, String>, Error> {
    let folder = TempDir::new().map_err(|error| Error::Files(std::env::temp_dir(), error))?;
    let files = || patches.iter().flat_map(|patch| &patch.files);
    for file in files() {
        copy(&root.join(file), &folder.path().join(file)).map_err(|error| Error::Files(file.clone(), error))?;
    }
    for patch in patches {
        apply_one(patch, folder.path())?;
    }
    let changed = |file: &PathBuf| {
        let text = fs::read_to_string(folder.path().join(file)).map_err(|error| Error::Files(file.clone(), error))?;
        Ok((file.clone(), text))
    };
    files().map(changed).collect()
}

/// A file that does not exist is created by a patch.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if from.exists() { fs::copy(from, to).map(drop) } else { Ok(()) }
}

fn apply_one(patch: &Patch, folder: &Path) -> Result<(), Error> {
    let mut git = Command::new("git");
    // In a repository git would search for the files there.
    git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder)).current_dir(folder);
    let output =
        git.arg("apply").arg(&patch.path).output().map_err(|error| Error::Run("git apply".to_owned(), error))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Patch { patch: patch.path.clone(), why })
}
