//! No file of a crate depends on itself through any number of other files.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::{BTreeMap, BTreeSet};

use codebase::imports::Modules;

type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn read_modules(package: &str) -> Modules {
    let folder = format!("{package}/src");
    let texts = codebase::rust_sources(&folder).into_iter().map(|path| {
        let inside = path.strip_prefix(&format!("{folder}/")).unwrap().to_owned();
        (inside, codebase::text(&path))
    });
    Modules::read(texts)
}

fn reachable(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for target in arrows.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(target.clone()) {
                open.push(target);
            }
        }
    }
    reached
}

/// Each cycle with its dependencies, one line each.
fn circles(arrows: &Arrows) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        arrows.keys().map(|from| (from, reachable(arrows, from))).collect();
    let in_circle =
        |a: &String, b: &String| reached[a].contains(b) && reached.get(b).is_some_and(|back| back.contains(a));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for module in arrows.keys().filter(|module| in_circle(module, module)) {
        let circle: Vec<&String> = arrows.keys().filter(|other| in_circle(module, other)).collect();
        if !circle.iter().any(|module| seen.contains(*module)) {
            let lines = circle.iter().flat_map(|from| {
                let inside = arrows[*from].iter().filter(|(to, _)| circle.contains(to));
                inside
                    .map(move |(to, names)| format!("  {from} -> {to}: {}\n", Vec::from_iter(names.clone()).join(", ")))
            });
            found.push(format!("{} files:\n{}", circle.len(), lines.collect::<String>()));
        }
        seen.extend(circle.into_iter().cloned());
    }
    found
}

fn packages() -> Vec<String> {
    let manifests = codebase::files("crates").into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let folders = manifests.map(|path| path.parent().unwrap().to_str().unwrap().to_owned());
    folders.chain(["bench".to_owned()]).collect()
}

#[test]
fn no_files_of_a_crate_depend_on_each_other_in_a_circle() {
    let in_package = |package: String| {
        circles(&read_modules(&package).arrows()).into_iter().map(move |circle| format!("{package}: {circle}"))
    };
    let wrong: String = packages().into_iter().flat_map(in_package).collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn two_files_that_name_each_other_are_a_circle_also_through_a_name_that_is_handed_on() {
    let texts = [
        ("lib.rs", "pub use a::First; mod a; mod b;"),
        ("a.rs", "use crate::b::Second; pub struct First(Second);"),
        ("b.rs", "pub struct Second; fn f(_: crate::First) {} #[cfg(test)] mod tests;"),
        ("b/tests.rs", "use super::Second;"),
    ];
    let modules = Modules::read(texts.map(|(path, text)| (path.to_owned(), text.to_owned())));
    let found = circles(&modules.arrows());
    assert_eq!(found, ["2 files:\n  a -> b: Second\n  b -> a: First\n"]);
}
