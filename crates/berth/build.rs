//! Tells the program which commit it is built from.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Wins over the commit of the checkout, and is the only source without one.
const VARIABLE: &str = "BERTH_REVISION";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let set = env::var(VARIABLE).ok().filter(|revision| !revision.is_empty());
    let revision = set.or_else(checked_out).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=BERTH_BUILD_REVISION={revision}");
}

/// Optimized builds only: others would be built again after each commit.
fn checked_out() -> Option<String> {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("PROFILE").ok()? != "release" {
        return None;
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let root = package.ancestors().nth(2)?;
    // Sources without a repository may lie within that of something else.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // The second one grows with each commit and checkout, wherever the branch is kept.
    for place in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(root, &["rev-parse", "--git-path", place])?);
        // A file that is missing would count as changed in every build.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(root, &["rev-parse", "HEAD"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
