//! The Python environment and the first database, which are created once for all checkouts of a user, in the cache.

use std::fs;
use std::path::{Path, PathBuf};

use berth_control_plane::{FromRefused as _, ReservedPort};
use berth_python::{Cache, Packages, Python, digest, prepare};

use crate::Error;
use crate::api::Api;
use crate::seed::{self, Seeded};
use crate::server::{self, Settings};

const REQUIREMENTS: &str = include_str!("../requirements.txt");
/// Everything that the database depends on.
const SOURCES: [&str; 3] = [include_str!("seed.rs"), include_str!("server.rs"), include_str!("../python/bootstrap.py")];
const PART: &str = "keystone";
const SEEDED: &str = "seeded.json";
const LOG: &str = "keystone.log";

/// What every start is made of.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) python: Python,
    /// The directory with the database and the keys.
    pub(crate) folder: PathBuf,
    pub(crate) seeded: Seeded,
}

impl Base {
    /// Finds both in the cache, or creates them.
    pub(crate) async fn obtain() -> Result<Self, Error> {
        let packages =
            Packages { part: PART, main: "keystone", requirements: REQUIREMENTS, modules: "keystone, werkzeug" };
        let python = packages.obtain().await?;
        let name = format!("database-{}", digest(&(REQUIREMENTS.to_owned() + &SOURCES.concat())));
        let make = async |folder: &Path| make(&python, folder).await;
        let works = async |folder: &Path| read(folder).is_ok();
        let folder = prepare(&Cache::of_user(PART)?, &name, works, make).await?;
        let seeded = read(&folder)?;
        Ok(Self { python, folder, seeded })
    }
}

fn read(folder: &Path) -> Result<Seeded, Error> {
    let file = folder.join(SEEDED);
    let text = fs::read_to_string(&file).map_err(Error::path("read", &file))?;
    Ok(serde_json::from_str(&text)?)
}

async fn make(python: &Python, folder: &Path) -> Result<(), Error> {
    let port = ReservedPort::new()?;
    server::configure(folder, port.number(), &Settings::default())?;
    let arguments = [folder.display().to_string(), seed::PASSWORD.to_owned()];
    python.run(&server::script("bootstrap.py"), &arguments).await?;
    let api = Api::new(&format!("http://127.0.0.1:{}/v3", port.number()))?;
    let daemon = server::start(python, folder, port.number(), &api).await?;
    let seeded = seed::seed(&api).await?;
    drop(daemon);
    let (log, file) = (folder.join(LOG), folder.join(SEEDED));
    fs::remove_file(&log).map_err(Error::path("remove", &log))?;
    fs::write(&file, serde_json::to_string(&seeded)?).map_err(Error::path("write", &file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_one_version() {
        for package in REQUIREMENTS.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<&str> = package.split("==").collect();
            assert!(matches!(parts[..], [name, version] if !name.is_empty() && !version.is_empty()), "{package}");
        }
    }
}
