//! The controller of changes of commitments.

use berth_committed_resource::hold_released_capacity as hold;
use berth_liquid::changes::{ChangeController, Context, Settings};

use super::controllers::pauses;
use super::{Environment, Memory};

pub(super) fn controller(memory: &Memory, environment: &Environment<'_>) -> ChangeController {
    let stores = &memory.stores;
    ChangeController::new(Context {
        changes: environment.writer(&stores.changes),
        commitments: environment.writer(&stores.commitments),
        reservations: stores.reservations.clone(),
        routes: environment.routes.clone(),
        pauses: pauses(memory, environment),
        under_way: memory.changes_under_way.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.changes.clone(),
        settings: Settings { retention: environment.configuration.committed_resource_api.change_retention },
    })
}

/// Holds the capacity that changes of an earlier process have released, as far as it is still free.
pub(super) fn hold_released_capacity(memory: &Memory) -> impl Future<Output = ()> + Send + use<> {
    let memory = memory.clone();
    async move { hold(&memory.stores.changes, &memory.stores.reservations, &*memory.scheduler) }
}
