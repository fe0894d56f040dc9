//! The aggregates of a provider, by microversion.

use berth_placement_model::{Command, Version};
use serde::Serialize;

use super::call::Call;
use super::ledger::{known, provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::aggregates::{read, schema};
use crate::protocol::api_error::ApiError;

#[derive(Serialize)]
struct Shape {
    aggregates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_provider_generation: Option<i64>,
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, "").await?;
    let aggregates = state.aggregates.into_iter().map(|aggregate| aggregate.sent).collect();
    Ok(shown(aggregates, state.generation, call.version))
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let provider = known(api, call).await?;
    let (aggregates, generation) = read(&call.json(schema(call.version))?, call.version);
    let command = Command::SetAggregates { provider, generation, aggregates: aggregates.clone() };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    Ok(shown(aggregates, state.generation, call.version))
}

fn shown(aggregates: Vec<String>, generation: i64, version: Version) -> Answer {
    let resource_provider_generation = version.has(Version::AGGREGATE_GENERATIONS).then_some(generation);
    Answer::json(&Shape { aggregates, resource_provider_generation }, AnswerAge::New)
}
