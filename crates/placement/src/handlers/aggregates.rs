//! The aggregates of a provider, by microversion.

use berth_placement_model::{Command, Version};

use super::call::Call;
use super::ledger::{known, provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::aggregates::{read, schema};
use crate::long_json::{LongJson, Text};
use crate::protocol::api_error::ApiError;
use crate::shapes::weight;
use crate::unread;

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, "").await?;
    let aggregates = state.aggregates.into_iter().map(|aggregate| aggregate.sent).collect();
    shown(api, call, aggregates, state.generation).await
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let provider = known(api, call).await?;
    let (aggregates, generation) = read(&call.json(schema(call.version))?, call.version);
    let command = Command::SetAggregates { provider, generation, aggregates: aggregates.clone() };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    shown(api, call, aggregates, state.generation).await
}

async fn shown(api: &Api, call: &Call, aggregates: Vec<String>, generation: i64) -> Result<Answer, ApiError> {
    let close = if call.version.has(Version::AGGREGATE_GENERATIONS) {
        format!(r#"],"resource_provider_generation":{generation}}}"#)
    } else {
        "]}".to_owned()
    };
    let weight = weight(&aggregates);
    let pages = LongJson::new(r#"{"aggregates":["#, aggregates.into_iter().map(Text), close, weight);
    unread::answer(api, call.until, pages, AnswerAge::New).await
}
