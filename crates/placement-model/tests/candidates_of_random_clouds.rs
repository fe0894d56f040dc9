//! Compares the candidates of the model with those of the naive algorithm: random clouds, random queries, all
//! microversions.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod naive;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_placement_model::question::{CandidatesQuestion, GenerationOptions};
use berth_placement_model::{Model, NoCandidates, Pages, Version, parse};
use serde_json::Value;

use naive::random::Random;
use naive::{Answer, Cloud, clouds, queries, read};

const CLOUDS: u64 = 1500;
const QUERIES: usize = 10;

/// A model with this cloud that has had other content before.
fn model(cloud: &Cloud, random: &mut Random) -> Model {
    let mut model = Model::new(&clouds::CLASSES, &clouds::TRAITS);
    let past = clouds::cloud(random);
    for provider in past.providers.values() {
        model.put(provider);
    }
    let copy = model.clone();
    let mut order: Vec<_> = cloud.providers.values().collect();
    let first = random.below(order.len());
    order.rotate_left(first);
    for provider in order {
        model.put(provider);
    }
    for id in past.providers.keys().filter(|id| !cloud.providers.contains_key(id)) {
        model.remove(*id);
    }
    assert!(copy.providers().map(|provider| provider.state()).eq(past.providers.into_values()), "a copy has changed");
    assert!(model.providers().map(|provider| provider.state()).eq(cloud.providers.values().cloned()));
    model
}

fn options(random: &mut Random) -> GenerationOptions {
    GenerationOptions {
        shuffle: random.chance(300).then(|| random.draw()),
        breadth_first: random.chance(300),
        ..GenerationOptions::default()
    }
}

fn sorted(answer: &Answer) -> Vec<String> {
    let mut requests: Vec<String> = answer.requests.iter().map(Value::to_string).collect();
    requests.sort();
    requests
}

fn same(ours: &Answer, naive: &Answer) {
    assert_eq!(sorted(ours), sorted(naive));
    assert_eq!(ours.summaries, naive.summaries);
}

/// Compares an answer with a limit: as many as allowed, each of them right, and their summaries.
fn some(ours: &Answer, naive: &Answer, limit: usize) {
    assert_eq!(ours.requests.len(), naive.requests.len().min(limit));
    let mut left: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, request) in naive.requests.iter().enumerate() {
        left.entry(request.to_string()).or_default().push(place);
    }
    let mut summaries = std::collections::BTreeSet::new();
    for request in sorted(ours) {
        let place = left.get_mut(&request).and_then(Vec::pop).unwrap_or_else(|| panic!("{request} is no candidate"));
        summaries.extend(naive.alone[place].iter().cloned());
    }
    assert!(ours.summaries.keys().eq(summaries.iter()), "{:?} {summaries:?}", ours.summaries);
    assert!(ours.summaries.iter().all(|(uuid, summary)| naive.summaries[uuid] == *summary));
}

