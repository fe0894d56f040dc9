//! Answers about candidates as comparable values, independent of the order of requests and providers.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::question::CandidatesQuestion;
use berth_placement_model::{Inventory, ProviderId, Version};
use serde_json::{Map, Value, json};

use super::cloud::{Cloud, Mappings, Total};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Sorted requests, so that equal multisets are equal.
    pub requests: Vec<Value>,
    pub summaries: Map<String, Value>,
    /// The summaries of each request, as if it were the only one.
    pub alone: Vec<BTreeSet<String>>,
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "integers are below 2^31")]
pub fn capacity(inventory: &Inventory) -> i64 {
    ((inventory.total as f64 - inventory.reserved as f64) * inventory.allocation_ratio).trunc() as i64
}

pub fn read(body: &[u8]) -> Option<Answer> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let requests = body.get("allocation_requests")?.as_array()?.iter().map(in_one_order).collect();
    let mut summaries = body.get("provider_summaries")?.as_object()?.clone();
    for summary in summaries.values_mut() {
        sort(summary.get_mut("traits"));
    }
    let alone = Vec::new();
    Some(Answer { requests, summaries, alone })
}

fn in_one_order(request: &Value) -> Value {
    let mut request = request.clone();
    sort(request.get_mut("allocations"));
    for providers in request.get_mut("mappings").and_then(Value::as_object_mut).into_iter().flatten() {
        sort(Some(providers.1));
    }
    request
}

fn sort(list: Option<&mut Value>) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
}

pub fn answer(cloud: &Cloud, question: &CandidatesQuestion, requests: &BTreeSet<(Total, Mappings)>) -> Answer {
    let mut pairs: Vec<(Value, BTreeSet<String>)> = Vec::new();
    let mut summaries = Map::new();
    for (total, mappings) in requests {
        let shown = summarized(cloud, question, total);
        let uuids = shown.iter().map(|id| cloud.providers[id].uuid.to_string()).collect();
        pairs.push((in_one_order(&request(cloud, question, total, mappings)), uuids));
        for id in shown {
            summaries.insert(cloud.providers[&id].uuid.to_string(), summary(cloud, question, id));
        }
    }
    pairs.sort_by_key(|pair| pair.0.to_string());
    let (requests, alone) = pairs.into_iter().unzip();
    Answer { requests, summaries, alone }
}

fn uuid(cloud: &Cloud, id: ProviderId) -> String {
    cloud.providers[&id].uuid.to_string()
}

fn request(cloud: &Cloud, question: &CandidatesQuestion, total: &Total, mappings: &Mappings) -> Value {
    let mut by_provider: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for ((id, class), amount) in total {
        by_provider.entry(uuid(cloud, *id)).or_default().insert(class.to_string(), json!(amount));
    }
    if !question.version.has(Version::ALLOCATIONS_BY_PROVIDER) {
        let list: Vec<Value> = by_provider
            .into_iter()
            .map(|(uuid, resources)| json!({"resource_provider": {"uuid": uuid}, "resources": resources}))
            .collect();
        return json!({ "allocations": list });
    }
    let map: Map<String, Value> =
        by_provider.into_iter().map(|(uuid, resources)| (uuid, json!({ "resources": resources }))).collect();
    if !question.version.has(Version::MAPPINGS) {
        return json!({ "allocations": map });
    }
    let mappings: Map<String, Value> = mappings
        .iter()
        .map(|(suffix, ids)| (suffix.clone(), ids.iter().map(|id| uuid(cloud, *id)).collect()))
        .collect();
    json!({ "allocations": map, "mappings": mappings })
}

fn summarized(cloud: &Cloud, question: &CandidatesQuestion, total: &Total) -> BTreeSet<ProviderId> {
    let used = total.keys().map(|key| key.0);
    if question.version.has(Version::NESTED_CANDIDATES) {
        used.flat_map(|id| cloud.tree(id)).collect()
    } else {
        used.collect()
    }
}

fn summary(cloud: &Cloud, question: &CandidatesQuestion, id: ProviderId) -> Value {
    let provider = &cloud.providers[&id];
    let is_asked = |class: &str| {
        question.groups.iter().any(|(_, group)| group.resources.iter().any(|one| one.0.as_str() == class))
    };
    let shown = provider
        .inventories
        .iter()
        .filter(|one| question.version.has(Version::ALL_CLASSES_SUMMARIZED) || is_asked(one.0.as_str()));
    let resources: Map<String, Value> = shown
        .map(|(class, held)| (class.to_string(), json!({"capacity": capacity(&held.inventory), "used": held.used})))
        .collect();
    let mut summary = json!({ "resources": resources });
    if question.version.has(Version::REQUIRED_TRAITS) {
        summary["traits"] = provider.traits.iter().map(ToString::to_string).collect();
        sort(summary.get_mut("traits"));
    }
    if question.version.has(Version::NESTED_CANDIDATES) {
        summary["parent_provider_uuid"] = json!(provider.parent.map(|parent| uuid(cloud, parent)));
        summary["root_provider_uuid"] = json!(uuid(cloud, provider.root));
    }
    summary
}
