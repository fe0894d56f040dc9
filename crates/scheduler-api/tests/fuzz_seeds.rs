//! What `make fuzz` tries for as long as one likes, tried here with its seeds and some thousand changes to them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/targets/trial.rs"]
mod trial;

use std::{fs, path::PathBuf, sync::LazyLock};

use berth_scheduler_api::wire;
use proptest::prelude::*;

static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
});

/// Pieces that mean something to a reader of JSON.
const PIECES: [&str; 12] = [
    "null",
    "-1",
    "{}",
    "[]",
    "\"",
    "1e999",
    "{\"nova_object.data\":",
    "]}",
    "\\ud800",
    ",",
    "99999999999999999999",
    "0",
];

#[test]
fn every_seed_is_a_request() {
    assert!(SEEDS.len() > 10);
    for seed in &*SEEDS {
        wire::decode(seed).unwrap();
        trial::request(seed);
    }
}

/// One change: at a place, so many bytes are replaced by these.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..4);
    let piece = prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec());
    proptest::collection::vec((any::<prop::sample::Index>(), 0..6_usize, prop_oneof![bytes, piece]), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn changed_seeds_are_read_decided_and_answered_without_a_panic(
        seed in any::<prop::sample::Index>(), changes in changes()
    ) {
        let mut body = SEEDS[seed.index(SEEDS.len())].clone();
        for (place, removed, put) in changes {
            let from = place.index(body.len() + 1);
            let until = (from + removed).min(body.len());
            body.splice(from..until, put);
        }
        trial::request(&body);
    }
}
