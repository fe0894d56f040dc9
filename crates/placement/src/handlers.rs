//! What each endpoint does, after the protocol: paths and bodies become questions and commands, outcomes become answers. They
//! decide the order of the tables of document 51 section 1.1 from the path object on; whether a write may happen is decided by
//! the model inside the ledger's transaction.

pub mod call;

mod aggregates;
mod allocations;
mod candidates;
mod classes;
mod inventories;
mod inventory;
mod provider_traits;
mod providers;
mod root;
mod traits;
mod usages;

use std::sync::Arc;

use berth_placement_model::{Command, Key, Model, ProviderState};

use crate::{answer::Answer, api::Api, ledger::Written, protocol::problem::Problem, route::Action};
use call::Call;

/// Does it.
pub async fn handle(api: &Api, action: Action, call: &Call) -> Result<Answer, Problem> {
    match action {
        Action::ShowRoot => Ok(root::show()),
        Action::ListProviders => providers::list(api, call).await,
        Action::CreateProvider => providers::create(api, call).await,
        Action::ShowProvider => providers::show(api, call).await,
        Action::DeleteProvider => providers::delete(api, call).await,
        Action::UpdateProvider => providers::update(api, call).await,
        Action::ListInventories => inventories::list(api, call).await,
        Action::CreateInventory => inventory::create(api, call).await,
        Action::SetInventories => inventories::set(api, call).await,
        Action::DeleteInventories => inventories::delete(api, call).await,
        Action::ShowInventory => inventory::show(api, call).await,
        Action::SetInventory => inventory::set(api, call).await,
        Action::DeleteInventory => inventory::delete(api, call).await,
        Action::ShowProviderUsages => usages::of_provider(api, call).await,
        Action::ShowAggregates => aggregates::show(api, call).await,
        Action::SetAggregates => aggregates::set(api, call).await,
        Action::ShowProviderTraits => provider_traits::show(api, call).await,
        Action::SetProviderTraits => provider_traits::set(api, call).await,
        Action::DeleteProviderTraits => provider_traits::delete(api, call).await,
        Action::ShowProviderAllocations => allocations::of_provider(api, call).await,
        Action::ListClasses => classes::list(api, call).await,
        Action::CreateClass => classes::create(api, call).await,
        Action::ShowClass => classes::show(api, call).await,
        Action::PutClass => classes::put(api, call).await,
        Action::DeleteClass => classes::delete(api, call).await,
        Action::ListTraits => traits::list(api, call).await,
        Action::ShowTrait => traits::show(api, call).await,
        Action::PutTrait => traits::put(api, call).await,
        Action::DeleteTrait => traits::delete(api, call).await,
        Action::SetManyAllocations => allocations::set_many(api, call).await,
        Action::ShowAllocations => allocations::show(api, call).await,
        Action::SetAllocations => allocations::set(api, call).await,
        Action::DeleteAllocations => allocations::delete(api, call).await,
        Action::ShowUsages => usages::of_project(api, call).await,
        Action::ListCandidates => candidates::list(api, call).await,
        Action::Reshape => allocations::reshape(api, call).await,
    }
}

/// One state to answer from.
async fn model(api: &Api, call: &Call) -> Result<Arc<Model>, Problem> {
    Ok(api.ledger.model(call.until).await?)
}

/// The provider of the path, else 404 with this addition to the text.
async fn provider(api: &Api, call: &Call, addition: &str) -> Result<ProviderState, Problem> {
    let model = model(api, call).await?;
    let found = model.provider(&call.key()).map(|provider| provider.state());
    found.ok_or_else(|| no_provider(&call.key, addition))
}

/// The key of the provider of the path, else 404: before a body is looked at (document 51 section 1.1).
async fn known(api: &Api, call: &Call) -> Result<Key, Problem> {
    let key = call.key();
    let is_known = model(api, call).await?.provider(&key).is_some();
    if is_known { Ok(key) } else { Err(no_provider(&call.key, "")) }
}

fn no_provider(key: &str, addition: &str) -> Problem {
    Problem::not_found(format!("No resource provider with uuid {key} found{addition}"))
}

/// What GET adds to its 404: the same once more (document 51 section 5).
fn again(key: &str, between: &str) -> String {
    format!("{between}No resource provider with uuid {key} found")
}

async fn write(api: &Api, call: &Call, command: Command) -> Result<Written, Problem> {
    let written = api.ledger.write(command, call.until).await?;
    for consumer in &written.disowned {
        tracing::warn!(%consumer, version = %call.version, "a request that names no owner has taken a consumer from its project: its client should use microversion 1.8 or newer");
    }
    Ok(written)
}

/// A ledger that does not say what became of a provider that it has written to.
fn untold() -> Problem {
    Problem::unavailable("it was done, but what became of it is not known; read it")
}
