//! The Python environment of the suite: created once for all checkouts of a user, in the cache, from `requirements.txt`
//! alone. It is created in a directory next to its destination and moved there in one step, so it is always complete.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File, TryLockError};
use std::hash::{Hash as _, Hasher as _};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use berth_control_plane::{Environment, FromRefused as _};
use tokio::process::Command;
use tokio::time::sleep;

use crate::Error;

const REQUIREMENTS: &str = include_str!("../requirements.txt");
const WORKSHOP_PREFIX: &str = ".build-";
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const LINES: usize = 20;

/// The paths of Python and our programs.
#[derive(Debug, Clone)]
pub struct Toolbox {
    python: PathBuf,
}

impl Toolbox {
    /// Finds the environment in the cache, or creates it, which takes a minute once.
    pub async fn obtain() -> Result<Self, Error> {
        Self::obtain_with("").await
    }

    /// Like `obtain`, with more packages, one a line with its version, in a separate environment.
    pub async fn obtain_with(more: &str) -> Result<Self, Error> {
        let requirements = format!("{REQUIREMENTS}{more}");
        let home = Environment::of_process().cache_home.ok_or(Error::NoCacheFolder)?;
        let cache = home.join("berth").join("placement-gabbi");
        let folder = cache.join(name_of(&requirements));
        if !works(&folder).await {
            make(&cache, &folder, &requirements).await?;
        }
        Ok(Self { python: python(&folder) })
    }

    pub fn python(&self) -> &Path {
        &self.python
    }

    pub(crate) fn script(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(name)
    }

    /// A command that runs one of our programs; it leaves no compiled files in the checkout.
    pub(crate) fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg("-B").arg(Self::script(script)).kill_on_drop(true);
        command
    }
}

/// The version of Placement, for readability, and a digest of everything else.
fn name_of(requirements: &str) -> String {
    let version = requirements.lines().find_map(|line| line.strip_prefix("openstack-placement=="));
    let mut hasher = DefaultHasher::new();
    requirements.hash(&mut hasher);
    format!("{}-{:016x}", version.unwrap_or_default(), hasher.finish())
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

/// Whether it exists, and the system's Python that it was created with still does.
async fn works(folder: &Path) -> bool {
    let mut command = Command::new(python(folder));
    command.args(["-c", "import gabbi, placement"]).stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.is_ok_and(|output| output.status.success())
}

async fn make(cache: &Path, folder: &Path, requirements: &str) -> Result<(), Error> {
    fs::create_dir_all(cache).map_err(Error::path("create the folder", cache))?;
    let _lock = lock(&cache.join("lock")).await?;
    if works(folder).await {
        return Ok(());
    }
    eprintln!("placement-gabbi: making the Python environment of the suite, once; this takes about a minute");
    remove_abandoned(cache);
    let workshop = tempfile::Builder::new().prefix(WORKSHOP_PREFIX).tempdir_in(cache);
    let workshop = workshop.map_err(Error::path("create a folder in", cache))?;
    install(workshop.path(), requirements).await?;
    if folder.exists() {
        // The Python that it was created with is gone.
        fs::remove_dir_all(folder).map_err(Error::path("remove", folder))?;
    }
    fs::rename(workshop.path(), folder).map_err(Error::path("create the folder", folder))
}

/// Waits until no other process creates one. The lock ends with the process that holds it, however that ends.
async fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::path("create", path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(POLL_INTERVAL).await,
            Err(TryLockError::Error(error)) => return Err(Error::path("lock", path)(error)),
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

async fn install(folder: &Path, packages: &str) -> Result<(), Error> {
    let mut venv = Command::new("python3");
    run(venv.args(["-m", "venv"]).arg(folder)).await?;
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, packages).map_err(Error::path("write", &requirements))?;
    let mut pip = Command::new(python(folder));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]);
    run(pip.arg(&requirements)).await
}

async fn run(command: &mut Command) -> Result<(), Error> {
    let text = format!("{:?}", command.as_std());
    let output =
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::PythonMissing,
            _ => Error::io(format!("run {text}"))(error),
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::EnvironmentFailed { command: text, status: output.status, output: last_lines(&output) })
}

fn last_lines(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_named_after_the_version_and_everything_else() {
        let name = name_of(REQUIREMENTS);
        assert!(name.starts_with("16.0.0-"), "{name}");
        assert_ne!(name, name_of(&format!("{REQUIREMENTS}another==1.0\n")));
    }

    #[test]
    fn everything_has_one_version() {
        let packages = REQUIREMENTS.lines().filter(|line| !line.starts_with('#'));
        for package in packages {
            let parts: Vec<&str> = package.split("==").collect();
            assert!(matches!(parts[..], [name, version] if !name.is_empty() && !version.is_empty()), "{package}");
        }
    }
}
