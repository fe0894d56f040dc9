//! What people are told about a commitment: in an event on it, and in one log line.

use berth_cluster::{Event, EventKind, Events, ObjectKey};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::quantity::{binary, decimal};
use berth_crds::{CommittedResource, facts};
use kube::Resource as _;
use tracing::{info, warn};

use crate::plan::{EndKind, KeepReason};

/// Publishes events about one object.
pub(crate) struct Report<'a> {
    pub(crate) events: &'a Events,
    pub(crate) key: &'a ObjectKey,
    pub(crate) object: &'a CommittedResource,
}

impl Report<'_> {
    /// In the log in any case, and in an event if there are not too many.
    pub(crate) fn created(&self, has_event: bool) {
        let note = format!("created, because Limes lists it: {}", describe(&facts::spec(self.object)));
        info!(reason = note, "commitment created from the list of Limes");
        if has_event {
            self.publish(EventKind::Normal, "SyncedFromLimes", note);
        }
    }

    pub(crate) fn corrected(&self, old: &CommittedResource) {
        let changes = describe_difference(&facts::spec(old), &facts::spec(self.object));
        if changes.is_empty() {
            return;
        }
        let note = format!("corrected after the list of Limes: {changes}");
        info!(reason = note, "commitment corrected after the list of Limes");
        self.publish(EventKind::Normal, "SyncedFromLimes", note);
    }

    pub(crate) fn ended(&self, kind: EndKind) {
        let (reason, note) = match kind {
            EndKind::UnknownToLimes => (
                "UnknownToLimes",
                "superseded: a change has created it, and three complete lists of Limes do not have it, so Limes has undone \
                 the change",
            ),
            EndKind::Stale => {
                ("NotInLimes", "superseded: three complete lists of Limes do not have it (endStaleCommitments is on)")
            }
        };
        warn!(reason = note, "commitment ended");
        self.publish(EventKind::Warning, reason, note.to_owned());
    }

    pub(crate) fn deleted(&self) {
        let note = "deleted, because its end has passed".to_owned();
        info!("commitment deleted whose end has passed");
        self.publish(EventKind::Normal, "DeletedAfterEnd", note);
    }

    /// Contradictions that a person has to solve.
    pub(crate) fn kept(&self, reason: KeepReason) {
        let note = match reason {
            KeepReason::ZoneDiffers => {
                let zone = &self.object.spec.availability_zone;
                format!(
                    "not corrected: Limes lists it in another zone than {zone}; correct or delete the commitment here"
                )
            }
            KeepReason::ResourceDiffers => {
                "not corrected: Limes lists it for another resource; delete the commitment here".to_owned()
            }
            KeepReason::SeveralObjects => "not corrected: several objects have its UUID; delete all but one".to_owned(),
            _ => return,
        };
        warn!(reason = note, "commitment not corrected");
        self.publish(EventKind::Warning, "NotSynced", note);
    }

    fn publish(&self, kind: EventKind, reason: &str, note: String) {
        let event = Event { kind, reason: reason.to_owned(), action: "Sync".to_owned(), note };
        self.events.publish(&self.key.cluster, &self.object.object_ref(&()), event);
    }
}

fn describe(spec: &Spec) -> String {
    format!("{} {} of {} in {}, state {}", amount(spec), spec.resource, spec.group, spec.zone, state(spec))
}

fn describe_difference(old: &Spec, new: &Spec) -> String {
    let time = |time: Option<jiff::Timestamp>| time.map_or_else(|| "none".to_owned(), |time| time.to_string());
    let all = [
        ("amount", amount(old), amount(new)),
        ("state", state(old), state(new)),
        ("flavor group", old.group.to_string(), new.group.to_string()),
        ("project", old.project.to_string(), new.project.to_string()),
        ("domain", old.domain.to_string(), new.domain.to_string()),
        ("start", time(old.start), time(new.start)),
        ("end", time(old.end), time(new.end)),
    ];
    let changed = all.into_iter().filter(|(_, old, new)| old != new);
    changed.map(|(name, old, new)| format!("{name} {old} -> {new}")).collect::<Vec<_>>().join(", ")
}

fn amount(spec: &Spec) -> String {
    match spec.resource {
        ResourceType::Memory => binary(spec.memory().get()),
        ResourceType::Cores => decimal(spec.cores().get()),
    }
}

fn state(spec: &Spec) -> String {
    format!("{:?}", spec.state).to_lowercase()
}

#[cfg(test)]
mod tests {
    use berth_core::commitment::State;
    use berth_core::testing::{at, spec};

    use super::*;

    #[test]
    fn only_what_differs_is_named() {
        let old = spec("1Gi");
        let new = Spec { state: State::Superseded, end: Some(at(0)), ..old.clone() };
        let text = describe_difference(&old, &new);
        assert!(text.starts_with("state confirmed -> superseded, end none -> "), "{text}");
        assert_eq!(describe_difference(&old, &old), "");
    }
}
