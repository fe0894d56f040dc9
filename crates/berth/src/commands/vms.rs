//! The VMs that are expected in a slot: where each of them is, and until when one is waited for that has not been seen.

use std::time::Duration;

use berth_cluster::{Store, indexes::HYPERVISOR_BY_VM};
use berth_core::{HostName, Resources, VmId};
use berth_crds::Hypervisor;
use berth_reservation::Outlook;
use jiff::Timestamp;
use serde::Serialize;

use super::{amounts::Amounts, times::moment};

/// A VM that is expected in a slot.
#[derive(Clone, Debug)]
pub(super) struct Vm {
    id: VmId,
    size: Resources,
    /// Since when it is expected.
    since: Option<Timestamp>,
    /// The hosts that list it.
    seen_on: Vec<HostName>,
}

/// The same for people and programs. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VmRow {
    pub(super) vm: String,
    pub(super) size: Amounts,
    pub(super) expected_since: Option<Timestamp>,
    pub(super) seen_on: Vec<String>,
    /// The host of the slot lists it (U35).
    pub(super) confirmed: bool,
    /// Until when it is waited for, while no host lists it.
    pub(super) waited_for_until: Option<Timestamp>,
    /// The same in a few words.
    pub(super) state: String,
}

/// The VMs of a slot, by their ids.
pub(super) fn expected(slot: &Outlook, hosts: &Store<Hypervisor>) -> Vec<Vm> {
    let data = slot.object.spec.committed_resource_reservation.as_ref();
    let since = |vm: &VmId| Some(data?.allocations.get(vm.as_str())?.creation_timestamp.0);
    let seen =
        |vm: &VmId| hosts.select(&HYPERVISOR_BY_VM, vm.as_str()).into_iter().map(|host| (&*host.key.name).into());
    let vm = |(id, size): (&VmId, &Resources)| Vm {
        id: id.clone(),
        size: *size,
        since: since(id),
        seen_on: seen(id).collect(),
    };
    slot.facts.slot.expected.iter().map(vm).collect()
}

impl Vm {
    /// As seen from a slot with this host, which waits for so long (`allocationGracePeriod`).
    pub(super) fn row(&self, host: Option<&HostName>, grace: Duration, now: Timestamp) -> VmRow {
        let confirmed = host.is_some_and(|host| self.seen_on.contains(host));
        let until = self.since.and_then(|since| since.checked_add(grace).ok()).filter(|_| self.seen_on.is_empty());
        VmRow {
            vm: self.id.to_string(),
            size: self.size.into(),
            expected_since: self.since,
            seen_on: self.seen_on.iter().map(ToString::to_string).collect(),
            confirmed,
            waited_for_until: until,
            state: self.whereabouts(confirmed, until, now),
        }
    }

    fn whereabouts(&self, confirmed: bool, until: Option<Timestamp>, now: Timestamp) -> String {
        let seen = self.seen_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match (confirmed, until) {
            (true, _) => "is here".to_owned(),
            (_, Some(until)) if until > now => format!("not seen yet, waited for until {}", moment(until, now)),
            (_, Some(until)) => format!("not seen, was waited for until {}", moment(until, now)),
            _ if seen.is_empty() => "not seen yet".to_owned(),
            _ => format!("is on {seen}"),
        }
    }
}
