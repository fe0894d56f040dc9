//! The part of the process environment that decides where programs are found, as a value, so that tests can choose it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::Error;
use crate::release::Release;

/// Where programs are searched and cached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `KUBEBUILDER_ASSETS`: a directory with kube-apiserver, etcd and kubectl that takes precedence.
    pub kubebuilder_assets: Option<PathBuf>,
    pub path: Option<OsString>,
    pub cache_home: Option<PathBuf>,
}

impl Environment {
    pub fn of_process() -> Self {
        Self {
            kubebuilder_assets: non_empty("KUBEBUILDER_ASSETS").map(PathBuf::from),
            path: non_empty("PATH"),
            cache_home: absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache"))),
        }
    }

    /// The first program of this name on the `PATH`.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = env::split_paths(self.path.as_ref()?);
        folders.map(|folder| folder.join(name)).find(|program| is_program(program))
    }

    /// The program that ties the life of a child to that of its parent.
    pub(crate) fn setpriv(&self) -> Result<PathBuf, Error> {
        self.program("setpriv").ok_or(Error::ToolMissing {
            tool: "setpriv",
            purpose: "it makes etcd and kube-apiserver end with the process that started them",
            package: "util-linux",
        })
    }

    /// The directory in which the programs of this release are cached.
    pub(crate) fn cache_folder(&self, release: &Release) -> Result<PathBuf, Error> {
        let home = self.cache_home.as_ref().ok_or(Error::NoCacheFolder)?;
        Ok(home.join("berth").join("control-plane").join(release.to_string()))
    }
}

/// Whether this is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn non_empty(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

fn absolute(variable: &str) -> Option<PathBuf> {
    non_empty(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