/// Counts the kinds of cases, because a test without interesting cases proves nothing.
#[derive(Default)]
struct Seen(BTreeMap<&'static str, usize>);

impl Seen {
    fn count(&mut self, what: &'static str, times: bool) {
        *self.0.entry(what).or_default() += usize::from(times);
    }

    fn of_question(&mut self, question: &CandidatesQuestion, answer: &Answer) {
        let has =
            |with: fn(&berth_placement_model::question::Group) -> bool| question.groups.iter().any(|one| with(&one.1));
        let found = !answer.requests.is_empty();
        self.count("found", found);
        self.count("nothing", !found);
        self.count("more than ten", answer.requests.len() > 10);
        self.count("list form", found && !question.version.has(Version::ALLOCATIONS_BY_PROVIDER));
        self.count("before 1.29", found && !question.version.has(Version::NESTED_CANDIDATES));
        self.count(
            "1.29 to 1.33",
            found && question.version.has(Version::NESTED_CANDIDATES) && !question.version.has(Version::MAPPINGS),
        );
        self.count("required", found && has(|group| !group.required.is_empty()));
        self.count("any of some traits", found && has(|group| group.required.iter().any(|set| set.len() > 1)));
        self.count("forbidden traits", found && has(|group| !group.forbidden.is_empty()));
        self.count("member_of", found && has(|group| !group.member_of.is_empty()));
        self.count("two member_of", found && has(|group| group.member_of.len() > 1));
        self.count("forbidden aggregates", found && has(|group| !group.forbidden_aggregates.is_empty()));
        self.count("in_tree", found && has(|group| group.in_tree.is_some()));
        self.count("resourceless", found && has(|group| group.resources.is_empty()));
        self.count("three groups", found && question.groups.len() > 2);
        self.count("isolate", found && question.isolate && question.groups.len() > 1);
        self.count("root_required", found && question.root_required.is_some());
        self.count("same_subtree", found && question.same_subtree.iter().any(|suffixes| suffixes.len() > 1));
    }

    fn of_requests(&mut self, question: &CandidatesQuestion, answer: &Answer) {
        for request in answer.requests.iter().filter(|_| question.version.has(Version::MAPPINGS)) {
            let roots: std::collections::BTreeSet<&str> = request["allocations"]
                .as_object()
                .unwrap()
                .keys()
                .map(|uuid| answer.summaries[uuid]["root_provider_uuid"].as_str().unwrap())
                .collect();
            self.count("several trees", roots.len() > 1);
            let unsuffixed = request["mappings"].get("").and_then(Value::as_array);
            self.count("several providers in one group", unsuffixed.is_some_and(|providers| providers.len() > 1));
            let mapped: usize =
                request["mappings"].as_object().unwrap().values().map(|all| all.as_array().unwrap().len()).sum();
            self.count("one provider in several groups", mapped > request["allocations"].as_object().unwrap().len());
        }
    }
}

fn answered(body: &[u8], count: usize) -> Answer {
    let answer = read(body).expect("an answer that can be read");
    assert_eq!(answer.requests.len(), count);
    answer
}

fn compare(
    cloud: &Cloud,
    model: &Arc<Model>,
    pairs: &[(String, String)],
    version: Version,
    random: &mut Random,
    seen: &mut Seen,
) {
    let Ok(question) = parse::candidates(pairs, version) else { return seen.count("refused while reading", true) };
    let naive = cloud.candidates(&question);
    let options = options(random);
    let ours = model.candidates(&question, &options);
    let (naive, ours) = match (naive, ours) {
        (Ok(naive), Ok(ours)) => (naive, ours),
        (Err(text), Err(NoCandidates::Refused(refusal))) => {
            seen.count("unknown name", true);
            return assert_eq!(refusal.text, text);
        }
        (naive, ours) => panic!("naive {naive:?}, ours {ours:?}"),
    };
    let (count, body) = (ours.len(), ours.body());
    let answer = answered(&body, count);
    match question.limit {
        Some(limit) => {
            some(&answer, &naive, limit);
            seen.count("cut by a limit", naive.requests.len() > limit);
        }
        None => same(&answer, &naive),
    }
    let is_unknown = pairs.iter().any(|pair| pair.1.contains("CUSTOM_UNKNOWN"));
    seen.count("unknown name that was not reached", is_unknown);
    seen.of_question(&question, &naive);
    seen.of_requests(&question, &naive);
    let pages = Pages::new(model.clone(), &question, &options).unwrap();
    let pieces: Vec<_> = pages.in_pieces_of(random.below(500)).flatten().collect();
    assert_eq!(pieces, body, "differs when it is computed in parts");
}

#[test]
fn candidates_are_those_of_the_naive_algorithm() {
    let mut seen = Seen::default();
    for seed in 0..CLOUDS {
        let mut random = Random::new(seed);
        let cloud = clouds::cloud(&mut random);
        let model = Arc::new(model(&cloud, &mut random));
        for number in 0..QUERIES {
            let version = queries::version(&mut random);
            let pairs = queries::query(&mut random, version);
            let state = random.clone();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                compare(&cloud, &model, &pairs, version, &mut random, &mut seen);
            }));
            if let Err(panic) = outcome {
                eprintln!("seed {seed}, query {number}, {version}: {pairs:?}\n{cloud:#?}\n{state:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{:#?}", seen.0);
    let never: Vec<_> = seen.0.iter().filter(|one| *one.1 < 5).collect();
    assert!(never.is_empty(), "hardly ever seen: {never:?}");
    assert!(seen.0["found"] > 3000, "{:?}", seen.0);
}
