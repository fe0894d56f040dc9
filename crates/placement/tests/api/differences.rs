//! Tests the tables of differences from Placement in `docs/placement.md`.

use std::collections::BTreeSet;

#[test]
fn each_difference_from_placement_is_documented_once_and_completely() {
    let page = include_str!("../../../../docs/placement.md");
    let section = page.split("\n## Differences from Placement\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with('|') && !line.starts_with("|---") && !line.starts_with("| About |"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 20, "{rows:?}");
    let mut seen = BTreeSet::new();
    for row in rows {
        let [about, placement, here, why] = row[..] else { panic!("a row has four cells: {row:?}") };
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert_ne!(placement, here, "{why}");
        assert!(seen.insert(about), "{about} is listed twice");
    }
}
