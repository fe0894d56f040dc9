//! Helpers of the codebase tests: the workspace, as cargo describes it, and its files.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests; each uses a part of it")]

pub mod imports;
pub mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of a file of the workspace; a missing file fails the test with its name.
pub fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All packages with their dependencies. Cargo also describes those of other platforms, and downloads the ones that no
/// build has used.
pub fn metadata() -> Metadata {
    let options = ["--locked".to_owned()];
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).other_options(options).exec().unwrap()
}

/// All files below a directory of the workspace, relative to it, without build output and files of git.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    let root = root();
    found.iter().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
}

/// The Rust sources below a directory of the workspace.
pub fn rust_sources(folder: &str) -> Vec<String> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    files(folder).into_iter().filter(is_rust).map(|path| path.to_str().unwrap().to_owned()).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name != "target" && name != ".git" => collect(&path, found),
            true => {}
            false => found.push(path),
        }
    }
}
