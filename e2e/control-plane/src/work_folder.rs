//! The temporary directory of one control plane, and the removal of those that killed processes have left.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::{Error, FromRefused as _};

const PREFIX: &str = "berth-control-plane-";
const LOCK: &str = "in-use";

/// A directory that only this user can read. It is removed when this value is dropped; a killed process leaves it, and
/// the next one that creates such a directory removes it.
#[derive(Debug)]
pub(crate) struct WorkFolder {
    folder: TempDir,
    _lock: File,
}

impl WorkFolder {
    /// Creates a directory in the place of temporary files (`TMPDIR`, or `/tmp`).
    pub(crate) fn new() -> Result<Self, Error> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(parent: &Path) -> Result<Self, Error> {
        remove_abandoned(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let folder = folder.map_err(Error::path("create a folder in", parent))?;
        let lock = lock(folder.path())?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the directory, and reports an error.
    pub(crate) fn remove(self) -> Result<(), Error> {
        let path = self.folder.path().to_owned();
        self.folder.close().map_err(Error::path("remove", &path))
    }
}

/// Writes a file that only this user can read.
pub(crate) fn write_private(path: &Path, content: &str) -> Result<(), Error> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content.as_bytes())).map_err(Error::path("write", path))
}

/// Copies a directory with everything below it; what was at the destination is removed first.
pub fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(Error::path("remove", to))?;
    }
    fs::create_dir_all(to).map_err(Error::path("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::path("read", from))? {
        let path = entry.map_err(Error::path("read", from))?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &copy)?;
        } else {
            fs::copy(&path, &copy).map_err(Error::path("copy", &path))?;
        }
    }
    Ok(())
}

/// A random text for tokens that cannot be guessed.
pub(crate) fn random_token() -> Result<String, Error> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0_u8; 16];
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).map_err(Error::path("read", source))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// The lock gets its final name only once it is held, so a directory with a free lock is an abandoned one.
fn lock(folder: &Path) -> Result<File, Error> {
    let (making, made) = (folder.join("lock"), folder.join(LOCK));
    let lock = File::create(&making).map_err(Error::path("create", &making))?;
    lock.lock().map_err(Error::path("lock", &making))?;
    fs::rename(&making, &made).map_err(Error::path("rename", &making))?;
    Ok(lock)
}

/// A directory that cannot be read or removed belongs to another user, or takes disk space and does no harm.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

fn remove_if_abandoned(folder: &Path) -> std::io::Result<()> {
    let lock = File::open(folder.join(LOCK))?;
    if lock.try_lock().is_ok() { fs::remove_dir_all(folder) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_living_stay_and_those_of_the_dead_go() {
        let parent = tempfile::tempdir().unwrap();
        let living = WorkFolder::new_in(parent.path()).unwrap();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let strange = parent.path().join("strange");
        fs::create_dir(&strange).unwrap();
        fs::write(strange.join(LOCK), "").unwrap();

        let another = WorkFolder::new_in(parent.path()).unwrap();
        assert!(living.path().exists() && another.path().exists() && strange.exists());
        assert!(!dead.exists());

        let path = another.path().to_owned();
        another.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn tokens_differ() {
        let (one, other) = (random_token().unwrap(), random_token().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
