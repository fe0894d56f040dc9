//! What is frozen: a commitment with the annotation, and everything of a zone or flavor group that the configuration
//! names. It decides whether an object may be touched, and how a person lifts that; controllers ask it before they plan
//! anything.
//!
//! Objects are frozen by commitment UUID: when one part of a commitment is, in whatever cluster, all of it is. Half a
//! commitment could not be left as it is while the other half is planned.

use std::fmt;

use berth_crds::conditions::safety::{BY_ANNOTATION, BY_FLAVOR_GROUP, BY_ZONE};
use berth_crds::{CommittedResource, CommittedResourceSpec, Reservation, ReservationType, labels};
use berth_telemetry::config::Freeze;
use kube::ResourceExt;

use crate::indexes::{COMMITMENT_BY_UUID, RESERVATION_BY_COMMITMENT};
use crate::{ObjectKey, Store};

/// Why something is frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// This commitment has the annotation.
    Annotation(ObjectKey),
    /// The zone is one of `freeze.zones`.
    Zone(String),
    /// The flavor group is one of `freeze.flavorGroups`.
    FlavorGroup(String),
}

impl Frozen {
    /// The reason of the condition `Frozen`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Annotation(_) => BY_ANNOTATION,
            Self::Zone(_) => BY_ZONE,
            Self::FlavorGroup(_) => BY_FLAVOR_GROUP,
        }
    }
}

/// Why, and how it is lifted.
impl fmt::Display for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("left exactly as it is, deletion and expiry wait as well, ")?;
        match self {
            Self::Annotation(key) => write!(
                f,
                "because {name} of cluster {cluster} has the annotation {annotation}; to go on: kubectl annotate \
                 committedresource {name} {annotation}-",
                name = key.name,
                cluster = key.cluster,
                annotation = labels::FREEZE,
            ),
            Self::Zone(zone) => {
                write!(
                    f,
                    "because the configuration has freeze.zones with {zone}; to go on, remove it there and restart"
                )
            }
            Self::FlavorGroup(group) => write!(
                f,
                "because the configuration has freeze.flavorGroups with {group}; to go on, remove it there and restart"
            ),
        }
    }
}

/// Knows what is frozen. Clones know the same.
#[derive(Clone)]
pub struct Freezer {
    settings: Freeze,
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
}

impl Freezer {
    /// Over these objects. The stores need the indexes of [`crate::indexes`].
    pub fn new(settings: Freeze, commitments: Store<CommittedResource>, reservations: Store<Reservation>) -> Self {
        Self { settings, commitments, reservations }
    }

    /// Whether a commitment is left as it is.
    pub fn commitment(&self, object: &CommittedResource) -> Option<Frozen> {
        self.of_uuid(&object.spec.commitment_uuid)
    }

    /// Whether a slot is left as it is: by its own zone or group, or because anything of its commitment is frozen.
    pub fn slot(&self, object: &Reservation) -> Option<Frozen> {
        let data = object.spec.committed_resource_reservation.as_ref();
        let uuid = data.and_then(|data| data.commitment_uuid.as_deref());
        self.slot_itself(object).or_else(|| self.of_uuid(uuid?))
    }

    fn of_uuid(&self, uuid: &str) -> Option<Frozen> {
        let commitments = self.commitments.select(&COMMITMENT_BY_UUID, uuid);
        let annotated = commitments.iter().find(|entry| entry.object.annotations().contains_key(labels::FREEZE));
        if let Some(entry) = annotated {
            return Some(Frozen::Annotation(entry.key.clone()));
        }
        if self.settings == Freeze::default() {
            return None;
        }
        let accepted = |object: &CommittedResource| {
            let spec = object.status.as_ref().and_then(|status| status.accepted_spec.clone());
            spec.and_then(|spec| self.spec(&spec))
        };
        let of_specs =
            commitments.iter().find_map(|entry| self.spec(&entry.object.spec).or_else(|| accepted(&entry.object)));
        of_specs.or_else(|| {
            let slots = self.reservations.select(&RESERVATION_BY_COMMITMENT, uuid);
            slots.iter().find_map(|entry| self.slot_itself(&entry.object))
        })
    }

    fn spec(&self, spec: &CommittedResourceSpec) -> Option<Frozen> {
        self.names(&spec.availability_zone, &spec.flavor_group_name)
    }

    fn slot_itself(&self, object: &Reservation) -> Option<Frozen> {
        let is_slot = object.spec.type_ == ReservationType::CommittedResourceReservation;
        let data = object.spec.committed_resource_reservation.as_ref().filter(|_| is_slot)?;
        let group = data.resource_group.as_deref().unwrap_or_default();
        self.names(object.spec.availability_zone.as_deref().unwrap_or_default(), group)
    }

