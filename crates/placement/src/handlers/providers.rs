//! `/resource_providers` and `/resource_providers/{uuid}`.

use axum::http::StatusCode;
use berth_placement_model::command::Parent;
use berth_placement_model::model::Provider;
use berth_placement_model::{Command, Key, ProviderId, Version, parse};
use jiff::Timestamp;

use super::call::Call;
use super::ledger::{known, model, no_provider, unknown_outcome, write};
use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::bodies::providers::{creation, read, update as update_schema};
use crate::ledger::Written;
use crate::long_json::{Item, LongJson};
use crate::protocol::api_error::ApiError;
use crate::{shapes, unread};

pub async fn list(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let question = parse::providers(&call.query, call.version)?;
    let model = model(api, call).await?;
    let found = model.list(&question)?;
    let age = AnswerAge::newest(found.iter().map(|provider| Some(modified(*provider))));
    let numbers: Vec<ProviderId> = found.iter().map(Provider::id).collect();
    let (weight, version) = (size_of_val(numbers.as_slice()), call.version);
    // The state of the model in which they were found has all of them.
    let shown = move |number| Some(Item(shapes::provider(model.by_number(number)?, version)));
    let shapes = numbers.into_iter().filter_map(shown);
    unread::answer(api, call.until, LongJson::new(r#"{"resource_providers":["#, shapes, "]}", weight), age).await
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let model = model(api, call).await?;
    let found = model.provider(&call.key()).ok_or_else(|| no_provider(&call.key, ""))?;
    Ok(Answer::json(&shapes::provider(found, call.version), AnswerAge::Since(modified(found))))
}

fn modified(provider: Provider<'_>) -> Timestamp {
    provider.updated_at().unwrap_or(provider.created_at())
}

pub async fn create(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let described = read(&call.json(creation(call.version))?);
    let uuid = described.uuid.unwrap_or_else(|| Key::new(&uuid::Uuid::new_v4().to_string()));
    let parent = if let Parent::Set(parent) = described.parent { parent } else { None };
    let url = shapes::provider_path(uuid.as_str());
    let written = write(api, call, Command::CreateProvider { uuid, name: described.name, parent }).await?;
    if !call.version.has(Version::PROVIDER_SHOWN) {
        return Ok(Answer::empty(StatusCode::CREATED).at(url));
    }
    Ok(shown(api, call, written).await?.at(url))
}

pub async fn update(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    let uuid = known(api, call).await?;
    let described = read(&call.json(update_schema(call.version))?);
    let reparents = call.version.has(Version::REPARENTING);
    let command = Command::UpdateProvider { uuid, name: described.name, parent: described.parent, reparents };
    let written = write(api, call, command).await?;
    shown(api, call, written).await
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, ApiError> {
    write(api, call, Command::DeleteProvider { uuid: call.key() }).await?;
    Ok(Answer::nothing())
}

/// A provider that was written, with the UUIDs of its parent and root.
async fn shown(api: &Api, call: &Call, written: Written) -> Result<Answer, ApiError> {
    let state = written.provider.ok_or_else(unknown_outcome)?;
    let model = model(api, call).await?;
    let uuid = |id| model.by_number(id).map(|provider| provider.uuid().clone());
    // The root is only missing if another request has deleted the provider meanwhile.
    let (parent, root) = (state.parent.and_then(uuid), uuid(state.root).unwrap_or_else(|| state.uuid.clone()));
    let shape = shapes::provider_of(&state.uuid, &state.name, state.generation, parent, &root, call.version);
    Ok(Answer::json(&shape, AnswerAge::Since(state.updated_at.unwrap_or(state.created_at))))
}
