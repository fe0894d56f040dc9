//! One inventory of a provider.

use axum::http::StatusCode;
use berth_placement_model::{ClassName, Command, ProviderState};

use super::call::Call;
use super::inventories::modified;
use super::ledger::{concurrent_update, known, provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::inventories::{ADDED, ONE, class, generation, inventory, reserved_rule};
use crate::protocol::api_error::ApiError;
use crate::shapes::{provider_path, record};

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, &concurrent_update(&call.key, " : ")).await?;
    let none = || ApiError::not_found(format!("No inventory of class {} for {}", call.name, call.key));
    shown(&state, &ClassName::new(&call.name)).ok_or_else(none)
}

pub async fn create(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let provider = known(api, call).await?;
    let body = call.json(&ADDED)?;
    let class = class(&body);
    let url = format!("{}/inventories/{class}", provider_path(provider.as_str()));
    let inventory = inventory(&body);
    let reserved = reserved_rule(call.version);
    let command = Command::AddInventory { provider, class: class.clone(), inventory, reserved };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    Ok(shown(&state, &class).ok_or_else(unknown_outcome)?.with_status(StatusCode::CREATED).at(url))
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let provider = known(api, call).await?;
    let body = call.json(&ONE)?;
    let class = ClassName::new(&call.name);
    let command = Command::SetInventory {
        provider,
        generation: generation(&body),
        class: class.clone(),
        inventory: inventory(&body),
        reserved: reserved_rule(call.version),
    };
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    shown(&state, &class).ok_or_else(unknown_outcome)
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let command = Command::DeleteInventory { provider: call.key(), class: ClassName::new(&call.name) };
    write(api, call, command).await?;
    Ok(Answer::nothing())
}

fn shown(state: &ProviderState, class: &ClassName) -> Option<Answer> {
    let held = state.inventories.get(class)?;
    Some(Answer::json(&record(&held.inventory, Some(state.generation)), AnswerAge::Since(modified(held))))
}
