//! Builds kube-apiserver, etcd and kubectl from their published Go modules, once for all processes of a user.
//!
//! No Go code of ours is needed: a `go.mod` names the three as tools. The work is done in a directory next to its
//! destination and moved there in one step, so the destination is always complete.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::progress::{Progress, tell};
use crate::release::{GO_MOD, GO_SUM, Release, is_at_least};
use crate::{Binaries, Environment, Error, FromRefused as _, log_file};

const WORKSHOP_PREFIX: &str = ".build-";
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Builds a release into the cache, unless another process has done so in the meantime.
pub(crate) async fn build(environment: &Environment, release: &Release) -> Result<Binaries, Error> {
    let folder = environment.cache_folder(release)?;
    let go = environment.program("go").ok_or_else(|| Error::GoMissing { needed: release.go.clone() })?;
    let cache = folder.parent().unwrap_or(&folder);
    fs::create_dir_all(cache).map_err(Error::path("create the folder", cache))?;
    let _lock = lock(&cache.join("lock")).await?;
    if let Some(binaries) = Binaries::in_folder(&folder) {
        return Ok(binaries);
    }
    remove_abandoned(cache);
    let workshop = set_up_workshop(cache)?;
    check_go(&go, release, workshop.path()).await?;
    install(&go, release, workshop.path()).await?;
    move_in(&bin(workshop.path()), &folder)?;
    tell(&format!("kube-apiserver, etcd and kubectl are in {}", folder.display()));
    Binaries::in_folder(&folder).ok_or(Error::BuildIncomplete { folder })
}

/// Waits until no other process builds. The lock ends with the process that holds it, however that ends.
async fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::path("create", path))?;
    let mut waiting = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                let work = "waiting for another process that builds kube-apiserver, etcd and kubectl";
                let progress = waiting.get_or_insert_with(|| Progress::start(work, "once; this takes some minutes"));
                progress.tick(String::new);
            }
            Err(TryLockError::Error(error)) => return Err(Error::path("lock", path)(error)),
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Removes the directories of killed builders. Only the holder of the lock may do so.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORKSHOP_PREFIX) {
            // A directory that cannot be removed takes disk space, but does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn set_up_workshop(cache: &Path) -> Result<TempDir, Error> {
    let workshop = tempfile::Builder::new().prefix(WORKSHOP_PREFIX).tempdir_in(cache);
    let workshop = workshop.map_err(Error::path("create a folder in", cache))?;
    for (name, content) in [("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
        let file = workshop.path().join(name);
        fs::write(&file, content).map_err(Error::path("write", &file))?;
    }
    Ok(workshop)
}

/// Asks inside the module, because Go may choose another version of itself there.
async fn check_go(go: &Path, release: &Release, workshop: &Path) -> Result<(), Error> {
    let output = command(go, workshop).args(["env", "GOVERSION"]).output().await.map_err(Error::path("run", go))?;
    if !output.status.success() {
        let output_text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::BuildFailed { status: output.status, output: output_text });
    }
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_at_least(&found, &release.go) { Ok(()) } else { Err(Error::GoTooOld { found, needed: release.go.clone() }) }
}

async fn install(go: &Path, release: &Release, workshop: &Path) -> Result<(), Error> {
    let hint = "once; four to five minutes on 2 cores, after fetching 1.3 GB of sources";
    let progress = Progress::start("building kube-apiserver, etcd and kubectl", hint);
    let log = workshop.join("log");
    let child = start_install(go, release, workshop, &log)?;
    watch(child, progress, &log).await?;
    let built = bin(workshop);
    // etcd's main package is in a directory called `server`, and Go names programs after directories.
    fs::rename(built.join("server"), built.join("etcd")).map_err(Error::path("rename etcd in", &built))
}

fn start_install(go: &Path, release: &Release, workshop: &Path, log: &Path) -> Result<Child, Error> {
    let output = File::create(log).map_err(Error::path("create", log))?;
    let errors = output.try_clone().map_err(Error::path("open", log))?;
    let version = format!("-s -w -X k8s.io/component-base/version.gitVersion={}", release.kubernetes);
    let mut command = command(go, workshop);
    command.args(["install", "-v", "-mod=readonly", "-trimpath", "-ldflags", &version, "tool"]);
    command.env("GOBIN", bin(workshop)).stdout(output).stderr(errors);
    command.spawn().map_err(Error::path("run", go))
}

async fn watch(mut go: Child, mut progress: Progress, log: &Path) -> Result<(), Error> {
    loop {
        tokio::select! {
            status = go.wait() => {
                let status = status.map_err(Error::io("wait for go"))?;
                if !status.success() {
                    return Err(Error::BuildFailed { status, output: log_file::tail(log) });
                }
                progress.done();
                return Ok(());
            }
            () = sleep(POLL_INTERVAL) => progress.tick(|| format!(", now {}", log_file::last_line(log))),
        }
    }
}

/// Go in the directory of the module, independent of a surrounding workspace and of another target platform.
fn command(go: &Path, workshop: &Path) -> Command {
    let mut command = Command::new(go);
    command.current_dir(workshop).stdin(Stdio::null()).kill_on_drop(true);
    command.env("GOWORK", "off").env("CGO_ENABLED", "0").env_remove("GOOS").env_remove("GOARCH");
    command
}

fn move_in(built: &Path, folder: &Path) -> Result<(), Error> {
    if folder.exists() {
        // One of the programs was removed from the cache.
        fs::remove_dir_all(folder).map_err(Error::path("remove", folder))?;
    }
    fs::rename(built, folder).map_err(Error::path("create the folder", folder))
}

fn bin(workshop: &Path) -> PathBuf {
    workshop.join("bin")
}
