//! The endpoints after the protocol: paths and bodies become questions and commands, outcomes become answers, in the
//! order of the checks of Placement.

pub mod call;

mod aggregates;
mod allocations;
mod candidates;
mod classes;
mod inventories;
mod inventory;
mod ledger;
mod provider_traits;
mod providers;
mod traits;
mod usages;

use berth_placement_model::Version;
use serde_json::json;

use crate::answer::{Answer, AnswerAge};
use crate::api::Api;
use crate::protocol::api_error::ApiError;
use crate::route::Action;
use call::Call;

pub async fn handle(api: &Api, action: Action, call: &Call) -> Result<Answer, ApiError> {
    match action {
        Action::ShowRoot => Ok(show()),
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

// GET `/`. It decides nothing.

pub fn show() -> Answer {
    let version = json!({
        "id": "v1.0",
        "max_version": Version::NEWEST.to_string(),
        "min_version": Version::OLDEST.to_string(),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": ""}],
    });
    Answer::json(&json!({ "versions": [version] }), AnswerAge::New)
}
