//! Builds helm, kubeconform, helm-docs and crdify from their published Go modules, once for all checkouts of a user. The folder in the
//! cache is named after what `go/go.mod` requires.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Error, program};

const GO_MOD: &str = include_str!("../go/go.mod");
const GO_SUM: &str = include_str!("../go/go.sum");
/// The programs, each with the module that it comes from.
const PROGRAMS: [(&str, &str); 4] = [
    ("helm", "helm.sh/helm/v3"),
    ("kubeconform", "github.com/yannh/kubeconform"),
    ("helm-docs", "github.com/norwoodj/helm-docs"),
    ("crdify", "sigs.k8s.io/crdify"),
];

/// The folder of the programs.
#[derive(Debug, Clone)]
pub struct Tools(PathBuf);

impl Tools {
    /// Finds the programs in the cache, or builds them.
    pub fn obtain() -> Result<Self, Error> {
        let folder = cache()?.join(folder_name(GO_MOD));
        let tools = Self(folder);
        if !tools.is_complete() {
            build(&tools)?;
        }
        Ok(tools)
    }

    /// One of the programs, without configuration of the user.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.0.join(name));
        for folder in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(folder, self.0.join("helm-home"));
        }
        command.env_remove("HELM_NAMESPACE").env("KUBECONFIG", "/dev/null");
        command
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    fn is_complete(&self) -> bool {
        PROGRAMS.iter().all(|(name, _)| self.0.join(name).is_file())
    }
}

fn cache() -> Result<PathBuf, Error> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    let folder = set("XDG_CACHE_HOME").or_else(home).ok_or(Error::NoCache)?.join("berth/helm");
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    Ok(folder)
}

/// For example `helm-v3.22.0-kubeconform-v0.8.0-helm-docs-v1.14.2-crdify-v0.5.0`.
fn folder_name(go_mod: &str) -> String {
    PROGRAMS.map(|(name, module)| format!("{name}-{}", version(go_mod, module))).join("-")
}

/// The version of a module that is required.
fn version<'m>(go_mod: &'m str, module: &str) -> &'m str {
    let mut lines = go_mod.lines().map(str::split_whitespace);
    let found = lines.find_map(|mut words| (words.next() == Some(module)).then(|| words.next().unwrap_or_default()));
    found.unwrap_or_default()
}

/// Without them helm takes every cluster that it does not ask for Kubernetes 1.20. The client `v0.37.0` is that of 1.37.
fn linker_flags(go_mod: &str) -> String {
    let minor = version(go_mod, "k8s.io/client-go").split('.').nth(1).unwrap_or_default();
    let helm = "helm.sh/helm/v3";
    format!(
        "-s -w -X {helm}/internal/version.version={} -X {helm}/pkg/chartutil.k8sVersionMajor=1 \
         -X {helm}/pkg/chartutil.k8sVersionMinor={minor} -X {helm}/pkg/lint/rules.k8sVersionMajor=1 \
         -X {helm}/pkg/lint/rules.k8sVersionMinor={minor}",
        version(go_mod, helm),
    )
}

/// Works beside the destination, so that what is there is complete. Processes that need the programs at the same time build once.
fn build(tools: &Tools) -> Result<(), Error> {
    let parent = cache()?;
    let lock = parent.join("lock");
    let file = File::create(&lock).map_err(Error::file("create", &lock))?;
    file.lock().map_err(Error::file("lock", &lock))?;
    if tools.is_complete() {
        return Ok(());
    }
    let started_at = Instant::now();
    eprintln!("building helm, kubeconform, helm-docs and crdify, once; about three minutes on 2 cores");
    let workshop =
        tempfile::Builder::new().prefix(".build-").tempdir_in(&parent).map_err(Error::file("write", &parent))?;
    install(workshop.path())?;
    let built = workshop.path().join("bin");
    if tools.folder().exists() {
        fs::remove_dir_all(tools.folder()).map_err(Error::file("remove", tools.folder()))?;
    }
    fs::rename(&built, tools.folder()).map_err(Error::file("move", &built))?;
    eprintln!("they are in {} after {} s", tools.folder().display(), started_at.elapsed().as_secs());
    Ok(())
}

fn install(workshop: &Path) -> Result<(), Error> {
    for (name, content) in [("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
        let file = workshop.join(name);
        fs::write(&file, content).map_err(Error::file("write", &file))?;
    }
    let mut go = Command::new("go");
    go.args(["install", "-mod=readonly", "-trimpath", "-ldflags", &linker_flags(GO_MOD), "tool"]).current_dir(workshop);
    // Independent of a surrounding workspace and of another target platform.
    go.env("GOWORK", "off").env("CGO_ENABLED", "0").env_remove("GOOS").env_remove("GOARCH");
    program::text(go.env("GOBIN", workshop.join("bin"))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_named_after_the_versions() {
        let name = folder_name(GO_MOD);
        assert!(
            name.starts_with("helm-v3.") && name.contains("-kubeconform-v0.") && name.contains("-helm-docs-v1."),
            "{name}"
        );
    }

    #[test]
    fn helm_knows_its_version_and_that_of_kubernetes() {
        let flags = linker_flags("helm.sh/helm/v3 v3.22.0\nk8s.io/client-go v0.37.0 // indirect\n");
        assert!(
            flags.contains("version.version=v3.22.0 ") && flags.contains("chartutil.k8sVersionMinor=37 "),
            "{flags}"
        );
    }
}
