//! Builds the test binaries, all in one run, from the copy of the sources with the mutants. Packages of others are
//! shared with every other build; ours are kept apart, as cargo identifies them by the path of their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Artifact, Message, TargetKind};

use crate::Error;
use crate::table::Binary;

/// The path of each binary.
pub type Built = BTreeMap<Binary, PathBuf>;

/// Builds these binaries of the workspace in `tree`, into the directory `target`.
pub fn build(tree: &Path, target: &Path, wanted: &BTreeSet<&Binary>) -> Result<Built, Error> {
    let cannot = |error| Error::Run("cargo".to_owned(), error);
    let mut cargo = command(tree, target, wanted).spawn().map_err(cannot)?;
    let messages = cargo.stdout.take().into_iter().flat_map(|out| Message::parse_stream(BufReader::new(out)));
    let mut built = Built::new();
    for message in messages {
        if let Message::CompilerArtifact(artifact) = message.map_err(cannot)? {
            built.extend(tests(artifact));
        }
    }
    let status = cargo.wait().map_err(cannot)?;
    if !status.success() {
        return Err(Error::Build(status));
    }
    match wanted.iter().find(|binary| !built.contains_key(**binary)) {
        Some(missing) => Err(Error::NoBinary(missing.to_string())),
        None => Ok(built),
    }
}

fn command(tree: &Path, target: &Path, wanted: &BTreeSet<&Binary>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    for package in wanted.iter().map(|binary| &binary.package).collect::<BTreeSet<_>>() {
        command.args(["--package", &format!("berth-{package}")]);
    }
    for target in wanted.iter().map(|binary| &binary.target).collect::<BTreeSet<_>>() {
        if target == "lib" {
            command.arg("--lib")
        } else {
            command.args(["--test", target])
        };
    }
    command.env("CARGO_TARGET_DIR", target);
    command.current_dir(tree).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The test binary that cargo has built, if it is one.
fn tests(artifact: Artifact) -> Option<(Binary, PathBuf)> {
    let folder = artifact.manifest_path.parent()?.file_name()?.to_owned();
    let beside_the_code = artifact.target.is_kind(TargetKind::Lib);
    let target = if beside_the_code { "lib".to_owned() } else { artifact.target.name };
    let executable = artifact.executable.filter(|_| artifact.profile.test)?;
    Some((Binary { package: folder, target }, executable.into()))
}
