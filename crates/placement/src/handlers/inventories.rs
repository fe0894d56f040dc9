//! All inventories of a provider.

use berth_placement_model::provider::Held;
use berth_placement_model::{Command, ProviderState};
use jiff::Timestamp;

use super::call::Call;
use super::ledger::{concurrent_update, known, provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::inventories::{ALL, generation, inventories, reserved_rule};
use crate::protocol::api_error::ApiError;
use crate::shapes::{Records, record};

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    Ok(shown(&provider(api, call, &concurrent_update(&call.key, " : ")).await?))
}

pub async fn set(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let provider = known(api, call).await?;
    let body = call.json(&ALL)?;
    let command = Command::SetInventories {
        provider,
        generation: generation(&body),
        inventories: inventories(&body),
        reserved: reserved_rule(call.version),
    };
    Ok(shown(&*write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteInventories { provider: call.key() }).await?;
    Ok(Answer::nothing())
}

fn shown(state: &ProviderState) -> Answer {
    let inventories = state.inventories.iter().map(|(class, held)| (class.to_string(), record(&held.inventory, None)));
    let all = Records { resource_provider_generation: state.generation, inventories: inventories.collect() };
    // Without inventories nothing has an age.
    let age = if state.inventories.is_empty() {
        AnswerAge::Unknown
    } else {
        AnswerAge::newest(state.inventories.values().map(|held| Some(modified(held))))
    };
    Answer::json(&all, age)
}

/// When an inventory was last changed, or created.
pub fn modified(held: &Held) -> Timestamp {
    held.updated_at.unwrap_or(held.created_at)
}
