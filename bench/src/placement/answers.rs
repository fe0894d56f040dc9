//! Compares the answers of two servers for the same cloud. Without a limit both must return the same candidates,
//! equally often; with a limit, as many as allowed, each of them among all candidates, and summaries of exactly their
//! trees.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::error::Error;
use super::http::Client;
use super::questions::{FLAVORS, LIMIT, Question, flavor};

/// Candidates with the number of their occurrences, and the summaries.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answered {
    candidates: BTreeMap<String, usize>,
    summaries: BTreeMap<String, Value>,
}

/// Asks both servers for some of the flavors; returns the number of candidates for the last one.
pub fn compare(question: Question, ours: &mut Client, theirs: &mut Client, every: usize) -> Result<usize, Error> {
    let mut candidates = 0;
    for number in (0..FLAVORS).step_by(every.max(1)) {
        let (all, limited) = (question.path(flavor(number), false), question.path(flavor(number), true));
        let differs = |path: &str, difference| Error::Differs { question: path.to_owned(), difference };
        let (mine, other) = (ask(ours, &all)?, ask(theirs, &all)?);
        difference(&mine, &other).map_or(Ok(()), |found| Err(differs(&all, found)))?;
        for client in [&mut *ours, &mut *theirs] {
            let answered = ask(client, &limited)?;
            limit_difference(&answered, &mine, LIMIT).map_or(Ok(()), |found| Err(differs(&limited, found)))?;
        }
        candidates = mine.total();
    }
    Ok(candidates)
}

fn ask(client: &mut Client, path: &str) -> Result<Answered, Error> {
    let answer: Value = serde_json::from_slice(client.must("GET", path, None)?.body)?;
    read(&answer).ok_or_else(|| Error::Answer(format!("{path}: this is no list of candidates")))
}

fn read(answer: &Value) -> Option<Answered> {
    let mut answered = Answered::default();
    for candidate in answer["allocation_requests"].as_array()? {
        *answered.candidates.entry(normal(candidate)).or_default() += 1;
    }
    for (provider, summary) in answer["provider_summaries"].as_object()? {
        let mut summary = summary.clone();
        summary["traits"].as_array_mut()?.sort_by_key(Value::to_string);
        answered.summaries.insert(provider.clone(), summary);
    }
    Some(answered)
}

/// Orders maps by their keys and treats the providers of a group as a set.
fn normal(candidate: &Value) -> String {
    let mut candidate = candidate.clone();
    for providers in candidate["mappings"].as_object_mut().into_iter().flatten().map(|(_, providers)| providers) {
        if let Some(providers) = providers.as_array_mut() {
            providers.sort_by_key(Value::to_string);
        }
    }
    sorted(&candidate).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<_, _> = map.iter().collect();
            Value::Object(ordered.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

impl Answered {
    fn total(&self) -> usize {
        self.candidates.values().sum()
    }
}

fn difference(ours: &Answered, theirs: &Answered) -> Option<String> {
    let more = |one: &Answered, other: &Answered| {
        let mut candidates = one.candidates.iter();
        candidates.find(|(name, times)| other.candidates.get(*name) != Some(times)).map(|(name, _)| name.clone())
    };
    if let Some(candidate) = more(ours, theirs) {
        return Some(format!("only ours has it, or more often: {candidate}"));
    }
    if let Some(candidate) = more(theirs, ours) {
        return Some(format!("only Placement has it, or more often: {candidate}"));
    }
    let mut providers = ours.summaries.keys().chain(theirs.summaries.keys());
    let provider = providers.find(|provider| ours.summaries.get(*provider) != theirs.summaries.get(*provider))?;
    let (mine, other) = (ours.summaries.get(provider), theirs.summaries.get(provider));
    Some(format!("the summaries of {provider} differ: {mine:?}, {other:?}"))
}

/// What is wrong in an answer with a limit, given all candidates.
fn limit_difference(limited: &Answered, all: &Answered, limit: usize) -> Option<String> {
    let expected = all.total().min(limit);
    if limited.total() != expected {
        return Some(format!("{} candidates instead of {expected}", limited.total()));
    }
    let unknown = |(name, times): &(&String, &usize)| all.candidates.get(*name).is_none_or(|known| known < *times);
    if let Some((candidate, _)) = limited.candidates.iter().find(unknown) {
        return Some(format!("without the limit there is no {candidate}"));
    }
    let root = |provider: &String| all.summaries.get(provider).map(|summary| summary["root_provider_uuid"].to_string());
    let wanted: BTreeSet<String> =
        limited.candidates.keys().flat_map(|candidate| providers(candidate)).filter_map(|one| root(&one)).collect();
    let of_wanted = |summary: &Value| wanted.contains(&summary["root_provider_uuid"].to_string());
    let expected = all.summaries.iter().filter(|(_, summary)| of_wanted(summary)).count();
    (limited.summaries.len() != expected)
        .then(|| format!("{} summaries instead of {expected}", limited.summaries.len()))
}

/// The providers in the allocations of a candidate.
fn providers(candidate: &str) -> Vec<String> {
    let candidate: Value = serde_json::from_str(candidate).unwrap_or_default();
    candidate["allocations"].as_object().map(|of| of.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(hosts: &[&str]) -> Answered {
        let candidates: Vec<Value> = hosts
            .iter()
            .map(|host| json!({"allocations": {*host: {"resources": {"VCPU": 1}}}, "mappings": {"": [host]}}))
            .collect();
        let summaries: serde_json::Map<String, Value> = hosts
            .iter()
            .map(|host| ((*host).to_owned(), json!({"traits": ["B", "A"], "root_provider_uuid": host})))
            .collect();
        read(&json!({"allocation_requests": candidates, "provider_summaries": summaries})).unwrap()
    }

    #[test]
    fn the_order_does_not_matter_and_how_often_does() {
        assert_eq!(difference(&answer(&["a", "b"]), &answer(&["b", "a"])), None);
        assert!(difference(&answer(&["a", "b"]), &answer(&["a"])).unwrap().starts_with("only ours"));
        assert!(difference(&answer(&["a"]), &answer(&["a", "a"])).is_some());
        let mut other = answer(&["a"]);
        other.summaries.get_mut("a").unwrap()["traits"] = json!(["A"]);
        assert!(difference(&answer(&["a"]), &other).unwrap().contains("summaries of a"));
    }

    #[test]
    fn with_a_limit_there_are_as_many_as_there_may_be_with_their_summaries() {
        let all = answer(&["a", "b", "c"]);
        assert_eq!(limit_difference(&answer(&["c", "a"]), &all, 2), None);
        assert!(limit_difference(&answer(&["a"]), &all, 2).unwrap().starts_with("1 candidates instead of 2"));
        assert!(limit_difference(&answer(&["a", "x"]), &all, 2).unwrap().contains("there is no"));
        let mut wide = answer(&["a", "b"]);
        wide.summaries.insert("c".to_owned(), json!({"root_provider_uuid": "c"}));
        assert!(limit_difference(&wide, &all, 2).unwrap().contains("summaries instead of"));
    }
}
