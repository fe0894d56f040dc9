//! `berth explain slot`: where a slot is and should be, what it blocks on its hosts, and what it waits for.

mod facts;
mod report;
#[cfg(test)]
pub(super) mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use berth_cluster::{ObjectKey, ReadBy};
use berth_crds::ReservationType;
use berth_scheduler_api::explain::Subject;
use berth_telemetry::clock::{Clock, SystemClock};

use super::cluster_snapshot::ClusterSnapshot;
use super::dry_run::{self, OperatorDryRun};
use super::leader::{AskedOperator, asking};
use super::next_step;
use super::object_lookup::{self, KindName};
use super::reasons::ExplainedCondition;
use super::table::{row, table};
use super::times::moment;
use super::vms::VmRow;
use crate::args::SlotArguments;
use crate::error::Error;
use facts::ExplainedSlot;
use report::{BlockOn, SlotReport};

pub(super) fn run(arguments: &SlotArguments) -> Result<(), Error> {
    let explain = async |snapshot: &ClusterSnapshot| {
        explain(snapshot, &arguments.name, Arc::new(SystemClock), asking(snapshot, &arguments.leader)).await
    };
    dry_run::show(&arguments.clusters, ReadBy::Controllers, arguments.output, explain, text)
}

async fn explain(
    snapshot: &ClusterSnapshot,
    name: &str,
    clock: Arc<dyn Clock>,
    ask: impl AsyncFnOnce(&Subject) -> AskedOperator,
) -> Result<SlotReport, Error> {
    let key = find(snapshot, name)?;
    let asked = ask(&Subject::Slot(key.clone())).await;
    let object = snapshot.memory.stores.reservations.get(&key);
    let zone = object.as_ref().and_then(|object| object.spec.availability_zone.as_deref());
    let dry_run = OperatorDryRun::new(snapshot, clock, zone, asked).await?;
    let facts = ExplainedSlot::gather(snapshot, &dry_run, &key);
    // It was there a moment ago, in the same memory.
    let facts = facts.ok_or_else(|| Error::Unknown { what: "slot", name: key.to_string(), hint: String::new() })?;
    Ok(report::report(&facts, &dry_run.asked, &snapshot.missing))
}

/// Reservations of other types belong to other clients.
fn find(snapshot: &ClusterSnapshot, name: &str) -> Result<ObjectKey, Error> {
    let store = &snapshot.memory.stores.reservations;
    let key =
        object_lookup::find(snapshot, store, name, KindName { what: "slot", kind: "Reservation" }, |_| Vec::new())?;
    match store.get(&key).map(|object| object.spec.type_) {
        Some(kind) if kind != ReservationType::CommittedResourceReservation => {
            Err(Error::NoSlot { name: key.to_string(), kind: kind.as_str() })
        }
        _ => Ok(key),
    }
}

// Formats the report as text.

fn text(account: &SlotReport) -> String {
    let mut text = ExplainedCondition::format_extra_conditions(&account.extra_conditions, account.now);
    text.push_str(&ClusterSnapshot::heading(&account.missing));
    text.push_str(&head(account));
    text.push('\n');
    text.push_str(&ExplainedCondition::lines(account.ready.as_ref(), account.now));
    let _ = writeln!(text, "\nNow\n  {}", account.state.replace('\n', " "));
    text.push_str(&vms(&account.vms));
    text.push_str(&account.operator.placements());
    text.push_str(&next_step::lines(&account.next, account.now));
    let _ = writeln!(text, "\n{}", account.operator.closing_line());
    text
}

fn head(account: &SlotReport) -> String {
    let mut rows = vec![
        row(["Commitment", &owner(account)]),
        row(["Project", &account.project]),
        row(["Size", &format!("{}, {} of {}", account.size.format(), account.flavor, account.group)]),
        row(["Host", &host(account)]),
    ];
    rows.extend(account.blocks.iter().map(|one| row(["Blocks", &blocks(one)])));
    if let Some(end) = account.end {
        rows.push(row(["End", &moment(end, account.now)]));
    }
    let title = format!("Slot {} in zone {}, cluster {}\n", account.slot, account.zone, account.cluster);
    title + &table(&rows, &[])
}

fn owner(account: &SlotReport) -> String {
    let owner = &account.commitment;
    let reason = owner.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
    match &owner.objects[..] {
        [] => format!("NONE has the UUID {}", owner.uuid),
        [one] => format!("{one}{reason}"),
        all => format!("SEVERAL have the UUID {}: {}", owner.uuid, all.join(", ")),
    }
}

fn host(account: &SlotReport) -> String {
    match (&account.target_host, &account.status_host) {
        (None, None) => "none".to_owned(),
        (None, Some(is)) => format!("none; its status still says {is}"),
        (Some(target), None) => format!("{target}, where it is not in force yet"),
        (Some(target), Some(is)) if target == is => target.clone(),
        (Some(target), Some(is)) => format!("should be on {target}, is on {is}"),
    }
}

fn blocks(one: &BlockOn) -> String {
    let Some(amount) = one.blocks else { return format!("nothing on {}, which is not known", one.host) };
    let overbooked = if one.overbooked { "; this host is OVER-BOOKED" } else { "" };
    format!("{} on {}, besides the VMs that are there{overbooked}", amount.format(), one.host)
}

fn vms(all: &[VmRow]) -> String {
    if all.is_empty() {
        return "\nNo VM is expected in it.\n".to_owned();
    }
    let line = |vm: &VmRow| vec![vm.vm.clone(), vm.size.format(), vm.state.clone()];
    let rows: Vec<_> = [row(["VM", "SIZE", "WHERE"])].into_iter().chain(all.iter().map(line)).collect();
    format!("\nVMs that are expected in it\n{}", table(&rows, &[]))
}
