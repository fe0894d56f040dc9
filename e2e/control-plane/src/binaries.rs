//! Locates kube-apiserver, etcd and kubectl: in `KUBEBUILDER_ASSETS`, on the `PATH`, or in the cache, in this order.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::environment::is_program;
use crate::release::{Release, is_at_least};
use crate::{Environment, Error, FromRefused as _, builder, progress};

pub(crate) const PROGRAMS: [&str; 3] = ["kube-apiserver", "etcd", "kubectl"];

/// The paths of the three programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub kube_apiserver: PathBuf,
    pub etcd: PathBuf,
    pub kubectl: PathBuf,
}

impl Binaries {
    /// Finds the programs; `None` when they have yet to be built.
    pub async fn find(environment: &Environment) -> Result<Option<Self>, Error> {
        if let Some(folder) = &environment.kubebuilder_assets {
            return Self::in_assets(folder).await.map(Some);
        }
        if let Some(binaries) = Self::on_path(environment).await? {
            return Ok(Some(binaries));
        }
        Ok(Self::in_folder(&environment.cache_folder(&Release::pinned())?))
    }

    /// Finds the programs, or builds them into the cache, which takes some minutes once.
    pub async fn obtain(environment: &Environment) -> Result<Self, Error> {
        if let Some(binaries) = Self::find(environment).await? {
            return Ok(binaries);
        }
        builder::build(environment, &Release::pinned()).await
    }

    /// The directories of the programs, each once.
    pub fn folders(&self) -> Vec<&Path> {
        let programs = [&self.kube_apiserver, &self.etcd, &self.kubectl];
        let mut folders: Vec<&Path> = programs.into_iter().filter_map(|program| program.parent()).collect();
        folders.dedup();
        folders
    }

    /// The three programs in one directory, when all are there.
    pub(crate) fn in_folder(folder: &Path) -> Option<Self> {
        Self::from(|name| Some(folder.join(name)).filter(|program| is_program(program)))
    }

    fn from(find: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let [kube_apiserver, etcd, kubectl] = PROGRAMS.map(find);
        Some(Self { kube_apiserver: kube_apiserver?, etcd: etcd?, kubectl: kubectl? })
    }

    /// The user has chosen these: anything wrong with them is an error.
    async fn in_assets(folder: &Path) -> Result<Self, Error> {
        let Some(binaries) = Self::in_folder(folder) else {
            let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| !is_program(&folder.join(name))).collect();
            return Err(Error::AssetsIncomplete { folder: folder.to_owned(), missing: missing.join(", ") });
        };
        let needed = Release::pinned().kubernetes;
        let found = version(&binaries.kube_apiserver).await?;
        if !is_at_least(&found, &needed) {
            return Err(Error::ReleaseTooOld { program: binaries.kube_apiserver, found, needed });
        }
        Ok(binaries)
    }

    /// The user has not chosen these: programs of another version are skipped.
    async fn on_path(environment: &Environment) -> Result<Option<Self>, Error> {
        let Some(binaries) = Self::from(|name| environment.program(name)) else { return Ok(None) };
        let needed = Release::pinned().kubernetes;
        let found = version(&binaries.kube_apiserver).await?;
        if is_at_least(&found, &needed) {
            return Ok(Some(binaries));
        }
        let program = binaries.kube_apiserver.display();
        progress::tell(&format!("{program} on the PATH is {found}, older than {needed}, and is not used"));
        Ok(None)
    }
}

/// The version of a kube-apiserver, such as `Kubernetes v1.36.3`.
async fn version(kube_apiserver: &Path) -> Result<String, Error> {
    let mut command = Command::new(kube_apiserver);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(Error::path("run", kube_apiserver))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
