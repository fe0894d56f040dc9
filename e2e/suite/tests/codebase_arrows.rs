//! The allowed dependencies between crates, as in docs/architecture.md, checked with the dependencies that cargo
//! reports.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Package};

const DOMAIN: [&str; 3] = ["core", "crds", "cluster"];
const PLACING: [&str; 2] = ["capacity-view", "scheduler"];

/// What each crate may depend on. Development dependencies are free.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let with = |parts: &[&[&'static str]]| parts.concat();
    let controller = with(&[&DOMAIN, &["telemetry", "vm-source"]]);
    let placing = with(&[&controller, &PLACING]);
    BTreeMap::from([
        ("core", vec![]),
        ("capacity-view", vec!["core"]),
        ("scheduler", vec!["core", "capacity-view"]),
        ("placement-model", vec!["core"]),
        ("telemetry", vec!["core"]),
        ("http", vec!["telemetry"]),
        ("openstack", vec!["telemetry", "http"]),
        ("vm-source", vec!["core", "telemetry"]),
        ("crds", vec!["core"]),
        ("cluster", vec!["core", "crds", "telemetry"]),
        ("invariants", vec!["core", "crds"]),
        ("committed-resource", placing.clone()),
        ("reservation", placing.clone()),
        ("capacity", placing.clone()),
        ("projects", controller.clone()),
        ("usage", with(&[&controller, &["projects"]])),
        ("quota", with(&[&controller, &["projects"]])),
        ("limes-syncer", with(&[&DOMAIN, &["telemetry", "openstack"]])),
        ("liquid", with(&[&placing, &["http", "openstack"]])),
        ("scheduler-api", with(&[&DOMAIN, &PLACING, &["telemetry", "http"]])),
        ("placement", with(&[&DOMAIN, &["placement-model", "telemetry", "http", "openstack"]])),
    ])
}

/// Crates without I/O, clock and randomness, and the dependencies that would add these.
const PURE: [&str; 4] = ["core", "capacity-view", "scheduler", "placement-model"];
const IMPURE: [&str; 29] = [
    "ahash",
    "async-std",
    "axum",
    "chrono",
    "getrandom",
    "h2",
    "http",
    "hyper",
    "hyper-util",
    "iana-time-zone",
    "k8s-openapi",
    "kube",
    "kube-client",
    "kube-core",
    "kube-runtime",
    "mio",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "rustls",
    "smol",
    "socket2",
    "sqlx",
    "sqlx-core",
    "tokio",
    "tower",
    "tower-http",
    "uuid",
];
/// Crates for tests, benchmarks and demonstrations: no shipped crate depends on them.
const NOT_SHIPPED: [&str; 13] = [
    "bench",
    "testkit",
    "control-plane",
    "demo",
    "helm",
    "image",
    "keystone",
    "limes",
    "mutants",
    "placement-gabbi",
    "postgres",
    "python",
    "e2e",
];

fn ours(name: &str) -> Option<&str> {
    name.strip_prefix("berth-")
}

fn shipped(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| !ours(&package.name).is_some_and(|name| NOT_SHIPPED.contains(&name)))
}

fn dependencies(package: &Package) -> BTreeSet<&str> {
    let shipped = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    shipped.map(|dependency| dependency.name.as_str()).collect()
}

#[test]
fn a_crate_depends_only_on_those_it_may_know() {
    let (metadata, allowed) = (codebase::metadata(), allowed());
    let mut wrong = Vec::new();
    for package in shipped(&metadata).filter(|package| package.name.as_str() != "berth") {
        let name = ours(&package.name).unwrap_or_else(|| panic!("{}: packages are called berth-...", package.name));
        let Some(known) = allowed.get(name) else {
            wrong.push(format!("{name}: has no row in this test; add it here and in docs/architecture.md"));
            continue;
        };
        for other in dependencies(package).into_iter().filter_map(ours).filter(|other| !known.contains(other)) {
            wrong.push(format!("{name} must not depend on {other}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_is_for_tests_is_not_shipped() {
    let metadata = codebase::metadata();
    for package in shipped(&metadata) {
        let wrong: Vec<&str> = dependencies(package)
            .into_iter()
            .filter(|name| ours(name).is_some_and(|name| NOT_SHIPPED.contains(&name)))
            .collect();
        assert_eq!(wrong, [""; 0], "{} ships a crate for tests", package.name);
    }
}

#[test]
fn the_table_has_no_way_around() {
    for (name, known) in allowed() {
        for other in known {
            assert!(!allowed()[other].contains(&name), "{name} and {other} would depend on each other");
        }
    }
}

#[test]
fn pure_crates_reach_no_input_output_clock_or_randomness() {
    let metadata = codebase::metadata();
    let mut wrong = Vec::new();
    for name in PURE {
        let package = format!("berth-{name}");
        if !metadata.packages.iter().any(|known| known.name.as_str() == package) {
            continue;
        }
        let reached = reached(&metadata, &package);
        wrong.extend(
            reached
                .iter()
                .filter(|other| IMPURE.contains(&other.as_str()))
                .map(|other| format!("{name} reaches {other}")),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn times_are_computed_without_the_time_zones_of_the_machine() {
    let metadata = codebase::metadata();
    let jiff = metadata.packages.iter().find(|package| package.name.as_str() == "jiff").unwrap();
    let resolve = metadata.resolve.as_ref().unwrap();
    let features = &resolve.nodes.iter().find(|node| node.id == jiff.id).unwrap().features;
    let zones: Vec<_> =
        features.iter().filter(|feature| feature.starts_with("tz-system") || feature.starts_with("tzdb")).collect();
    assert!(zones.is_empty(), "jiff is built with {zones:?}; take it with default-features = false");
}

#[test]
fn random_numbers_come_from_seeds_that_callers_bring() {
    let metadata = codebase::metadata();
    let declared: Vec<_> = shipped(&metadata)
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.name == "fastrand" && dependency.kind != DependencyKind::Development)
        .collect();
    assert!(!declared.is_empty());
    let seeded =
        |dependency: &&&cargo_metadata::Dependency| !dependency.uses_default_features && dependency.features.is_empty();
    assert!(declared.iter().all(|one| seeded(&one)), "fastrand with its features seeds itself; take it without them");
}

/// All packages that a package is linked with, by normal dependencies.
fn reached(metadata: &Metadata, package: &str) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().unwrap();
    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
    let mut open: Vec<_> = names.iter().filter(|(_, name)| *name == package).map(|(id, _)| *id).collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        let node = resolve.nodes.iter().find(|node| node.id == *id).unwrap();
        let linked = |kinds: &[cargo_metadata::DepKindInfo]| {
            kinds.iter().any(|kind| kind.kind == DependencyKind::Normal && kind.target.is_none())
        };
        for next in node.deps.iter().filter(|next| linked(&next.dep_kinds)) {
            if reached.insert(names[&next.pkg].clone()) {
                open.push(&next.pkg);
            }
        }
    }
    reached
}
