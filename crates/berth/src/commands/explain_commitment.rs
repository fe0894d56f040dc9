//! `berth explain commitment`: why a commitment is or is not ready. The facts come from a dry run of the controllers,
//! the report is a value, and the text is a rendering of it.

mod change;
mod claim;
mod facts;
mod report;
mod steps;
#[cfg(test)]
pub(super) mod tests;
mod usage;
mod verdict;

use std::fmt::Write as _;
use std::sync::Arc;

use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_cluster::{ObjectKey, ReadBy};
use berth_scheduler_api::explain::Subject;
use berth_telemetry::clock::{Clock, SystemClock};

use super::cluster_snapshot::ClusterSnapshot;
use super::dry_run::{self, OperatorDryRun};
use super::leader::{AskedOperator, asking};
use super::object_lookup::{self, KindName};
use super::reasons::ExplainedCondition;
use super::table::{row, table};
use super::times::moment;
use super::vms::VmRow;
use super::{claims, next_step};
use crate::args::CommitmentArguments;
use crate::error::Error;
use crate::wiring::read_vms;
use change::OpenChange;
use facts::ExplainedCommitment;
use report::{CommitmentReport, Row};
use usage::ExplainedUsage;

pub(super) fn run(arguments: &CommitmentArguments) -> Result<(), Error> {
    let explain = async |snapshot: &ClusterSnapshot| {
        read_vms(&snapshot.memory, &snapshot.configuration.common, &snapshot.clusters).await;
        explain(snapshot, &arguments.name, Arc::new(SystemClock), asking(snapshot, &arguments.leader)).await
    };
    dry_run::show(&arguments.clusters, ReadBy::Controllers, arguments.output, explain, text)
}

async fn explain(
    snapshot: &ClusterSnapshot,
    name: &str,
    clock: Arc<dyn Clock>,
    ask: impl AsyncFnOnce(&Subject) -> AskedOperator,
) -> Result<CommitmentReport, Error> {
    let key = find(snapshot, name)?;
    let asked = ask(&Subject::Commitment(key.clone())).await;
    let object = snapshot.memory.stores.commitments.get(&key);
    let zone = object.as_ref().map(|object| &*object.spec.availability_zone);
    let dry_run = OperatorDryRun::new(snapshot, clock, zone, asked).await?;
    let facts = ExplainedCommitment::gather(&dry_run, &key).await;
    // It was there a moment ago, in the same memory.
    let facts =
        facts.ok_or_else(|| Error::Unknown { what: "commitment", name: key.to_string(), hint: String::new() })?;
    let claims = snapshot.memory.scheduler.claims_in(&facts.dry_run.facts.spec.zone);
    let change = OpenChange::of(&snapshot.memory.stores.changes, &facts.dry_run.object.spec.commitment_uuid);
    let object = &facts.dry_run.object;
    let usage = ExplainedUsage::of(object, dry_run.controllers.usage(), &snapshot.memory.vms);
    Ok(CommitmentReport { change, usage, ..report::report(&facts, &claims, &snapshot.missing) })
}

fn find(snapshot: &ClusterSnapshot, name: &str) -> Result<ObjectKey, Error> {
    let store = &snapshot.memory.stores.commitments;
    let called = KindName { what: "commitment", kind: "CommittedResource" };
    object_lookup::find(snapshot, store, name, called, |uuid| {
        let readable = store.select(&COMMITMENT_BY_UUID, uuid).into_iter().map(|entry| entry.key);
        let invalid = store.invalid_entries().into_iter().filter(|one| one.raw["spec"]["commitmentUUID"] == uuid);
        readable.chain(invalid.map(|one| one.key)).collect()
    })
}

// Formats the report as text.

fn text(account: &CommitmentReport) -> String {
    let mut text = ExplainedCondition::format_extra_conditions(&account.extra_conditions, account.now);
    text.push_str(&ClusterSnapshot::heading(&account.missing));
    text.push_str(&head(account));
    text.push('\n');
    text.push_str(&ExplainedCondition::lines(account.ready.as_ref(), account.now));
    let _ = writeln!(text, "\nWhy\n  {}", account.why);
    text.push_str(&slots(account));
    text.push_str(&vms(account));
    text.push_str(&account.usage.text());
    text.push_str(&claims::text(&account.claims));
    text.push_str(&account.operator.placements());
    text.push_str(&next_step::lines(&account.next, account.now));
    let _ = writeln!(text, "\n{}", account.operator.closing_line());
    text
}

