//! The account of a slot for people.

use std::fmt::Write as _;

use super::report::{Account, BlockOn};
use crate::commands::{
    looking::{Look, UNSEEN},
    next,
    reasons::Told,
    table::{row, table},
    times::moment,
    vms::VmRow,
};

pub(super) fn text(account: &Account) -> String {
    let mut text = Look::heading(&account.missing);
    text.push_str(&head(account));
    text.push('\n');
    text.push_str(&Told::lines(account.ready.as_ref(), account.now));
    text.push_str(&Told::mark_lines(&account.marks, account.now));
    let _ = writeln!(text, "\nNow\n  {}", account.state.replace('\n', " "));
    text.push_str(&vms(&account.vms));
    text.push_str(&next::lines(&account.next, account.now));
    let _ = writeln!(text, "\n{UNSEEN}");
    text
}

fn head(account: &Account) -> String {
    let mut rows = vec![
        row(["Commitment", &owner(account)]),
        row(["Project", &account.project]),
        row(["Size", &format!("{}, {} of {}", account.size.words(), account.flavor, account.group)]),
        row(["Host", &host(account)]),
    ];
    rows.extend(account.blocks.iter().map(|one| row(["Blocks", &blocks(one)])));
    if let Some(end) = account.end {
        rows.push(row(["End", &moment(end, account.now)]));
    }
    let title = format!("Slot {} in zone {}, cluster {}\n", account.slot, account.zone, account.cluster);
    title + &table(&rows, &[])
}

fn owner(account: &Account) -> String {
    let owner = &account.commitment;
    let reason = owner.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
    match &owner.objects[..] {
        [] => format!("NONE has the UUID {}", owner.uuid),
        [one] => format!("{one}{reason}"),
        all => format!("SEVERAL have the UUID {}: {}", owner.uuid, all.join(", ")),
    }
}

fn host(account: &Account) -> String {
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
    format!("{} on {}, besides the VMs that are there{overbooked}", amount.words(), one.host)
}

fn vms(all: &[VmRow]) -> String {
    if all.is_empty() {
        return "\nNo VM is expected in it.\n".to_owned();
    }
    let line = |vm: &VmRow| vec![vm.vm.clone(), vm.size.words(), vm.state.clone()];
    let rows: Vec<_> = [row(["VM", "SIZE", "WHERE"])].into_iter().chain(all.iter().map(line)).collect();
    format!("\nVMs that are expected in it\n{}", table(&rows, &[]))
}
