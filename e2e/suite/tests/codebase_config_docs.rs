//! docs/configuration.md describes every key as the code defines it, and its examples load.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::BTreeMap;

use berth_telemetry::config;

const PATH: &str = "docs/configuration.md";
const HEADER: &str = "| Key | Type | Default | Meaning |";

/// The rows of all tables of keys, by path. A heading that is one name in backticks is a prefix of the keys below it.
fn documented() -> BTreeMap<String, String> {
    let text = codebase::text(PATH);
    let (mut rows, mut object, mut in_table) = (BTreeMap::new(), None, false);
    for line in text.lines() {
        if line.starts_with('#') {
            object = line.trim_start_matches('#').trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        }
        in_table = line == HEADER || (in_table && line.starts_with('|'));
        if let Some(rest) = line.strip_prefix("| `").filter(|_| in_table) {
            let (key, cells) = rest.split_once("` | ").unwrap_or_else(|| panic!("{PATH}: cannot read {line}"));
            let path = object.map_or_else(|| key.to_owned(), |object| format!("{object}.{key}"));
            let twice = rows.insert(path, cells.to_owned());
            assert!(twice.is_none(), "{PATH}: {key} is documented twice");
        }
    }
    rows
}

#[test]
fn every_key_is_documented_with_its_type_default_and_meaning() {
    let mut documented = documented();
    let mut wrong = Vec::new();
    for key in config::keys() {
        let expected = format!("{} | {} | {} |", key.kind, key.default, key.meaning);
        if documented.remove(&key.path).as_ref() != Some(&expected) {
            wrong.push(format!("write: | `{}` | {expected}", key.path));
        }
    }
    wrong.extend(documented.keys().map(|path| format!("remove: {path}, which is no key any more")));
    assert!(wrong.is_empty(), "{PATH} (keys are written relative to the object in the heading):\n{}", wrong.join("\n"));
}

#[test]
fn the_table_of_gates_is_that_of_the_code() {
    let text = codebase::text(PATH);
    let table = text.split("| Gate | Stage | Since | Default |\n|---|---|---|---|\n").nth(1).unwrap();
    let documented: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
    let row = |gate: config::Gate| {
        let config::GateDeclaration { name, stage, since, .. } = gate.declaration();
        format!("| `{name}` | {} | {since} | {} |", stage.as_str(), stage.is_on_by_default())
    };
    assert_eq!(documented, config::Gate::ALL.map(row));
}

#[test]
fn the_examples_load() {
    let text = codebase::text(PATH);
    let mut count = 0;
    for block in text.split("```json\n").skip(1) {
        let values = serde_json::from_str(block.split("```").next().unwrap()).unwrap();
        let loaded = config::decode(&values, true).unwrap_or_else(|error| panic!("{PATH}: {error}"));
        assert!(loaded.findings.0.is_empty(), "{PATH}: {}", loaded.findings);
        count += 1;
    }
    assert!(count > 0, "{PATH} has no example");
}

/// The rules of merging files are shown as a table of JSON; each row must be true.
#[test]
fn the_table_of_merging_is_true() {
    let text = codebase::text(PATH);
    let table = text.split("| Configuration | Secrets | In effect |\n|---|---|---|\n").nth(1).unwrap();
    for line in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> =
            line.split('`').skip(1).step_by(2).map(|cell| serde_json::from_str(cell).unwrap()).collect();
        let [mut merged, over, expected]: [serde_json::Map<_, _>; 3] = cells.try_into().unwrap();
        config::merge(&mut merged, over);
        assert_eq!(merged, expected, "{line}");
    }
}
