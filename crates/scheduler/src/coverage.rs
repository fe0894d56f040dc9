//! Whether the commitments of a project cover a VM that was placed, or that found no host. Only for reports; `booking`
//! selects the slot of the VM.

use std::collections::BTreeSet;

use berth_capacity_view::{Question, View};
use berth_core::reservation::Reservation;
use berth_core::{Bytes, HostName};

use crate::booking::remaining;
use crate::{Candidates, Commitments, Guest, Request};

/// Whether the commitments of its project cover a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Placed; the project has no commitment for it with anything left.
    NoCommitment,
    /// Placed on a host with a slot that has something left.
    SlotUsed,
    /// Placed, but no host of the answer has such a slot.
    SlotMissed,
    HostlessWithoutCommitment,
    /// No host, and the commitments are used up.
    Exhausted,
    /// No host, although a slot that could take it is on a host of the request: something else kept it away.
    SlotBlocked,
    /// No host, and no slot could take it.
    SlotExhausted,
}

impl Coverage {
    /// The value of the label `cr_slot` in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoCommitment | Self::HostlessWithoutCommitment => "no_cr",
            Self::SlotUsed => "slot_used",
            Self::SlotMissed => "slot_missed",
            Self::Exhausted => "cr_exhausted",
            Self::SlotBlocked => "slot_blocked",
            Self::SlotExhausted => "slot_exhausted",
        }
    }
}

/// `hosts` are those of the response, of a run over all hosts (`everywhere`) or those of the request. Trial placements
/// and placements without tracking are not reported.
pub(crate) fn coverage(
    view: &View,
    request: &Request,
    guest: &Guest,
    hosts: &[HostName],
    everywhere: bool,
) -> Option<Coverage> {
    if hosts.is_empty() {
        return Some(without_host(view, request, guest, everywhere));
    }
    let options = &request.options;
    let tracked = !options.read_only && !options.skip_committed_resource_tracking;
    tracked.then(|| placed(view, request, guest, hosts))
}

fn placed(view: &View, request: &Request, guest: &Guest, hosts: &[HostName]) -> Coverage {
    if guest.commitments != Commitments::Left {
        return Coverage::NoCommitment;
    }
    let with_capacity: BTreeSet<_> = slots_with_capacity(view, request, guest).filter_map(|(host, _)| host).collect();
    let used = !with_capacity.is_empty() && hosts.iter().any(|host| with_capacity.contains(host));
    if used { Coverage::SlotUsed } else { Coverage::SlotMissed }
}

fn without_host(view: &View, request: &Request, guest: &Guest, everywhere: bool) -> Coverage {
    match guest.commitments {
        Commitments::None => Coverage::HostlessWithoutCommitment,
        Commitments::UsedUp => Coverage::Exhausted,
        Commitments::Left if has_usable_slot(view, request, guest, everywhere) => Coverage::SlotBlocked,
        Commitments::Left => Coverage::SlotExhausted,
    }
}

/// The slots of the project that have memory left, with their hosts.
fn slots_with_capacity<'v>(
    view: &'v View,
    request: &'v Request,
    guest: &'v Guest,
) -> impl Iterator<Item = (Option<&'v HostName>, &'v Reservation)> {
    let slots = view.slots_of(&request.project, &guest.group);
    let with_capacity = slots.filter(|slot| remaining(view, slot, &request.instance) > Bytes::ZERO);
    with_capacity.map(|slot| (slot.target_host.as_ref(), slot))
}

/// A VM may be larger than the rest of its slot if the host has the difference, so the capacity of the host decides,
/// with the project's own slots unlocked as for the capacity filter.
fn has_usable_slot(view: &View, request: &Request, guest: &Guest, everywhere: bool) -> bool {
    let hosts: BTreeSet<_> = slots_with_capacity(view, request, guest).filter_map(|(host, _)| host).collect();
    if hosts.is_empty() {
        return false;
    }
    let owner = Some((&request.project, &guest.group));
    let overlay = view.overlay();
    let free_capacities =
        overlay.free_capacities(&Question { owner, vm: Some(&request.instance), ..Question::default() });
    let has_capacity = |host: &HostName| {
        let free = view.id(host).and_then(|id| free_capacities.at(id));
        free.is_some_and(|free| free.memory >= guest.size.memory)
    };
    hosts.into_iter().any(|host| (everywhere || is_asked_about(request, host)) && has_capacity(host))
}

fn is_asked_about(request: &Request, host: &HostName) -> bool {
    match &request.candidates {
        Candidates::All => true,
        Candidates::Listed(hosts) => hosts.iter().any(|(listed, _)| listed == host),
    }
}
