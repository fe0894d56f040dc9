//! Assume entries: decisions that are not observed yet, one entry per slot.

use std::collections::BTreeMap;

use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{GroupName, HostName, ProjectId, Resources, SlotKey, VmId, Zone};

/// Free capacity that a decision has given to a slot and that no object shows yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    pub key: SlotKey,
    pub host: HostName,
    /// The whole size that the slot shall have there.
    pub size: Resources,
    /// The VMs that the write makes the slot expect, each with the size that it has there: what they occupy on the host
    /// already is not taken again.
    pub vms: BTreeMap<VmId, Resources>,
    /// The outcome of the write is unknown: only an observation or [`View::forget`](crate::View::forget) ends it.
    pub doubt: bool,
}

impl Assumed {
    /// True when the object shows the host, at least the size, and the VMs.
    pub fn is_shown_by(&self, reservation: &Reservation) -> bool {
        let expects = |vm| reservation.expected().any(|(expected, _)| expected == vm);
        reservation.target_host.as_ref() == Some(&self.host)
            && self.size.fits(reservation.size)
            && self.vms.keys().all(expects)
    }

    /// The slot as it will be when its write is observed: with the VMs that the object expects and those of the entry,
    /// and, if the object is on this host already, never smaller than the object. The entry accounts for the part that
    /// the object does not block.
    pub(crate) fn promise(&self, recorded: Option<&Reservation>) -> Reservation {
        let target_host = Some(self.host.clone());
        match recorded {
            Some(known) => {
                let here = known.hosts().any(|host| *host == self.host);
                let size = if here { known.size.max(self.size) } else { self.size };
                Reservation { target_host, size, kind: self.with_vms(&known.kind), ..known.clone() }
            }
            None => Reservation {
                key: self.key.clone(),
                kind: ReservationKind::Committed(self.vms.clone()),
                project: ProjectId::default(),
                group: GroupName::default(),
                zone: Zone::default(),
                size: self.size,
                target_host,
                status_host: None,
                ready: false,
            },
        }
    }

    fn with_vms(&self, kind: &ReservationKind) -> ReservationKind {
        let mut kind = kind.clone();
        if let ReservationKind::Committed(vms) = &mut kind {
            for (vm, size) in &self.vms {
                vms.entry(vm.clone()).or_insert(*size);
            }
        }
        kind
    }
}
