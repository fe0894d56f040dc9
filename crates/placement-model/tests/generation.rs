//! The generation of candidates changes their order and number, and never which requests are right.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[allow(dead_code, reason = "the naive algorithm has a test of its own")]
mod naive;

use std::collections::BTreeSet;

use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, parse};
use serde_json::Value;

use naive::random::Random;
use naive::{clouds, queries, read};

const CLOUDS: u64 = 400;

/// A model of a random cloud, and a question without a limit that it can answer.
fn asked(seed: u64) -> Option<(Model, CandidatesQuestion)> {
    let mut random = Random::new(seed);
    let cloud = clouds::cloud(&mut random);
    let mut model = Model::new(&clouds::CLASSES, &clouds::TRAITS);
    for provider in cloud.providers.values() {
        model.put(provider);
    }
    let version = queries::version(&mut random);
    let question = parse::candidates(&queries::query(&mut random, version), version).ok()?;
    let question = CandidatesQuestion { limit: None, ..question };
    model.candidates(&question, &GenerationOptions::default()).is_ok().then_some((model, question))
}

fn requests(model: &Model, question: &CandidatesQuestion, options: &GenerationOptions) -> Vec<String> {
    let body = model.candidates(question, options).unwrap().body();
    read(&body).unwrap().requests.iter().map(Value::to_string).collect()
}

#[test]
fn hosts_in_turns_and_hosts_in_a_drawn_order_have_the_same_requests() {
    let mut orders = 0;
    for (seed, (model, question)) in (0..CLOUDS).filter_map(|seed| Some((seed, asked(seed)?))) {
        let plain = requests(&model, &question, &GenerationOptions::default());
        let all: BTreeSet<&String> = plain.iter().collect();
        for (breadth_first, shuffle) in [(true, None), (false, Some(seed)), (true, Some(seed + 1))] {
            let options = GenerationOptions { breadth_first, shuffle, ..GenerationOptions::default() };
            let found = requests(&model, &question, &options);
            assert_eq!(found.iter().collect::<BTreeSet<_>>(), all, "seed {seed}: {options:?}");
            assert_eq!(found.len(), plain.len(), "seed {seed}: {options:?}");
            assert_eq!(found, requests(&model, &question, &options), "the same seed gives the same order");
            orders += usize::from(found != plain);
        }
    }
    assert!(orders > 50, "{orders}");
}

#[test]
fn bounds_cut_what_is_found_and_say_so() {
    let mut cut = 0;
    for (seed, (model, question)) in (0..CLOUDS).filter_map(|seed| Some((seed, asked(seed)?))) {
        let all = requests(&model, &question, &GenerationOptions::default());
        let few = GenerationOptions { most_requests: 2, ..GenerationOptions::default() };
        let found = requests(&model, &question, &few);
        assert_eq!(found, all[..all.len().min(2)], "seed {seed}");
        cut += usize::from(found.len() < all.len());
        let limited = CandidatesQuestion { limit: Some(1), ..question.clone() };
        assert_eq!(requests(&model, &limited, &GenerationOptions::default()), all[..all.len().min(1)], "seed {seed}");
        let hasty = GenerationOptions { most_combinations: 1, ..GenerationOptions::default() };
        match model.candidates(&question, &hasty) {
            Ok(found) => assert!(found.len() <= all.len(), "seed {seed}"),
            Err(NoCandidates::TooComplex) => {}
            Err(other) => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(cut > 50, "{cut}");
}
