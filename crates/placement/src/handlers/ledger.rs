//! Calls of handlers to the ledger.

use std::sync::Arc;

use berth_placement_model::{Command, Key, Model, ProviderState};

use super::call::Call;
use crate::api::Api;
use crate::ledger::Written;
use crate::protocol::api_error::ApiError;

pub(super) async fn model(api: &Api, call: &Call) -> Result<Arc<Model>, ApiError> {
    Ok(api.ledger.model(call.until).await?)
}

/// The provider of the path, else 404 with this addition to the text.
pub(super) async fn provider(api: &Api, call: &Call, addition: &str) -> Result<ProviderState, ApiError> {
    let model = model(api, call).await?;
    let found = model.provider(&call.key()).map(|provider| provider.state());
    found.ok_or_else(|| no_provider(&call.key, addition))
}

/// The key of the provider of the path, else 404: before a body is read.
pub(super) async fn known(api: &Api, call: &Call) -> Result<Key, ApiError> {
    let key = call.key();
    let is_known = model(api, call).await?.provider(&key).is_some();
    if is_known { Ok(key) } else { Err(no_provider(&call.key, "")) }
}

pub(super) fn no_provider(key: &str, addition: &str) -> ApiError {
    ApiError::not_found(format!("No resource provider with uuid {key} found{addition}"))
}

/// The suffix that GET adds to its 404, which repeats the text.
pub(super) fn concurrent_update(key: &str, between: &str) -> String {
    format!("{between}No resource provider with uuid {key} found")
}

pub(super) async fn write(api: &Api, call: &Call, command: Command) -> Result<Written, ApiError> {
    let written = api.ledger.write(command, call.until).await?;
    for consumer in &written.disowned {
        tracing::warn!(%consumer, version = %call.version, "a request without an owner moved a consumer to another project; its client should use microversion 1.8 or newer");
    }
    Ok(written)
}

/// The ledger does not report the result for a provider that it has written.
pub(super) fn unknown_outcome() -> ApiError {
    ApiError::unavailable("it was done, but what became of it is not known; read it")
}
