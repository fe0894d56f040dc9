//! `berth explain commitment`: why a commitment is ready or not. What the operator would do is asked of its controllers;
//! what the screen says is decided in `course`, `steps` and `report`, how it looks in `text`.

mod claim;
mod course;
mod facts;
mod report;
mod steps;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use berth_cluster::{ObjectKey, indexes::COMMITMENT_BY_UUID};
use berth_telemetry::clock::{Clock, SystemClock};

use super::{
    foreseeing::{self, Foresight},
    looking::Look,
    naming::{self, Called},
};
use crate::{args::CommitmentArguments, error::Error};
use facts::Facts;
use report::Account;

pub(super) fn run(arguments: &CommitmentArguments) -> Result<(), Error> {
    let explain = async |look: &Look| explain(look, &arguments.name, Arc::new(SystemClock)).await;
    foreseeing::show(&arguments.clusters, arguments.output, explain, text::text)
}

async fn explain(look: &Look, name: &str, clock: Arc<dyn Clock>) -> Result<Account, Error> {
    let key = find(look, name)?;
    let foresight = Foresight::new(look, clock).await?;
    let facts = Facts::gather(&foresight, &key).await;
    // It was there a moment ago, in the same memory.
    let facts =
        facts.ok_or_else(|| Error::Unknown { what: "commitment", name: key.to_string(), hint: String::new() })?;
    Ok(report::report(&facts, &look.missing))
}

/// By name or by UUID.
fn find(look: &Look, name: &str) -> Result<ObjectKey, Error> {
    let store = &look.memory.stores.commitments;
    let called = Called { what: "commitment", kind: "CommittedResource" };
    naming::find(look, store, name, called, |uuid| {
        let readable = store.select(&COMMITMENT_BY_UUID, uuid).into_iter().map(|entry| entry.key);
        let malformed = store.malformed().into_iter().filter(|one| one.raw["spec"]["commitmentUUID"] == uuid);
        readable.chain(malformed.map(|one| one.key)).collect()
    })
}
