//! Decides which objects are paused: commitments with the annotation, and everything in a zone or flavor group that the
//! configuration names. Controllers check it before they plan.
//!
//! Objects are paused by commitment UUID: if one part of a commitment is paused, in any cluster, the whole commitment
//! is, because half of a commitment cannot be planned while the other half must not change.

use std::fmt;

use berth_crds::conditions::safety::{BY_ANNOTATION, BY_FLAVOR_GROUP, BY_ZONE};
use berth_crds::{CommittedResource, CommittedResourceSpec, Reservation, ReservationType, labels};
use berth_telemetry::config::Pause;
use kube::ResourceExt;

use crate::indexes::{COMMITMENT_BY_UUID, RESERVATION_BY_COMMITMENT};
use crate::{ObjectKey, Store};

/// Why an object is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// This commitment has an annotation of this name.
    Annotation(ObjectKey, &'static str),
    Zone(String),
    FlavorGroup(String),
}

impl PauseCause {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Annotation(..) => BY_ANNOTATION,
            Self::Zone(_) => BY_ZONE,
            Self::FlavorGroup(_) => BY_FLAVOR_GROUP,
        }
    }
}

/// Says why, and how to resume.
impl fmt::Display for PauseCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing is changed, deletion and expiry wait as well, ")?;
        match self {
            Self::Annotation(key, annotation) => {
                let (name, cluster) = (&key.name, &key.cluster);
                write!(
                    f,
                    "because {name} of cluster {cluster} has the annotation {annotation}; to resume: kubectl annotate \
                     committedresource {name} {annotation}-"
                )?;
                if *annotation == labels::FORMER_PAUSED {
                    write!(f, "; this annotation is deprecated, use {} instead", labels::PAUSED)?;
                }
                Ok(())
            }
            Self::Zone(zone) => {
                write!(
                    f,
                    "because the configuration has pause.zones with {zone}; to resume, remove it there and restart"
                )
            }
            Self::FlavorGroup(group) => write!(
                f,
                "because the configuration has pause.flavorGroups with {group}; to resume, remove it there and restart"
            ),
        }
    }
}

/// Decides which objects are paused. Clones share the stores.
#[derive(Clone)]
pub struct Pauses {
    settings: Pause,
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
}

impl Pauses {
    /// Over these objects. The stores need the indexes of [`crate::indexes`].
    pub fn new(settings: Pause, commitments: Store<CommittedResource>, reservations: Store<Reservation>) -> Self {
        Self { settings, commitments, reservations }
    }

    /// Whether a commitment is left as it is.
    pub fn commitment(&self, object: &CommittedResource) -> Option<PauseCause> {
        self.uuid(&object.spec.commitment_uuid)
    }

    /// Whether a slot is left as it is: by its own zone or group, or because anything of its commitment is paused.
    pub fn slot(&self, object: &Reservation) -> Option<PauseCause> {
        let data = object.spec.committed_resource_reservation.as_ref();
        let uuid = data.and_then(|data| data.commitment_uuid.as_deref());
        self.slot_itself(object).or_else(|| self.uuid(uuid?))
    }

