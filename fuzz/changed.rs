//! The seeds of a fuzz target and mutations of them, for the test that runs both. The property is in `tests/trials` of
//! the tested crate.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

/// Pieces that are special in JSON; each target has its own words besides.
const PIECES: [&str; 14] = [
    "null",
    "-1",
    "{}",
    "[]",
    "\"",
    "1e999",
    "{\"nova_object.data\":",
    "]}",
    "\\ud800",
    "\\n",
    ",",
    "99999999999999999999",
    "0",
    "9223372036854775807",
];

/// All seeds of a target, in the order of their names.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join("corpus").join(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Seeds with one to four changes: at a place, some bytes are replaced by others, by a word or by a piece of a seed.
pub fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let seeds = seeds(target);
    let others = seeds.clone();
    let bytes = proptest::collection::vec(any::<u8>(), 0..4);
    let word = prop::sample::select(words(target));
    let part =
        (prop::sample::select(others), any::<prop::sample::Index>(), 0..40_usize).prop_map(|(seed, from, length)| {
            let from = from.index(seed.len() + 1);
            seed[from..(from + length).min(seed.len())].to_vec()
        });
    let change = (any::<prop::sample::Index>(), 0..6_usize, prop_oneof![2 => bytes, 3 => word, 1 => part]);
    (prop::sample::select(seeds), proptest::collection::vec(change, 1..5)).prop_map(|(mut seed, changes)| {
        for (place, removed, put) in changes {
            let from = place.index(seed.len() + 1);
            let until = (from + removed).min(seed.len());
            seed.splice(from..until, put);
        }
        seed
    })
}

/// The words of a target's dictionary, and the pieces of JSON.
fn words(target: &str) -> Vec<Vec<u8>> {
    let dictionary = fs::read_to_string(folder().join(format!("{target}.dict"))).unwrap();
    let quoted = dictionary.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    let own = quoted.map(|word| word.replace("\\\"", "\"").replace("\\\\", "\\").into_bytes());
    own.chain(PIECES.map(|piece| piece.as_bytes().to_vec())).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
