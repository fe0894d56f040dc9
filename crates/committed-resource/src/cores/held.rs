//! How many cores a commitment holds, as its object shows it.

use berth_core::Cores;
use berth_core::commitment::{Phase, ResourceType};
use berth_crds::conditions::commitment::Reason;
use berth_crds::{CommitmentState, CommittedResource, CommittedResourceSpec, facts};
use jiff::Timestamp;
use serde_json::Value;

use crate::facts::ready;
use crate::ledger::Place;

/// Cores and where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) place: Place,
    pub(crate) cores: Cores,
}

/// What was accepted, where it was accepted, while the commitment is pending, guaranteed or confirmed, is not going
/// away, and is not over: by what was said about it, or at `now`. One that is frozen keeps what it has, because its end
/// and its deletion wait. Whether another object is served in its place is not asked here.
pub(crate) fn held(object: &CommittedResource, now: Option<Timestamp>, frozen: bool) -> Option<Held> {
    let accepted = facts::accepted_spec(object).filter(|spec| spec.resource == ResourceType::Cores)?;
    let phase = facts::spec(object).phase(now.unwrap_or(Timestamp::MIN));
    let stays = phase == Phase::Wanted && object.metadata.deletion_timestamp.is_none() && !was_over(object);
    (frozen || stays).then(|| Held { place: Place::of(&accepted), cores: accepted.cores() })
}

/// A clock that is set back does not bring it to life.
fn was_over(object: &CommittedResource) -> bool {
    let over = [CommitmentState::Superseded, CommitmentState::Expired].map(|state| Some(Reason::Inactive(state)));
    let said =
        ready(object).filter(|ready| ready.observed_generation == object.metadata.generation.unwrap_or_default());
    said.is_some_and(|ready| over.contains(&ready.reason))
}

/// What an object holds in a place that was never readable: cores that were given out stay so, whatever was done to the
/// object since.
pub(super) fn unreadable(raw: &Value, place: &Place) -> Option<Cores> {
    let accepted: CommittedResourceSpec = serde_json::from_value(raw["status"]["acceptedSpec"].clone()).ok()?;
    let accepted = facts::spec_of(&accepted);
    (accepted.resource == ResourceType::Cores && Place::of(&accepted) == *place).then(|| accepted.cores())
}
