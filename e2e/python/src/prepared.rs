//! Directories in the cache that are created once. Each is created next to its destination and moved there in one step, so
//! it is always complete.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_control_plane::{Environment, FromRefused as _};
use tokio::time::sleep;

use crate::Error;

const WORKSHOP_PREFIX: &str = ".build-";
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A part of the user's cache. Only one process at a time creates something in it.
#[derive(Debug, Clone)]
pub struct Cache(PathBuf);

impl Cache {
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub fn of_user(part: &str) -> Result<Self, Error> {
        let home = Environment::of_process().cache_home.ok_or(Error::NoCacheFolder)?;
        Ok(Self::new(home.join("berth").join(part)))
    }
}

/// The directory of this name, which is created unless it works already. `make` gets the directory to fill; it must work
/// under another name, too.
pub async fn prepare<E: From<Error>>(
    cache: &Cache,
    name: &str,
    works: impl AsyncFn(&Path) -> bool,
    make: impl AsyncFnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let folder = cache.0.join(name);
    if works(&folder).await {
        return Ok(folder);
    }
    let _lock = lock(&cache.0).await?;
    if works(&folder).await {
        return Ok(folder);
    }
    remove_abandoned(&cache.0);
    let workshop = tempfile::Builder::new().prefix(WORKSHOP_PREFIX).tempdir_in(&cache.0);
    let workshop = workshop.map_err(Error::path("create a folder in", &cache.0))?;
    make(workshop.path()).await?;
    replace(&folder, workshop.path())?;
    Ok(folder)
}

/// Waits until no other process creates something. The lock ends with the process that holds it, however that ends.
async fn lock(cache: &Path) -> Result<File, Error> {
    fs::create_dir_all(cache).map_err(Error::path("create the folder", cache))?;
    let path = cache.join("lock");
    let file = File::create(&path).map_err(Error::path("create", &path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(POLL_INTERVAL).await,
            Err(TryLockError::Error(error)) => return Err(Error::path("lock", &path)(error)),
        }
    }
}

/// Removes what killed processes have left. Only the holder of the lock may do so.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORKSHOP_PREFIX) {
            // A directory that cannot be removed takes disk space, but does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn replace(folder: &Path, workshop: &Path) -> Result<(), Error> {
    if folder.exists() {
        // It was complete once and does not work any more.
        fs::remove_dir_all(folder).map_err(Error::path("remove", folder))?;
    }
    fs::rename(workshop, folder).map_err(Error::path("create the folder", folder))
}
