//! `berth explain commitment`: why a commitment is ready or not. What the operator would do is asked of its controllers;
//! what the screen says is decided in `course`, `steps` and `report`, how it looks in `text`.

mod claim;
mod course;
mod facts;
mod report;
mod steps;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_telemetry::clock::{Clock, SystemClock};

use super::foreseeing::{self, Foresight};
use super::looking::{Look, UNSEEN};
use super::naming::{self, Called};
use super::next;
use super::reasons::Told;
use super::table::{row, table};
use super::times::moment;
use super::vms::VmRow;
use crate::args::CommitmentArguments;
use crate::error::Error;
use facts::Facts;
use report::{Account, Row};

pub(super) fn run(arguments: &CommitmentArguments) -> Result<(), Error> {
    let explain = async |look: &Look| explain(look, &arguments.name, Arc::new(SystemClock)).await;
    foreseeing::show(&arguments.clusters, arguments.output, explain, text)
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

// The account of a commitment for people.

fn text(account: &Account) -> String {
    let mut text = Look::heading(&account.missing);
    text.push_str(&head(account));
    text.push('\n');
    text.push_str(&Told::lines(account.ready.as_ref(), account.now));
    text.push_str(&Told::mark_lines(&account.marks, account.now));
    let _ = writeln!(text, "\nWhy\n  {}", account.why);
    text.push_str(&slots(account));
    text.push_str(&vms(account));
    text.push_str(&next::lines(&account.next, account.now));
    let _ = writeln!(text, "\n{UNSEEN}");
    text
}

fn head(account: &Account) -> String {
    let mut text =
        format!("Commitment {} in zone {}, cluster {}\n", account.commitment, account.wanted.zone, account.cluster);
    let domain = if account.domain.is_empty() { String::new() } else { format!(", domain {}", account.domain) };
    let mut rows = vec![
        row(["UUID", &account.uuid]),
        row(["Project", &format!("{}{domain}", account.project)]),
        row(["State", &state(account)]),
        row(["Wanted", &account.wanted.words()]),
        row(["Accepted", &accepted(account)]),
        row(["No room", rejection(account)]),
    ];
    if let Some(since) = account.being_deleted_since {
        rows.push(row(["Deleted", &format!("asked for at {}", moment(since, account.now))]));
    }
    text.push_str(&table(&rows, &[]));
    text
}

fn state(account: &Account) -> String {
    let start = account.start.map(|start| format!(", starts at {}", moment(start, account.now)));
    let end =
        account.end.map_or(", without an end".to_owned(), |end| format!(", ends at {}", moment(end, account.now)));
    format!("{}{}{end}", account.state, start.unwrap_or_default())
}

/// What a lack of room leads to.
fn rejection(account: &Account) -> &'static str {
    match (account.allow_rejection, account.rejection_is_over) {
        (false, _) => "it is tried again for ever",
        (true, false) => "it is rejected",
        (true, true) => "it is tried again for ever, since as much was accepted before",
    }
}

fn accepted(account: &Account) -> String {
    let Some(accepted) = &account.accepted else { return "nothing".to_owned() };
    let at = account.accepted_at.map(|at| format!(", at {}", moment(at, account.now)));
    let same = if *accepted == account.wanted { "the same".to_owned() } else { accepted.words() };
    same + &at.unwrap_or_default()
}

/// So many slots are shown.
const SHOWN: usize = 20;

fn slots(account: &Account) -> String {
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

fn vms(account: &Account) -> String {
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
    vec![vm.vm.clone(), slot.to_owned(), vm.size.words(), vm.state.clone()]
}

/// Of many slots those that are not in force come first.
fn shown(all: &[Row]) -> Vec<&Row> {
    let mut shown: Vec<&Row> = all.iter().collect();
    if shown.len() > SHOWN {
        shown.sort_by_key(|slot| slot.in_force);
        shown.truncate(SHOWN);
    }
    shown
}

fn slot_row(slot: &Row, account: &Account) -> Vec<String> {
    let elsewhere = slot.cluster != account.cluster;
    let name = if elsewhere { format!("{}/{}", slot.cluster, slot.name) } else { slot.name.clone() };
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        name,
        slot.size.words(),
        or_dash(&slot.flavor),
        or_dash(slot.target_host.as_deref().unwrap_or_default()),
        slot.vms.len().to_string(),
        slot.state.replace('\n', " "),
    ]
}
