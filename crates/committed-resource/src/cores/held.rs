//! How many cores a commitment holds according to its object.

use std::time::Duration;

use berth_core::Cores;
use berth_core::commitment::{Phase, ResourceType};
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommittedResource, CommittedResourceSpec, facts};
use jiff::Timestamp;
use serde_json::Value;

use crate::facts::ready;
use crate::ledger::GroupAndZone;

/// Cores and where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) place: GroupAndZone,
    pub(crate) cores: Cores,
}

/// The accepted cores and their place, while the commitment is pending, guaranteed or confirmed, is not being deleted,
/// and has not ended at `now`. A paused commitment keeps its cores, because its end and its deletion wait. This does not
/// check whether another object with the UUID is served.
pub(crate) fn held(object: &CommittedResource, now: Timestamp, paused: bool) -> Option<Held> {
    let accepted = facts::accepted_spec(object).filter(|spec| spec.resource == ResourceType::Cores)?;
    let phase = facts::spec(object).phase(now);
    let stays = phase == Phase::Wanted && object.metadata.deletion_timestamp.is_none();
    (paused || stays).then(|| Held { place: GroupAndZone::of(&accepted), cores: accepted.cores() })
}

/// A time at which the commitment was over if its condition reports an end; conditions have whole seconds.
pub(crate) fn reported_time(object: &CommittedResource) -> Timestamp {
    let reported =
        ready(object).filter(|ready| ready.observed_generation == object.metadata.generation.unwrap_or_default());
    let ended = reported.filter(|ready| matches!(ready.reason, Some(Reason::Inactive(_))));
    ended.map_or(Timestamp::MIN, |ended| ended.since.saturating_add(Duration::from_secs(1)).unwrap_or(ended.since))
}

/// The cores of an object that was never valid: cores that were given out stay so, whatever has changed in the object
/// since.
pub(super) fn unreadable(raw: &Value, place: &GroupAndZone) -> Option<Cores> {
    let accepted: CommittedResourceSpec = serde_json::from_value(raw["status"]["acceptedSpec"].clone()).ok()?;
    let accepted = facts::spec_of(&accepted);
    (accepted.resource == ResourceType::Cores && GroupAndZone::of(&accepted) == *place).then(|| accepted.cores())
}
