//! Pauses, by the annotation of commitments and by the zones and groups of the configuration. Paused objects need not
//! make progress.

use std::collections::BTreeSet;

use berth_crds::{CommittedResource, CommittedResourceSpec, Reservation, labels};
use kube::ResourceExt;

use crate::Snapshot;
use crate::snapshot::commitment_of;

/// The pauses of the configuration: `pause.zones` and `pause.flavorGroups`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PausedScope {
    pub zones: BTreeSet<String>,
    pub flavor_groups: BTreeSet<String>,
}

impl PausedScope {
    /// Whether a slot is left as it is: when any part of its commitment is, all of it is.
    pub(crate) fn covers(&self, snapshot: &Snapshot, slot: &Reservation) -> bool {
        let uuid = commitment_of(slot);
        let mut commitments = snapshot.commitments_of(uuid);
        let mut siblings = snapshot.slots_of(uuid);
        self.names_slot(slot)
            || commitments.any(|(_, object)| is_annotated(object) || self.names_commitment(object))
            || siblings.any(|(_, slot)| self.names_slot(slot))
    }

    fn names_commitment(&self, object: &CommittedResource) -> bool {
        let accepted = object.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
        let names = |spec: &CommittedResourceSpec| self.names(&spec.availability_zone, &spec.flavor_group_name);
        names(&object.spec) || accepted.is_some_and(names)
    }

    fn names_slot(&self, slot: &Reservation) -> bool {
        let data = slot.spec.committed_resource_reservation.as_ref();
        let group = data.and_then(|data| data.resource_group.as_deref()).unwrap_or_default();
        self.names(slot.spec.availability_zone.as_deref().unwrap_or_default(), group)
    }

    fn names(&self, zone: &str, group: &str) -> bool {
        self.zones.contains(zone) || self.flavor_groups.contains(group)
    }
}

pub(crate) fn is_annotated(commitment: &CommittedResource) -> bool {
    labels::pause_annotation(commitment.annotations()).is_some()
}