    fn names(&self, zone: &str, group: &str) -> Option<Frozen> {
        if self.settings.zones.contains(zone) {
            return Some(Frozen::Zone(zone.to_owned()));
        }
        self.settings.flavor_groups.contains(group).then(|| Frozen::FlavorGroup(group.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;
    use serde_json::json;

    use super::*;
    use crate::indexes::{COMMITMENT_INDEXES, RESERVATION_INDEXES};
    use crate::testing::filled;

    fn commitment(zone: &str, annotated: bool) -> CommittedResource {
        let mut object: CommittedResource = serde_json::from_value(json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource",
            "metadata": { "name": "commitment-u", "uid": "1", "resourceVersion": "1" },
            "spec": {
                "commitmentUUID": "u", "flavorGroupName": "amber", "resourceType": "memory", "amount": "1Gi",
                "availabilityZone": zone, "projectID": "p", "domainID": "d", "state": "confirmed",
            },
        }))
        .unwrap();
        if annotated {
            object.metadata.annotations = Some([(labels::FREEZE.to_owned(), String::new())].into());
        }
        object
    }

    fn slot(number: u64, zone: &str) -> Reservation {
        serde_json::from_value(json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
            "metadata": { "name": format!("commitment-u-{number}"), "uid": number.to_string(), "resourceVersion": "2" },
            "spec": {
                "type": "CommittedResourceReservation", "availabilityZone": zone, "resources": {},
                "committedResourceReservation": { "commitmentUUID": "u", "resourceGroup": "amber" },
            },
        }))
        .unwrap()
    }

    fn freezer(zones: &[&str], groups: &[&str], object: CommittedResource, slots: [Reservation; 2]) -> Freezer {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = Freeze { zones: names(zones), flavor_groups: names(groups) };
        let home = ClusterName::home();
        let commitments = filled(COMMITMENT_INDEXES, &home, [object]);
        Freezer::new(settings, commitments, filled(RESERVATION_INDEXES, &home, slots))
    }

    fn both(zone: &str, annotated: bool, zones: &[&str], groups: &[&str]) -> [Option<Frozen>; 2] {
        let (object, slots) = (commitment(zone, annotated), [slot(0, "a"), slot(1, "b")]);
        let freezer = freezer(zones, groups, object.clone(), slots.clone());
        [freezer.commitment(&object), freezer.slot(&slots[0])]
    }

    #[test]
    fn u57_the_annotation_the_zone_and_the_group_freeze_a_commitment_and_its_slots() {
        assert_eq!(both("a", false, &[], &[]), [None, None]);
        assert_eq!(both("a", false, &["c"], &["blue"]), [None, None]);
        let by = |frozen: Frozen| [Some(frozen.clone()), Some(frozen)];
        let key = ObjectKey::new(ClusterName::home(), "commitment-u");
        assert_eq!(both("a", true, &[], &[]), by(Frozen::Annotation(key)));
        assert_eq!(both("a", false, &["a"], &[]), by(Frozen::Zone("a".to_owned())));
        assert_eq!(both("a", false, &[], &["amber"]), by(Frozen::FlavorGroup("amber".to_owned())));
    }

    #[test]
    fn u57_a_slot_in_a_frozen_zone_freezes_the_commitment_that_has_left_it() {
        let left_behind = both("c", false, &["b"], &[]);
        assert_eq!(left_behind, [Some(Frozen::Zone("b".to_owned())), Some(Frozen::Zone("b".to_owned()))]);
    }

    #[test]
    fn u57_what_was_accepted_in_a_frozen_zone_stays() {
        let mut object = commitment("c", false);
        object.status.get_or_insert_default().accepted_spec = Some(commitment("z", false).spec);
        let freezer = freezer(&["z"], &[], object.clone(), [slot(0, "a"), slot(1, "b")]);
        assert_eq!(freezer.commitment(&object), Some(Frozen::Zone("z".to_owned())));
    }

    #[test]
    fn u57_the_text_says_how_to_go_on() {
        let text = Frozen::Annotation(ObjectKey::new(ClusterName::home(), "commitment-u")).to_string();
        let command = "kubectl annotate committedresource commitment-u reservations.cortex.cloud/freeze-";
        assert!(text.ends_with(command), "{text}");
        assert!(Frozen::Zone("a".to_owned()).to_string().contains("freeze.zones with a;"));
    }
}
