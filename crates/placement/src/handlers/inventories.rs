//! All inventories of a provider.

use berth_placement_model::provider::Held;
use berth_placement_model::{ClassName, Command, ProviderState};
use jiff::Timestamp;

use super::call::Call;
use super::ledger::{concurrent_update, known, provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::inventories::{ALL, generation, inventories, reserved_rule};
use crate::long_json::{LongJson, Member};
use crate::protocol::api_error::ApiError;
use crate::shapes::{Record, record, weight};
use crate::unread;

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let state = provider(api, call, &concurrent_update(&call.key, " : ")).await?;
    shown(api, call, &state).await
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
    let state = write(api, call, command).await?.provider.ok_or_else(unknown_outcome)?;
    shown(api, call, &state).await
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteInventories { provider: call.key() }).await?;
    Ok(Answer::nothing())
}

async fn shown(api: &Api, call: &Call, state: &ProviderState) -> Result<Answer, ApiError> {
    // Without inventories nothing has an age.
    let age = if state.inventories.is_empty() {
        AnswerAge::Unknown
    } else {
        AnswerAge::newest(state.inventories.values().map(|held| Some(modified(held))))
    };
    let records = state.inventories.iter().map(|(class, held)| Member(class.clone(), record(&held.inventory, None)));
    let records: Vec<Member<ClassName, Record>> = records.collect();
    let weight = size_of_val(records.as_slice()) + weight(state.inventories.keys());
    let open = format!(r#"{{"resource_provider_generation":{},"inventories":{{"#, state.generation);
    unread::answer(api, call.until, LongJson::new(open, records, "}}", weight), age).await
}

/// When an inventory was last changed, or created.
pub fn modified(held: &Held) -> Timestamp {
    held.updated_at.unwrap_or(held.created_at)
}
