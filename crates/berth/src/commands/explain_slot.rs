//! `berth explain slot`: where a slot is and should be, what it takes there, and what it waits for. What the operator would do
//! is asked of its controllers; what the screen says is decided in `report`, how it looks in `text`.

mod facts;
mod report;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_crds::ReservationType;
use berth_telemetry::clock::{Clock, SystemClock};

use super::{
    foreseeing::{self, Foresight},
    looking::Look,
    naming::{self, Called},
};
use crate::{args::SlotArguments, error::Error};
use facts::Facts;
use report::Account;

pub(super) fn run(arguments: &SlotArguments) -> Result<(), Error> {
    let explain = async |look: &Look| explain(look, &arguments.name, Arc::new(SystemClock)).await;
    foreseeing::show(&arguments.clusters, arguments.output, explain, text::text)
}

async fn explain(look: &Look, name: &str, clock: Arc<dyn Clock>) -> Result<Account, Error> {
    let key = find(look, name)?;
    let foresight = Foresight::new(look, clock).await?;
    let facts = Facts::gather(look, &foresight, &key);
    // It was there a moment ago, in the same memory.
    let facts = facts.ok_or_else(|| Error::Unknown { what: "slot", name: key.to_string(), hint: String::new() })?;
    Ok(report::report(&facts, &look.missing))
}

/// Reservations of other types are looked after by others.
fn find(look: &Look, name: &str) -> Result<ObjectKey, Error> {
    let store = &look.memory.stores.reservations;
    let key = naming::find(look, store, name, Called { what: "slot", kind: "Reservation" }, |_| Vec::new())?;
    match store.get(&key).map(|object| object.spec.type_) {
        Some(kind) if kind != ReservationType::CommittedResourceReservation => {
            Err(Error::NoSlot { name: key.to_string(), kind: kind.as_str() })
        }
        _ => Ok(key),
    }
}
