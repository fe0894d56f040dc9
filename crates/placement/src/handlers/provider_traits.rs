//! The traits of a provider.

use berth_placement_model::{Command, Model, ProviderState, TraitName};
use serde::Serialize;

use super::call::Call;
use super::ledger::{concurrent_update, model, no_provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::names::{TRAITS, traits};
use crate::protocol::api_error::ApiError;

#[derive(Serialize)]
struct Shape<'a> {
    traits: Vec<&'a str>,
    resource_provider_generation: i64,
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let model = model(api, call).await?;
    let found =
        model.provider(&call.key()).ok_or_else(|| no_provider(&call.key, &concurrent_update(&call.key, ": ")))?;
    Ok(shown(&found.state(), &model))
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let (traits, generation) = traits(&call.json(&TRAITS)?);
    let command = Command::SetTraits { provider: call.key(), generation, traits };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    Ok(shown(&state, &*model(api, call).await?))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteTraits { provider: call.key() }).await?;
    Ok(Answer::nothing())
}

fn shown(state: &ProviderState, model: &Model) -> Answer {
    let age = AnswerAge::newest(state.traits.iter().map(|name| model.a_trait(name)?.modified));
    let traits = state.traits.iter().map(TraitName::as_str).collect();
    Answer::json(&Shape { traits, resource_provider_generation: state.generation }, age)
}
