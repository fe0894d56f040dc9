//! The property of `placement_query`, for the fuzzer and for a test of `berth-placement`: the input `minor query` is
//! parsed as a query for allocation candidates and as one for the provider list, and a valid query is sent to a small
//! cloud. Each request has exactly the requested amounts, and other ways of generating candidates give the same
//! requests.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use berth_placement::protocol::target;
use berth_placement::{GenerationOptions, Ledger as _};
use berth_placement_model::question::CandidatesQuestion;
use berth_placement_model::{Model, NoCandidates, Refusal, Version, parse};
use futures::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::world::World;

static MODEL: LazyLock<Arc<Model>> = LazyLock::new(|| {
    let ledger = World::new().ledger;
    ledger.model(Instant::now()).now_or_never().unwrap().unwrap()
});

/// The requests of one way of generating them, sorted, and whether there may be more.
type Found = (Vec<String>, bool);

/// Runs a query; returns the number of candidates and of providers.
pub fn query(input: &[u8]) -> (usize, usize) {
    let text = String::from_utf8_lossy(input);
    let (minor, query) = text.split_once(' ').unwrap_or(("", &text));
    let version = minor.parse().ok().and_then(Version::new).unwrap_or(Version::NEWEST);
    let Ok(pairs) = target::parameters(query) else { return (0, 0) };
    let reported = |refusal: &Refusal| is_reported(refusal, text.len());
    let candidates = match parse::candidates(&pairs, version) {
        Ok(question) => candidates(&question, &reported),
        Err(refusal) => reported(&refusal),
    };
    let providers = match parse::providers(&pairs, version).and_then(|question| MODEL.list(&question)) {
        Ok(providers) => providers.len(),
        Err(refusal) => reported(&refusal),
    };
    (candidates, providers)
}

fn is_reported(refusal: &Refusal, length: usize) -> usize {
    let text = &refusal.text;
    assert!(!text.is_empty() && text.len() < 10 * length + 2_000, "{text}");
    0
}

fn candidates(question: &CandidatesQuestion, reported: &impl Fn(&Refusal) -> usize) -> usize {
    let few = GenerationOptions { most_combinations: 5_000, most_requests: 1_000, ..GenerationOptions::default() };
    let turns = GenerationOptions { breadth_first: true, ..few };
    let drawn = GenerationOptions { shuffle: Some(7), ..few };
    let mut all: Vec<Found> = Vec::new();
    for options in [few, turns, drawn] {
        match MODEL.candidates(question, &options) {
            Ok(found) => {
                let (count, is_cut) = (found.len(), found.is_cut);
                all.push((requests(&found.body(), count, question), is_cut));
            }
            Err(NoCandidates::Refused(refusal)) => return reported(&refusal),
            Err(NoCandidates::TooComplex) => return 0,
        }
    }
    if all.iter().all(|found| !found.1) {
        let is_limited = question.limit.is_some_and(|limit| all[0].0.len() == limit);
        for (requests, _) in &all {
            assert_eq!(requests.len(), all[0].0.len(), "{question:?}");
            assert!(is_limited || *requests == all[0].0, "{question:?}");
        }
    }
    all[0].0.len()
}

fn requests(body: &[u8], count: usize, question: &CandidatesQuestion) -> Vec<String> {
    let json: Value = serde_json::from_slice(body).unwrap();
    let requests = json["allocation_requests"].as_array().unwrap();
    assert_eq!(requests.len(), count, "{question:?}");
    for request in requests {
        assert_eq!(amounts(request), asked(question), "{request}");
    }
    let mut texts: Vec<String> = requests.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

/// The sums of a request, which is a list of providers before 1.12.
fn amounts(request: &Value) -> BTreeMap<String, u128> {
    let allocations = &request["allocations"];
    let providers: Vec<&Value> = match allocations.as_array() {
        Some(list) => list.iter().collect(),
        None => allocations.as_object().unwrap().values().collect(),
    };
    let mut sums = BTreeMap::new();
    for (class, amount) in providers.iter().flat_map(|provider| provider["resources"].as_object().unwrap()) {
        *sums.entry(class.clone()).or_default() += u128::from(amount.as_u64().unwrap());
    }
    sums
}

/// The sums of all groups. An answer cannot have more than 64 bits.
fn asked(question: &CandidatesQuestion) -> BTreeMap<String, u128> {
    let mut sums = BTreeMap::new();
    for (class, amount) in question.groups.iter().flat_map(|group| &group.1.resources) {
        *sums.entry(class.as_str().to_owned()).or_default() += amount.map_or(u128::MAX / 1_000_000, u128::from);
    }
    sums
}
