//! `/resource_providers` and `/resource_providers/{uuid}` (document 51 section 4). It decides how a provider that was written is
//! shown; the rules of trees and names are the model's.

use axum::http::StatusCode;
use berth_placement_model::command::Parent;
use berth_placement_model::{Command, Key};
use serde::Serialize;

use super::call::Call;
use super::{no_provider, provider, untold, view, write};
use crate::answer::{Age, Answer};
use crate::api::Api;
use crate::bodies::providers::{creation, read, update as update_schema};
use crate::ledger::Written;
use crate::protocol::problem::Problem;
use crate::reads::{Detailed, Listed};
use crate::shapes;

/// From this version on POST shows what it has created.
const SHOWN: u8 = 20;
/// From this version on providers may change their place.
const REPARENTING: u8 = 37;

#[derive(Serialize)]
struct All {
    resource_providers: Vec<shapes::Provider>,
}

pub async fn list(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let found = view(api, call).await?.providers(&call.query, call.version)?;
    let age = Age::newest(found.iter().map(|provider| Some(provider.modified)));
    let shapes = found.iter().map(|provider| shapes::provider(provider, call.version));
    Ok(Answer::json(&All { resource_providers: shapes.collect() }, age))
}

pub async fn show(api: &Api, call: &Call) -> Result<Answer, Problem> {
    Ok(shown(&provider(api, call, "").await?.listed(), call))
}

pub async fn create(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let described = read(&call.json(creation(call.version))?);
    let uuid = described.uuid.unwrap_or_else(|| Key::new(&uuid::Uuid::new_v4().to_string()));
    let parent = if let Parent::Set(parent) = described.parent { parent } else { None };
    let url = call.url(&shapes::provider_path(uuid.as_str()));
    let written = write(api, call, Command::CreateProvider { uuid, name: described.name, parent }).await?;
    if !call.version.has(SHOWN) {
        return Ok(Answer::empty(StatusCode::CREATED).at(url));
    }
    Ok(shown(&named(api, call, written).await?, call).at(url))
}

pub async fn update(api: &Api, call: &Call) -> Result<Answer, Problem> {
    let uuid = provider(api, call, "").await?.state.uuid;
    let described = read(&call.json(update_schema(call.version))?);
    let reparents = call.version.has(REPARENTING);
    let command = Command::UpdateProvider { uuid, name: described.name, parent: described.parent, reparents };
    let written = write(api, call, command).await?;
    Ok(shown(&named(api, call, written).await?, call))
}

pub async fn delete(api: &Api, call: &Call) -> Result<Answer, Problem> {
    write(api, call, Command::DeleteProvider { uuid: call.key() }).await?;
    Ok(Answer::nothing())
}

fn shown(provider: &Listed, call: &Call) -> Answer {
    Answer::json(&shapes::provider(provider, call.version), Age::Since(provider.modified))
}

/// A provider that was written, with the UUIDs of its parent and root.
async fn named(api: &Api, call: &Call, written: Written) -> Result<Listed, Problem> {
    let state = written.provider.ok_or_else(untold)?;
    let view = view(api, call).await?;
    let parent = state.parent.and_then(|id| view.uuid(id));
    // Somebody may have deleted the root meanwhile, which is only possible after this provider.
    let root = view.uuid(state.root).ok_or_else(|| no_provider(state.uuid.as_str(), ""))?;
    Ok(Detailed { state: (*state).clone(), parent, root }.listed())
}
