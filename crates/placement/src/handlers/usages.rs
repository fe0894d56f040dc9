//! Usages of a provider and of a project.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, Version};
use serde::Serialize;
use serde_json::{Value, json};

use super::call::Call;
use super::ledger::{concurrent_update, provider};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::queries::{all_together, usage_question, usages_schema};
use crate::ledger::Usage;
use crate::protocol::api_error::ApiError;
use crate::shapes::Amounts;

/// The name of the consumers without a type.
pub const UNKNOWN: &str = "unknown";

#[derive(Serialize)]
struct OfProvider {
    resource_provider_generation: i64,
    usages: Amounts,
}

pub async fn of_provider(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, &concurrent_update(&call.key, ": ")).await?;
    let usages = state.inventories.into_iter().map(|(class, held)| (class, held.used)).collect();
    let usages = OfProvider { resource_provider_generation: state.generation, usages: Amounts(usages) };
    Ok(Answer::json(&usages, AnswerAge::New))
}

pub async fn of_project(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let query = call.parameters(usages_schema(call.version))?;
    let usages = api.ledger.usages(usage_question(&query), call.until).await?;
    let shown = match (call.version.has(Version::CONSUMER_TYPES), all_together(&query)) {
        (false, _) => json!(Amounts(sum(&usages).1)),
        (true, true) if usages.is_empty() => json!({}),
        (true, true) => json!({ "all": group(sum(&usages)) }),
        (true, false) => sum_by_kind(usages),
    };
    Ok(Answer::json(&json!({ "usages": shown }), AnswerAge::New))
}

fn sum_by_kind(usages: Vec<Usage>) -> Value {
    let groups = usages.into_iter().map(|usage| {
        let kind = usage.kind.unwrap_or_else(|| UNKNOWN.to_owned());
        (kind, group((usage.consumers, usage.resources)))
    });
    Value::Object(groups.collect())
}

/// The number of consumers and the amounts of all types together.
fn sum(usages: &[Usage]) -> (u64, BTreeMap<ClassName, u64>) {
    let mut resources: BTreeMap<ClassName, u64> = BTreeMap::new();
    for (class, amount) in usages.iter().flat_map(|usage| &usage.resources) {
        let sum = resources.entry(class.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
    (usages.iter().map(|usage| usage.consumers).sum(), resources)
}

fn group((consumers, resources): (u64, BTreeMap<ClassName, u64>)) -> Value {
    let amounts = resources.into_iter().map(|(class, amount)| (class.to_string(), amount.into()));
    Value::Object(amounts.chain([("consumer_count".to_owned(), consumers.into())]).collect())
}
