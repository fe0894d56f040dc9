//! The order of the codebase: files of a readable size, documents that exist, and commands that work as they are
//! described.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::path::PathBuf;

use cargo_metadata::MetadataCommand;

const MOST_LINES: usize = 600;

fn sources() -> Vec<PathBuf> {
    let all = [codebase::files("crates"), codebase::files("e2e")].concat();
    all.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn no_source_file_is_longer_than_can_be_read_at_one_sitting() {
    let long: Vec<String> = sources()
        .iter()
        .map(|path| (path, codebase::text(path.to_str().unwrap()).lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| format!("{}: {lines} lines; split it by what it decides", path.display()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn every_source_file_begins_by_saying_what_it_is_for() {
    let is_part_of_another = |path: &PathBuf| path.file_name().is_some_and(|name| name == "tests.rs");
    let says_nothing = |path: &PathBuf| !codebase::text(path.to_str().unwrap()).starts_with("//!");
    let silent: Vec<PathBuf> =
        sources().into_iter().filter(|path| !is_part_of_another(path) && says_nothing(path)).collect();
    assert_eq!(silent, Vec::<PathBuf>::new());
}

#[test]
fn every_package_takes_its_lints_and_its_licence_from_the_workspace() {
    for package in codebase::metadata().workspace_packages() {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        for line in ["[lints]\nworkspace = true", "license.workspace = true", "publish.workspace = true"] {
            assert!(manifest.contains(line), "{}: {line:?} is missing", package.name);
        }
    }
}

#[test]
fn the_documents_exist() {
    for path in [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "deny.toml",
        "docs/architecture.md",
        "docs/commands.md",
        "docs/configuration.md",
        "docs/observability.md",
        "docs/placement.md",
        "docs/scheduler.md",
    ] {
        assert!(!codebase::text(path).trim().is_empty(), "{path} is empty");
    }
}

#[test]
fn the_first_page_names_the_commands_to_begin_with() {
    let readme = codebase::text("README.md");
    for command in ["make run", "make test"] {
        assert!(readme.contains(command), "README.md does not name `{command}`");
    }
}

#[test]
fn what_is_checked_here_and_in_ci_is_the_same() {
    assert!(codebase::text(".ci/run").contains("make lint test"), ".ci/run does not call `make lint test`");
    let makefile = codebase::text("Makefile");
    for target in ["run:", "test:", "lint:"] {
        assert!(makefile.lines().any(|line| line.starts_with(target)), "the Makefile has no target {target}");
    }
}

#[test]
fn links_in_documents_lead_to_files() {
    let mut documents = codebase::files("docs");
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from));
    documents.retain(|path| {
        path.extension().is_some_and(|extension| extension == "md") && codebase::root().join(path).exists()
    });
    for document in documents {
        let text = codebase::text(document.to_str().unwrap());
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            if !path.is_empty() && !path.contains(':') {
                let file = codebase::root().join(document.parent().unwrap()).join(path);
                assert!(file.exists(), "{}: link to {target}", document.display());
            }
        }
    }
}

#[test]
fn the_lock_file_of_fuzzing_is_up_to_date() {
    let manifest = codebase::root().join("fuzz/Cargo.toml");
    let described = MetadataCommand::new().manifest_path(manifest).other_options(["--locked".to_owned()]).exec();
    assert!(described.is_ok(), "run `cargo metadata` in fuzz/ and commit Cargo.lock: {}", described.unwrap_err());
}
