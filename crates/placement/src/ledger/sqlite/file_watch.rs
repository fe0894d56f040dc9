//! Observes the files of a ledger that is open: whether its paths still lead to them, and whether they can grow.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::{Error, ErrorCode, ffi};

use super::file::with_suffix;
use crate::ledger::LedgerProblem;

/// With fewer bytes a disk is full: a commit may need as many.
const LEAST_FREE: u64 = 1024 * 1024;

/// What a file is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The files of one ledger.
pub(super) struct FileWatch {
    database: PathBuf,
    files: Vec<(PathBuf, FileIdentity)>,
    state: Mutex<FileState>,
}

#[derive(Debug, Default)]
struct FileState {
    /// Whether a path does not lead to its file any more; then what is written is lost at the end of the process.
    displaced: Option<LedgerProblem>,
    full: Option<FullDisk>,
}

/// A write has failed since the last one that succeeded, because a file could not grow.
#[derive(Debug, Clone, Copy)]
struct FullDisk {
    /// Whether the disk was the cause, and not a quota or a limit of file sizes.
    had_no_space: bool,
}

impl FileWatch {
    /// Remembers the files of the database at `path`, which is open. A file that cannot be identified is not observed.
    pub fn new(path: &Path) -> Self {
        let log = with_suffix(path, "-wal");
        let identified = |path: PathBuf| {
            let identity = FileIdentity::of(&fs::symlink_metadata(&path).ok()?);
            Some((path, identity))
        };
        let files = [path.to_owned(), log].into_iter().filter_map(identified).collect();
        Self { database: path.to_owned(), files, state: Mutex::default() }
    }

    /// Whether the paths lead to other files, or to none.
    pub fn displaced(&self) -> Option<LedgerProblem> {
        self.state.lock().displaced
    }

    /// Whether the database could not grow when it was last written.
    pub fn is_full(&self) -> bool {
        self.state.lock().full.is_some()
    }

    /// Compares the paths and the free space with what is known. It may block. What cannot be found out changes nothing.
    pub fn check(&self) {
        let mut found = None;
        for (path, identity) in &self.files {
            let Some(problem) = compared(fs::symlink_metadata(path), *identity) else { return };
            if let Err(problem) = problem {
                found.get_or_insert((problem, path));
            }
        }
        self.set_displaced(found);
        if self.is_full()
            && let Ok(free) = free_space(&self.database)
        {
            self.note_free_space(free);
        }
    }

    fn set_displaced(&self, found: Option<(LedgerProblem, &PathBuf)>) {
        let now = found.map(|(problem, _)| problem);
        let before = std::mem::replace(&mut self.state.lock().displaced, now);
        match found {
            Some((problem, path)) if before != now => {
                tracing::error!(file = %path.display(), reason = problem.text(), "database not in use by its path");
            }
            None if before.is_some() => tracing::info!(file = %self.database.display(), "database is back"),
            _ => {}
        }
    }

    /// A disk has space again; other causes end with the next write that succeeds.
    fn note_free_space(&self, free: u64) {
        let mut state = self.state.lock();
        if free >= LEAST_FREE && state.full.is_some_and(|full| full.had_no_space) {
            state.full = None;
        }
    }

    /// A write has failed.
    pub fn note_failure(&self, error: &Error) {
        let Some(failure) = error.sqlite_error() else { return };
        if !is_lack_of_space(*failure) {
            return;
        }
        let had_no_space = free_space(&self.database).is_ok_and(|free| free < LEAST_FREE);
        self.state.lock().full = Some(FullDisk { had_no_space });
    }

    /// A commit has written something.
    pub fn note_success(&self) {
        self.state.lock().full = None;
    }
}

/// `None`: not known. Else whether it is the file.
fn compared(found: io::Result<Metadata>, identity: FileIdentity) -> Option<Result<(), LedgerProblem>> {
    match found {
        Ok(metadata) if FileIdentity::of(&metadata) == identity => Some(Ok(())),
        Ok(_) => Some(Err(LedgerProblem::FileReplaced)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Err(LedgerProblem::FileMissing))
        }
        Err(_) => None,
    }
}

/// Quotas and limits of file sizes are errors of writing for SQLite.
fn is_lack_of_space(failure: ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull
        || matches!(failure.extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE)
}

/// Bytes that this user may still write on the disk of the file.
fn free_space(path: &Path) -> io::Result<u64> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> (tempfile::TempDir, PathBuf, FileWatch) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.db");
        fs::write(&path, "").unwrap();
        fs::write(with_suffix(&path, "-wal"), "").unwrap();
        let watch = FileWatch::new(&path);
        (folder, path, watch)
    }

    fn displaced(watch: &FileWatch) -> Option<LedgerProblem> {
        watch.check();
        watch.displaced()
    }

    #[test]
    fn a_file_is_missed_replaced_and_put_back() {
        for suffix in ["", "-wal"] {
            let (folder, path, watch) = watched();
            let (path, aside) = (with_suffix(&path, suffix), folder.path().join("aside"));
            assert_eq!(displaced(&watch), None);
            fs::rename(&path, &aside).unwrap();
            assert_eq!(displaced(&watch), Some(LedgerProblem::FileMissing));
            fs::write(&path, "other").unwrap();
            assert_eq!(displaced(&watch), Some(LedgerProblem::FileReplaced));
            fs::rename(&aside, &path).unwrap();
            assert_eq!(displaced(&watch), None);
        }
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        let metadata = fs::metadata("/").unwrap();
        let identity = FileIdentity::of(&metadata);
        for kind in [ErrorKind::PermissionDenied, ErrorKind::TimedOut, ErrorKind::Other] {
            assert_eq!(compared(Err(kind.into()), identity), None);
        }
        assert_eq!(compared(Ok(metadata), identity), Some(Ok(())));
        let missing = Some(Err(LedgerProblem::FileMissing));
        assert_eq!(compared(Err(ErrorKind::NotFound.into()), identity), missing);
    }

    fn failure(extended: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(extended), None)
    }

    #[test]
    fn a_full_disk_is_full_until_a_write_succeeds_or_there_is_space() {
        let (_folder, _, watch) = watched();
        for other in [ffi::SQLITE_BUSY, ffi::SQLITE_CORRUPT, ffi::SQLITE_IOERR_READ] {
            watch.note_failure(&failure(other));
            assert!(!watch.is_full(), "{other}");
        }
        for full in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE] {
            watch.note_failure(&failure(full));
            assert!(watch.is_full(), "{full}");
            watch.note_success();
            assert!(!watch.is_full());
        }
        for (had_no_space, free, is_full) in
            [(true, 0, true), (true, LEAST_FREE - 1, true), (true, LEAST_FREE, false), (false, u64::MAX, true)]
        {
            watch.state.lock().full = Some(FullDisk { had_no_space });
            watch.note_free_space(free);
            assert_eq!(watch.is_full(), is_full, "{had_no_space} {free}");
        }
    }
}
