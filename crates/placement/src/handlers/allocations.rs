//! Allocations of consumers and of providers, and the reshaper.

use std::collections::BTreeMap;

use berth_placement_model::key::canonical;
use berth_placement_model::{Command, Version};
use serde::{Serialize, Serializer};

use super::call::Call;
use super::ledger::write;
use super::usages::UNKNOWN;
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::{allocations, reshape as reshape_body};
use crate::ledger::ConsumerRecord;
use crate::protocol::api_error::ApiError;
use crate::shapes::Amounts;

#[derive(Serialize)]
struct OfConsumer {
    allocations: InOrder,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_type: Option<String>,
}

/// Members in the order of the write, as in Placement: clients print them so.
struct InOrder(Vec<(String, AtProvider)>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(provider, at)| (provider, at)))
    }
}

#[derive(Serialize)]
struct AtProvider {
    resources: Amounts,
    generation: i64,
}

#[derive(Serialize)]
struct OfProvider {
    allocations: BTreeMap<String, ByConsumer>,
    resource_provider_generation: i64,
}

#[derive(Serialize)]
struct ByConsumer {
    resources: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let found = api.ledger.consumer(&call.key(), call.until).await?;
    Ok(match found {
        Some(consumer) => {
            Answer::json(&render_consumer_allocations(&consumer, call.version), AnswerAge::Since(consumer.modified))
        }
        None => Answer::json(&serde_json::json!({ "allocations": {} }), AnswerAge::New),
    })
}

fn render_consumer_allocations(consumer: &ConsumerRecord, version: Version) -> OfConsumer {
    let at = |(provider, generation, resources): &(berth_placement_model::Key, i64, BTreeMap<_, _>)| {
        (provider.to_string(), AtProvider { resources: Amounts(resources.clone()), generation: *generation })
    };
    let kind = || consumer.kind.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    OfConsumer {
        allocations: InOrder(consumer.allocations.iter().map(at).collect()),
        project_id: version.has(Version::ALLOCATIONS_BY_PROVIDER).then(|| consumer.project.clone()),
        user_id: version.has(Version::ALLOCATIONS_BY_PROVIDER).then(|| consumer.user.clone()),
        consumer_generation: version.has(Version::CONSUMER_GENERATIONS).then_some(consumer.generation),
        consumer_type: version.has(Version::CONSUMER_TYPES).then(kind),
    }
}

pub async fn of_provider(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let none = || {
        let key = &call.key;
        ApiError::not_found(format!("Resource provider '{key}' not found: No resource provider with uuid {key} found"))
    };
    let found = api.ledger.consumers_at(&call.key(), call.until).await?.ok_or_else(none)?;
    let by_consumer = |(consumer, (generation, resources)): (berth_placement_model::Key, (i64, BTreeMap<_, _>))| {
        let consumer_generation = call.version.has(Version::CONSUMER_GENERATIONS).then_some(generation);
        (consumer.to_string(), ByConsumer { resources: Amounts(resources), consumer_generation })
    };
    let shape = OfProvider {
        allocations: found.consumers.into_iter().map(by_consumer).collect(),
        resource_provider_generation: found.generation,
    };
    Ok(Answer::json(&shape, AnswerAge::newest([found.modified])))
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    if canonical(&call.key).is_none() {
        return Err(ApiError::invalid(format!("Malformed consumer_uuid: {}", call.key)));
    }
    let body = call.json(allocations::put(call.version))?;
    write(api, call, Command::SetAllocations(allocations::read(call.key(), &body, call.version))).await?;
    Ok(Answer::nothing())
}

pub async fn set_many(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let body = call.json(allocations::post(call.version))?;
    write(api, call, Command::SetManyAllocations(allocations::read_many(&body, call.version))).await?;
    Ok(Answer::nothing())
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteAllocations { consumer: call.key() }).await?;
    Ok(Answer::nothing())
}

pub async fn reshape(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let body = call.json(reshape_body::schema(call.version))?;
    let (inventories, allocations) = reshape_body::read(&body, call.version);
    write(api, call, Command::Reshape { inventories, allocations }).await?;
    Ok(Answer::nothing())
}