    /// Whether anything of the commitment with this UUID is paused.
    pub fn uuid(&self, uuid: &str) -> Option<PauseCause> {
        let commitments = self.commitments.select(&COMMITMENT_BY_UUID, uuid);
        let annotated = commitments
            .iter()
            .find_map(|entry| Some((entry.key.clone(), labels::pause_annotation(entry.object.annotations())?)));
        if let Some((key, annotation)) = annotated {
            return Some(PauseCause::Annotation(key, annotation));
        }
        if self.settings == Pause::default() {
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

    /// Whether a commitment with this spec is left as it is because of its zone or group.
    pub fn spec(&self, spec: &CommittedResourceSpec) -> Option<PauseCause> {
        self.names(&spec.availability_zone, &spec.flavor_group_name)
    }

    fn slot_itself(&self, object: &Reservation) -> Option<PauseCause> {
        let is_slot = object.spec.type_ == ReservationType::CommittedResourceReservation;
        let data = object.spec.committed_resource_reservation.as_ref().filter(|_| is_slot)?;
        let group = data.resource_group.as_deref().unwrap_or_default();
        self.names(object.spec.availability_zone.as_deref().unwrap_or_default(), group)
    }

    fn names(&self, zone: &str, group: &str) -> Option<PauseCause> {
        if self.settings.zones.contains(zone) {
            return Some(PauseCause::Zone(zone.to_owned()));
        }
        self.settings.flavor_groups.contains(group).then(|| PauseCause::FlavorGroup(group.to_owned()))
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
            object.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
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

    fn pauses(zones: &[&str], groups: &[&str], object: CommittedResource, slots: [Reservation; 2]) -> Pauses {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = Pause { zones: names(zones), flavor_groups: names(groups) };
        let home = ClusterName::home();
        let commitments = filled(COMMITMENT_INDEXES, &home, [object]);
        Pauses::new(settings, commitments, filled(RESERVATION_INDEXES, &home, slots))
    }

    fn both(zone: &str, annotated: bool, zones: &[&str], groups: &[&str]) -> [Option<PauseCause>; 2] {
        let (object, slots) = (commitment(zone, annotated), [slot(0, "a"), slot(1, "b")]);
        let pauses = pauses(zones, groups, object.clone(), slots.clone());
        [pauses.commitment(&object), pauses.slot(&slots[0])]
    }

    #[test]
    fn the_annotation_the_zone_and_the_group_pause_a_commitment_and_its_slots() {
        assert_eq!(both("a", false, &[], &[]), [None, None]);
        assert_eq!(both("a", false, &["c"], &["blue"]), [None, None]);
        let by = |paused: PauseCause| [Some(paused.clone()), Some(paused)];
        let key = ObjectKey::new(ClusterName::home(), "commitment-u");
        assert_eq!(both("a", true, &[], &[]), by(PauseCause::Annotation(key, labels::PAUSED)));
        assert_eq!(both("a", false, &["a"], &[]), by(PauseCause::Zone("a".to_owned())));
        assert_eq!(both("a", false, &[], &["amber"]), by(PauseCause::FlavorGroup("amber".to_owned())));
    }

    #[test]
    fn a_slot_in_a_paused_zone_pauses_the_commitment_that_has_left_it() {
        let left_behind = both("c", false, &["b"], &[]);
        assert_eq!(left_behind, [Some(PauseCause::Zone("b".to_owned())), Some(PauseCause::Zone("b".to_owned()))]);
    }

    #[test]
    fn what_was_accepted_in_a_paused_zone_stays() {
        let mut object = commitment("c", false);
        object.status.get_or_insert_default().accepted_spec = Some(commitment("z", false).spec);
        let pauses = pauses(&["z"], &[], object.clone(), [slot(0, "a"), slot(1, "b")]);
        assert_eq!(pauses.commitment(&object), Some(PauseCause::Zone("z".to_owned())));
    }

    #[test]
    fn the_text_says_how_to_resume() {
        let text =
            PauseCause::Annotation(ObjectKey::new(ClusterName::home(), "commitment-u"), labels::PAUSED).to_string();
        let command = "kubectl annotate committedresource commitment-u reservations.cortex.cloud/paused-";
        assert!(text.ends_with(command), "{text}");
        assert!(PauseCause::Zone("a".to_owned()).to_string().contains("pause.zones with a;"));
    }

    #[test]
    fn the_former_annotation_pauses_with_a_hint_at_its_new_name() {
        let mut object = commitment("c", false);
        object.metadata.annotations = Some([(labels::FORMER_PAUSED.to_owned(), String::new())].into());
        let cause = pauses(&[], &[], object.clone(), [slot(0, "a"), slot(1, "b")]).commitment(&object).unwrap();
        let hint = "freeze-; this annotation is deprecated, use reservations.cortex.cloud/paused instead";
        assert!(cause.to_string().ends_with(hint), "{cause}");
    }
}
