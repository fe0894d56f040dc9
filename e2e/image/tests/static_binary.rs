//! The static binary needs nothing, is small, and says what it is made of.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use auditable_info::audit_info_from_file;
use berth_image::packages::{self, Extent, Package};
use berth_image::{StaticBinary, checkout};

const MIB: u64 = 1 << 20;

/// What `readelf` says about a file.
fn readelf(arguments: &[&str], file: &Path) -> String {
    let output = Command::new("readelf").args(arguments).arg(file).env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the kernel must load another program or library to run it.
fn is_static(file: &Path) -> bool {
    let segments = readelf(&["--program-headers", "--wide"], file);
    let needed = readelf(&["--dynamic", "--wide"], file);
    assert!(segments.contains("LOAD"), "{segments}");
    !segments.lines().any(|line| line.trim_start().starts_with("INTERP")) && !needed.contains("(NEEDED)")
}

#[test]
fn it_needs_no_interpreter_and_no_library() {
    let binary = StaticBinary::obtain().unwrap();
    assert!(is_static(&binary.path), "{binary:?}");
    // This test itself is linked as usual.
    assert!(!is_static(&std::env::current_exe().unwrap()));
}

#[test]
fn it_is_smaller_than_40_mib() {
    let binary = StaticBinary::obtain().unwrap();
    let size = fs::metadata(&binary.path).unwrap().len();
    println!("{}: {} MiB", binary.target, size.div_ceil(MIB));
    assert!(size < 40 * MIB, "{size} bytes");
}

/// The packages that the binary names as part of it, and those that only built it.
fn audited(binary: &Path) -> (BTreeSet<Package>, BTreeSet<Package>) {
    let info = audit_info_from_file(binary, auditable_info::Limits::default()).unwrap();
    let others = info.packages.into_iter().filter(|package| package.source != auditable_serde::Source::Local);
    let (linked, building) = others.partition::<Vec<_>, _>(|one| one.kind == auditable_serde::DependencyKind::Runtime);
    let set = |list: Vec<auditable_serde::Package>| {
        list.into_iter().map(|one| Package { name: one.name, version: one.version.to_string() }).collect()
    };
    (set(linked), set(building))
}

/// Scanners read this list, so that an advisory about any of them is found in an image.
#[test]
fn it_lists_every_package_that_is_linked_into_it_and_none_that_is_not_locked() {
    let binary = StaticBinary::obtain().unwrap();
    let (linked, building) = audited(&binary.path);
    let expected = packages::of_target(&binary.target, Extent::Linked).unwrap();
    assert!(expected.len() > 200, "{}", expected.len());
    assert_eq!(expected.difference(&linked).collect::<Vec<_>>(), Vec::<&Package>::new());
    let lock = fs::read_to_string(checkout().join("Cargo.lock")).unwrap();
    let entry = |one: &&Package| !lock.contains(&format!("name = \"{}\"\nversion = \"{}\"\n", one.name, one.version));
    assert_eq!(linked.iter().chain(&building).filter(entry).collect::<Vec<_>>(), Vec::<&Package>::new());
}
