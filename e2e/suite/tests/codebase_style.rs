//! One style of modules and imports: a module is `x.rs` with its children in `x/`; there is one `use` for each imported
//! module, in three groups: the standard library, other crates, this crate.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::BTreeSet;

/// The Rust sources of the workspace, and of the fuzz targets beside it.
fn sources() -> Vec<String> {
    ["crates", "bench", "e2e", "fuzz"].into_iter().flat_map(codebase::rust_sources).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Standard,
    External,
    Own,
}

/// An import as it is written.
#[derive(Debug)]
struct Import {
    root: String,
    module: String,
    is_nested: bool,
    group: Group,
    is_after_blank_line: bool,
}

/// The blocks of imports, which only blank lines separate.
fn blocks(text: &str) -> Vec<Vec<Import>> {
    let words = |line: &str| {
        line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').map(str::to_owned).collect::<Vec<_>>()
    };
    let modules: BTreeSet<String> =
        text.lines().filter_map(|line| words(line.trim_start().split_once("mod ")?.1).into_iter().next()).collect();
    let (mut blocks, mut is_after_blank_line, mut is_inside) = (vec![Vec::new()], false, false);
    for line in text.lines() {
        if is_inside {
            is_inside = !line.ends_with(';');
            if let Some(import) = blocks.last_mut().and_then(|block: &mut Vec<Import>| block.last_mut()) {
                import.is_nested |= line.contains('{');
            }
        } else if let Some(import) = line.trim_start().strip_prefix("use ") {
            let root = words(import).swap_remove(0);
            let group = match root.as_str() {
                "std" | "core" | "alloc" => Group::Standard,
                "crate" | "super" | "self" => Group::Own,
                _ if modules.contains(&root) => Group::Own,
                _ => Group::External,
            };
            let path = import.split(['{', ';']).next().unwrap();
            let module = match path.strip_suffix("::") {
                Some(module) => module.to_owned(),
                None => path.rsplit_once("::").map_or(String::new(), |(module, _)| module.to_owned()),
            };
            let is_nested = import.matches('{').count() > 1;
            blocks.last_mut().unwrap().push(Import { root, module, is_nested, group, is_after_blank_line });
            (is_after_blank_line, is_inside) = (false, !line.ends_with(';'));
        } else if line.trim().is_empty() {
            is_after_blank_line = true;
        } else {
            blocks.push(Vec::new());
            is_after_blank_line = false;
        }
    }
    blocks
}

/// The problems of a file's imports.
fn check_imports(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for block in blocks(text) {
        for pair in block.windows(2) {
            let [before, import] = pair else { continue };
            if import.group < before.group {
                wrong.push(format!("`{}` stands after `{}`", import.root, before.root));
            } else if (import.group > before.group) != import.is_after_blank_line {
                wrong.push(format!(
                    "`{}` and `{}`: a blank line separates groups, and nothing else",
                    before.root, import.root
                ));
            }
        }
        let mut modules = BTreeSet::new();
        let twice = block.iter().filter(|import| !import.module.is_empty() && !modules.insert(&import.module));
        wrong.extend(twice.map(|import| format!("`{}` twice", import.module)));
        let nested = block.iter().filter(|import| import.is_nested);
        wrong.extend(nested.map(|import| format!("`{}` has braces in braces", import.module)));
    }
    wrong
}

#[test]
fn imports_are_one_line_for_each_module_in_three_groups() {
    let wrong: Vec<String> = sources()
        .iter()
        .flat_map(|path| check_imports(&codebase::text(path)).into_iter().map(move |what| format!("{path}: {what}")))
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn imports_in_another_style_are_noticed() {
    assert_eq!(
        check_imports("use std::fmt;\n\nuse serde::Serialize;\n\nuse super::x;\n\nfn f() {}\nuse std::io;\n"),
        [""; 0]
    );
    assert_eq!(check_imports("use std::fmt;\nuse std::io;\n"), ["`std` twice"]);
    assert_eq!(check_imports("use std::{fmt, io::{Read, Write}};\n"), ["`std` has braces in braces"]);
    assert_eq!(check_imports("use std::{\n    io::{Read, Write},\n};\n"), ["`std` has braces in braces"]);
    assert_eq!(check_imports("use serde::Serialize;\n\nuse std::fmt;\n"), ["`std` stands after `serde`"]);
    assert_eq!(check_imports("use std::{\n    fmt, io,\n};\nuse serde::Serialize;\n").len(), 1);
    assert_eq!(
        check_imports("mod x;\n\nuse serde::Serialize;\nuse x::Y;\n").len(),
        1,
        "the parent of a module must be in this crate"
    );
}

#[test]
fn modules_are_files_beside_their_folders() {
    let wrong: Vec<String> =
        sources().into_iter().filter(|path| path.contains("/src/") && path.ends_with("/mod.rs")).collect();
    assert_eq!(wrong, [""; 0], "x/mod.rs is x.rs, with its children in x/");
}
