//! Usages of a provider and of a project.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, Version};

use super::call::Call;
use super::ledger::{concurrent_update, provider};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::queries::{all_together, usage_question, usages_schema};
use crate::ledger::Usage;
use crate::long_json::{LongJson, Member};
use crate::protocol::api_error::ApiError;
use crate::shapes::weight;
use crate::unread;

/// The name of the consumers without a type.
pub const UNKNOWN: &str = "unknown";

/// The member of a sum that is no class.
const CONSUMERS: &str = "consumer_count";

/// The beginning of what a project uses: by class or type, and of all types together.
const OPEN: &str = r#"{"usages":{"#;
const OPEN_ALL: &str = r#"{"usages":{"all":{"#;

/// A class or [`CONSUMERS`], and how much of it.
type Amount = Member<String, u64>;

pub async fn of_provider(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, &concurrent_update(&call.key, ": ")).await?;
    let used = state.inventories.into_iter().map(|(class, held)| Member(class.to_string(), held.used));
    let open = format!(r#"{{"resource_provider_generation":{},"usages":{{"#, state.generation);
    answer(api, call, &open, used.collect(), "}}").await
}

pub async fn of_project(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let query = call.parameters(usages_schema(call.version))?;
    let usages = api.ledger.usages(usage_question(&query), call.until).await?;
    match (call.version.has(Version::CONSUMER_TYPES), all_together(&query)) {
        (false, _) => answer(api, call, OPEN, amounts(sum(&usages).1), "}}").await,
        (true, true) if usages.is_empty() => answer(api, call, OPEN, Vec::new(), "}}").await,
        (true, true) => answer(api, call, OPEN_ALL, group(sum(&usages)), "}}}").await,
        (true, false) => by_kind(api, call, usages).await,
    }
}

async fn answer(api: &Api, call: &Call, open: &str, amounts: Vec<Amount>, close: &str) -> Result<Answer, ApiError> {
    let weight = size_of_val(amounts.as_slice()) + weight(amounts.iter().map(|amount| &amount.0));
    unread::answer(api, call.until, LongJson::new(open, amounts, close, weight), AnswerAge::New).await
}

/// One member for each type, in the order of their names.
async fn by_kind(api: &Api, call: &Call, usages: Vec<Usage>) -> Result<Answer, ApiError> {
    let kinds = usages.into_iter().map(|usage| {
        let kind = usage.kind.unwrap_or_else(|| UNKNOWN.to_owned());
        (kind, (usage.consumers, usage.resources))
    });
    let kinds: BTreeMap<String, _> = kinds.collect();
    let weight = weight(kinds.keys()) + kinds.values().map(|sum| weight(sum.1.keys())).sum::<usize>();
    let members = kinds.into_iter().map(|(kind, sum)| {
        let amounts: BTreeMap<_, _> = group(sum).into_iter().map(|Member(name, amount)| (name, amount)).collect();
        Member(kind, amounts)
    });
    unread::answer(api, call.until, LongJson::new(OPEN, members, "}}", weight), AnswerAge::New).await
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

fn amounts(resources: BTreeMap<ClassName, u64>) -> Vec<Amount> {
    resources.into_iter().map(|(class, amount)| Member(class.to_string(), amount)).collect()
}

/// Names of classes are capital letters, so the number of consumers comes last.
fn group((consumers, resources): (u64, BTreeMap<ClassName, u64>)) -> Vec<Amount> {
    let mut group = amounts(resources);
    group.push(Member(CONSUMERS.to_owned(), consumers));
    group
}