fn head(account: &CommitmentReport) -> String {
    let mut text =
        format!("Commitment {} in zone {}, cluster {}\n", account.commitment, account.wanted.zone, account.cluster);
    let domain = if account.domain.is_empty() { String::new() } else { format!(", domain {}", account.domain) };
    let mut rows = vec![
        row(["UUID", &account.uuid]),
        row(["Project", &format!("{}{domain}", account.project)]),
        row(["State", &state(account)]),
        row(["Wanted", &account.wanted.describe()]),
        row(["Accepted", &accepted(account)]),
        row(["No capacity", rejection(account)]),
    ];
    if let Some(change) = &account.change {
        rows.push(row(["Change", &change.describe()]));
    }
    if let Some(limes) = account.operator.limes(account.now) {
        rows.push(row(["Limes", &limes]));
    }
    if let Some(since) = account.being_deleted_since {
        rows.push(row(["Deleted", &format!("asked for at {}", moment(since, account.now))]));
    }
    text.push_str(&table(&rows, &[]));
    text
}

fn state(account: &CommitmentReport) -> String {
    let start = account.start.map(|start| format!(", starts at {}", moment(start, account.now)));
    let end =
        account.end.map_or(", without an end".to_owned(), |end| format!(", ends at {}", moment(end, account.now)));
    format!("{}{}{end}", account.state, start.unwrap_or_default())
}

/// The consequence of a lack of free capacity.
fn rejection(account: &CommitmentReport) -> &'static str {
    match (account.allow_rejection, account.rejection_is_over) {
        (false, _) => "it is retried",
        (true, false) => "it is rejected",
        (true, true) => "it is retried, because as much was accepted before",
    }
}

fn accepted(account: &CommitmentReport) -> String {
    let Some(accepted) = &account.accepted else { return "nothing".to_owned() };
    let at = account.accepted_at.map(|at| format!(", at {}", moment(at, account.now)));
    let same = if *accepted == account.wanted { "the same".to_owned() } else { accepted.describe() };
    same + &at.unwrap_or_default()
}

const SHOWN: usize = 20;

fn slots(account: &CommitmentReport) -> String {
    if account.slots.is_empty() {
        let cores = account.wanted.resource == "cores";
        return if cores { String::new() } else { "\nIt has no slots.\n".to_owned() };
    }
    let shown = shown(&account.slots);
    let head = row(["NAME", "SIZE", "FLAVOR", "HOST", "VMS", "STATE"]);
    let rows: Vec<_> = [head].into_iter().chain(shown.iter().map(|slot| slot_row(slot, account))).collect();
    let (in_force, all) = (account.slots_in_force, account.slots.len());
    let title = format!("\nSlots: {in_force} of {all} in force (VMS: how many are expected in it)\n");
    let more = all - shown.len();
    let rest = if more == 0 { String::new() } else { format!("  ... and {more} more (-o json has all)\n") };
    title + &table(&rows, &[]) + &rest
}

fn vms(account: &CommitmentReport) -> String {
    let of_slot = |slot: &Row| slot.vms.iter().map(|vm| vm_row(&slot.name, vm)).collect::<Vec<_>>();
    let all: Vec<_> = account.slots.iter().flat_map(of_slot).collect();
    if all.is_empty() {
        return String::new();
    }
    let (count, shown) = (all.len(), all.len().min(SHOWN));
    let rows: Vec<_> = [row(["VM", "SLOT", "SIZE", "WHERE"])].into_iter().chain(all.into_iter().take(shown)).collect();
    let rest =
        if count == shown { String::new() } else { format!("  ... and {} more (-o json has all)\n", count - shown) };
    format!("\nVMs that are expected in its slots\n{}{rest}", table(&rows, &[]))
}

fn vm_row(slot: &str, vm: &VmRow) -> Vec<String> {
    vec![vm.vm.clone(), slot.to_owned(), vm.size.format(), vm.state.clone()]
}

/// If there are many slots, those that are not in force come first.
fn shown(all: &[Row]) -> Vec<&Row> {
    let mut shown: Vec<&Row> = all.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|slot| slot.in_force);
        shown.truncate(SHOWN);
    }
    shown
}

fn slot_row(slot: &Row, account: &CommitmentReport) -> Vec<String> {
    let elsewhere = slot.cluster != account.cluster;
    let name = if elsewhere { format!("{}/{}", slot.cluster, slot.name) } else { slot.name.clone() };
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        name,
        slot.size.format(),
        or_dash(&slot.flavor),
        or_dash(slot.target_host.as_deref().unwrap_or_default()),
        slot.vms.len().to_string(),
        slot.state.replace('\n', " "),
    ]
}
