//! Allocations of consumers and of providers, and the reshaper.

use berth_placement_model::key::canonical;
use berth_placement_model::{Command, Key, Version};
use serde::Serialize;

use super::call::Call;
use super::ledger::write;
use super::usages::UNKNOWN;
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::{allocations, reshape as reshape_body};
use crate::ledger::{ConsumerAmounts, ConsumerRecord};
use crate::long_json::{LongJson, Member};
use crate::protocol::api_error::ApiError;
use crate::shapes::{self, Amounts};
use crate::unread;

/// The members of a consumer beside its allocations.
#[derive(Serialize)]
struct Owner {
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_type: Option<String>,
}

#[derive(Serialize)]
struct AtProvider {
    resources: Amounts,
    generation: i64,
}

#[derive(Serialize)]
struct ByConsumer {
    resources: Amounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_generation: Option<i64>,
}

/// The beginning of both.
const OPEN: &str = r#"{"allocations":{"#;

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let Some(consumer) = api.ledger.consumer(&call.key(), call.until).await? else {
        return Ok(Answer::json(&serde_json::json!({ "allocations": {} }), AnswerAge::New));
    };
    let (close, age) = (close_consumer(&consumer, call.version), AnswerAge::Since(consumer.modified));
    let weight = consumer.allocations.iter().map(|(provider, _, amounts)| weight(provider, amounts.len())).sum();
    // In the order of the write, as in Placement: clients print them so.
    let allocations = consumer.allocations.into_iter().map(|(provider, generation, resources)| {
        Member(provider, AtProvider { resources: Amounts(resources.into_iter().collect()), generation })
    });
    let allocations: Vec<_> = allocations.collect();
    unread::answer(api, call.until, LongJson::new(OPEN, allocations, close, weight), age).await
}

/// The end of a response, behind the allocations.
fn close_consumer(consumer: &ConsumerRecord, version: Version) -> String {
    let kind = || consumer.kind.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let owner = Owner {
        project_id: version.has(Version::ALLOCATIONS_BY_PROVIDER).then(|| consumer.project.clone()),
        user_id: version.has(Version::ALLOCATIONS_BY_PROVIDER).then(|| consumer.user.clone()),
        consumer_generation: version.has(Version::CONSUMER_GENERATIONS).then_some(consumer.generation),
        consumer_type: version.has(Version::CONSUMER_TYPES).then(kind),
    };
    // A structure of texts and numbers always has a JSON.
    let members = serde_json::to_string(&owner).unwrap_or_default();
    match members.strip_prefix('{') {
        None | Some("}") => "}}".to_owned(),
        Some(members) => format!("}},{members}"),
    }
}

pub async fn of_provider(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let none = || {
        let key = &call.key;
        ApiError::not_found(format!("Resource provider '{key}' not found: No resource provider with uuid {key} found"))
    };
    let found = api.ledger.consumers_at(&call.key(), call.until).await?.ok_or_else(none)?;
    let has_generations = call.version.has(Version::CONSUMER_GENERATIONS);
    let weight = found.consumers.iter().map(|at| weight(&at.consumer, at.amounts.len())).sum();
    let allocations = found.consumers.into_iter().map(move |ConsumerAmounts { consumer, generation, amounts }| {
        let consumer_generation = has_generations.then_some(generation);
        Member(consumer, ByConsumer { resources: Amounts(amounts), consumer_generation })
    });
    let close = format!(r#"}},"resource_provider_generation":{}}}"#, found.generation);
    let pages = LongJson::new(OPEN, allocations, close, weight);
    unread::answer(api, call.until, pages, AnswerAge::newest([found.modified])).await
}

/// The memory that the allocations of a consumer at a provider take.
fn weight(key: &Key, classes: usize) -> usize {
    shapes::weight([key]) + shapes::weight_of_amounts(classes)
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
