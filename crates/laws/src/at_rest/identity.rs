//! Whose a slot is, in all the places in which somebody looks for that.

use berth_crds::{CommittedResourceSpec, Reservation, labels};
use kube::ResourceExt;

use crate::{Key, Law, Violation, slots::is_ours};

/// A slot that does not say of whom and what its commitment is.
pub(super) fn misattributed(key: &Key, slot: &Reservation, spec: &CommittedResourceSpec) -> Option<Violation> {
    let data = slot.spec.committed_resource_reservation.as_ref();
    let label = slot.labels().get(labels::TYPE).map(String::as_str);
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    let [end, wanted_end] =
        [&slot.spec.end_time, &spec.end_time].map(|time| time.as_ref().map(|time| time.0.to_string()));
    let is = [
        ("zone", text(slot.spec.availability_zone.as_ref()), spec.availability_zone.clone()),
        ("project", text(data.and_then(|data| data.project_id.as_ref())), spec.project_id.clone()),
        ("domain", text(data.and_then(|data| data.domain_id.as_ref())), spec.domain_id.clone()),
        ("group", text(data.and_then(|data| data.resource_group.as_ref())), spec.flavor_group_name.clone()),
        ("label", label.unwrap_or_default().to_owned(), labels::TYPE_COMMITTED_RESOURCE.to_owned()),
        ("end", end.unwrap_or_default(), wanted_end.unwrap_or_default()),
    ];
    let wrong = is.into_iter().filter(|(_, found, wanted)| found != wanted);
    let wrong: Vec<_> = wrong.map(|(what, found, wanted)| format!("its {what} is {found:?}, not {wanted:?}")).collect();
    (!wrong.is_empty()).then(|| Violation::new(Law::SlotIdentity, key, wrong.join("; ")))
}

/// A slot without the annotation is never deleted as an orphan.
pub(super) fn unmarked(key: &Key, slot: &Reservation) -> Option<Violation> {
    let text = || format!("is not marked as ours: it has no annotation {}", labels::COMMITMENT_UID);
    (!is_ours(slot)).then(|| Violation::new(Law::SlotUnmarked, key, text()))
}
