//! The packages of others that `berth` is built from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::MetadataCommand;

use crate::{Error, checkout};

/// What releases are built for.
pub const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// A package of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What `berth` is made of: what it contains, or with what builds it as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What is linked into it.
    Linked,
    /// Also build scripts, macros, and what these are made of.
    Built,
}

/// The packages for a target, with the features that `-p berth` has.
pub fn of_target(target: &str, extent: Extent) -> Result<BTreeSet<Package>, Error> {
    let edges = match extent {
        Extent::Linked => "normal,no-proc-macro",
        Extent::Built => "normal,build",
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(&cargo);
    tree.args(["tree", "--locked", "-p", "berth", "--edges", edges, "--target", target, "--prefix", "none"]);
    let listed = tree.args(["--format", "{p}"]).current_dir(checkout()).output();
    let listed = listed.map_err(Error::file("run", Path::new(&cargo)))?;
    if !listed.status.success() {
        return Err(Error::NoTree(String::from_utf8_lossy(&listed.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&listed.stdout).lines().filter_map(package).collect())
}

/// A line such as `serde v1.0.229 (*)`; our own packages have a path instead.
fn package(line: &str) -> Option<Package> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let is_ours = words.any(|word| word.starts_with("(/"));
    (!is_ours).then(|| Package { name: name.to_owned(), version: version.to_owned() })
}

/// The packages that any of the targets contains.
pub fn of_all_targets() -> Result<BTreeSet<Package>, Error> {
    TARGETS.into_iter().try_fold(BTreeSet::new(), |mut all, target| {
        all.extend(of_target(target, Extent::Linked)?);
        Ok(all)
    })
}

/// What a package says about itself, and where its source is.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its licence as an SPDX expression; older packages separate alternatives with `/`.
    pub licence: String,
    /// The folder of its source.
    pub folder: PathBuf,
}

/// The sources of all packages in `Cargo.lock`.
pub fn sources() -> Result<BTreeMap<Package, Source>, Error> {
    let manifest = checkout().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).other_options(["--locked".to_owned()]).exec()?;
    let entry = |package: cargo_metadata::Package| {
        let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned());
        let source = Source { licence: package.license.unwrap_or_default(), folder: folder.unwrap_or_default() };
        (Package { name: package.name.to_string(), version: package.version.to_string() }, source)
    };
    Ok(metadata.packages.into_iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_others_count() {
        let found = package("ring v0.17.14 (*)").unwrap();
        assert_eq!((found.name.as_str(), found.version.as_str()), ("ring", "0.17.14"));
        assert_eq!(package("berth-core v0.1.0 (/somewhere/crates/core) (*)"), None);
        assert_eq!(package("[build-dependencies]"), None);
    }
}
