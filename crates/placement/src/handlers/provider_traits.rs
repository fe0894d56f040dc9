//! The traits of a provider.

use berth_placement_model::{Command, Model, ProviderState, TraitName};

use super::call::Call;
use super::ledger::{concurrent_update, model, no_provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::names::{TRAITS, traits};
use crate::long_json::{LongJson, Text};
use crate::protocol::api_error::ApiError;
use crate::shapes::weight;
use crate::unread;

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let model = model(api, call).await?;
    let found =
        model.provider(&call.key()).ok_or_else(|| no_provider(&call.key, &concurrent_update(&call.key, ": ")))?;
    shown(api, call, &found.state(), &model).await
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let (traits, generation) = traits(&call.json(&TRAITS)?);
    let command = Command::SetTraits { provider: call.key(), generation, traits };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    let model = model(api, call).await?;
    shown(api, call, &state, &model).await
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteTraits { provider: call.key() }).await?;
    Ok(Answer::nothing())
}

async fn shown(api: &Api, call: &Call, state: &ProviderState, model: &Model) -> Result<Answer, ApiError> {
    let age = AnswerAge::newest(state.traits.iter().map(|name| model.a_trait(name)?.modified));
    let names: Vec<TraitName> = state.traits.iter().cloned().collect();
    let weight = weight(&names);
    let close = format!(r#"],"resource_provider_generation":{}}}"#, state.generation);
    unread::answer(api, call.until, LongJson::new(r#"{"traits":["#, names.into_iter().map(Text), close, weight), age)
        .await
}
