//! Bounds of claims: how many a project may have, how much of a zone they may take, and how much of a host one may.

use std::collections::BTreeMap;
use std::fmt;

use berth_capacity_view::{Claim, HostState, View};
use berth_core::host::Amounts;
use berth_core::{Bytes, Cores, HostName, Resources, Zone};

/// What the claims of one project may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimLimits {
    /// `scheduler.claimsPerProject`: the number of claims of a project. Together they take at most half of a zone beside the
    /// slots of the project.
    pub per_project: usize,
}

/// Why a request of a project gets no host although one was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// The project has so many claims, and may have no more.
    Number(usize),
    /// The claims of the project would take more than half of the zone.
    Share,
}

impl ClaimRefusal {
    pub const ALL: [Self; 2] = [Self::Number(0), Self::Share];

    /// The value of the label `reason` in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Share => "share",
        }
    }
}

impl fmt::Display for ClaimRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(count) => {
                write!(f, "the project has {count} claims, as many as scheduler.claimsPerProject allows")
            }
            Self::Share => {
                f.write_str("the claims of the project would take more than half of the capacity of the zone")
            }
        }
    }
}

impl ClaimLimits {
    /// Why a claim that the view already has goes beyond the limits. The only claim of a project never does.
    pub(super) fn exceeded_by(self, view: &View, claim: &Claim) -> Option<ClaimRefusal> {
        let count = view.claims_of(&claim.project).count();
        if count <= 1 {
            return None;
        }
        if count > self.per_project {
            return Some(ClaimRefusal::Number(count - 1));
        }
        let zone = &host(view, &claim.host)?.host().zone;
        let is_here = |claim: &&Claim| host(view, &claim.host).is_some_and(|host| host.host().zone == *zone);
        let claimed = beside_slots(view, view.claims_of(&claim.project).filter(is_here));
        (!has_capacity(view, zone, claimed + claimed)).then_some(ClaimRefusal::Share)
    }
}

/// The part of the claims that their slots do not cover: a slot is capacity of the project already.
fn beside_slots<'v>(view: &View, claims: impl Iterator<Item = &'v Claim>) -> Resources {
    let (mut beside, mut in_slots) = (Resources::ZERO, BTreeMap::<_, Resources>::new());
    for claim in claims {
        let slot = claim.slot.as_ref().and_then(|slot| view.reservation(slot));
        match slot.filter(|slot| slot.target_host.as_ref() == Some(&claim.host)) {
            Some(slot) => {
                *in_slots.entry(&slot.key).or_insert(Resources::ZERO - slot.size.at_least_zero()) += claim.size;
            }
            None => beside += claim.size,
        }
    }
    let uncovered = in_slots.into_values().map(Resources::at_least_zero);
    beside + uncovered.sum()
}

fn host<'v>(view: &'v View, name: &HostName) -> Option<&'v HostState> {
    view.id(name).and_then(|id| view.state(id))
}

/// Whether the hosts of a zone have this capacity together. Mostly a few of them show it.
fn has_capacity(view: &View, zone: &Zone, wanted: Resources) -> bool {
    let here = view.hosts().map(|(_, state)| state.host()).filter(|host| host.zone == *zone);
    let mut sum = Resources::ZERO;
    wanted.fits(sum)
        || here.map(|host| host.capacity.or_zero().at_least_zero()).any(|capacity| {
            sum += capacity;
            wanted.fits(sum)
        })
}

/// The part of a claim's size that takes no more than what was free on its host before it. What has no known capacity
/// is not free.
pub(super) fn cut(size: Resources, before: Option<Amounts>, after: Option<Amounts>) -> Resources {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let memory = before.memory.zip(after.memory).map(|(before, after)| (before.get(), after.get()));
    let cpu = before.cpu.zip(after.cpu).map(|(before, after)| (before.get(), after.get()));
    Resources::new(Bytes::new(part(size.memory.get(), memory)), Cores::new(part(size.cpu.get(), cpu)))
}

fn part(size: i64, free: Option<(i64, i64)>) -> i64 {
    let Some((before, after)) = free else { return 0 };
    let taken = before.saturating_sub(after).max(0);
    let beyond = after.saturating_neg().max(0).min(taken);
    size.saturating_sub(beyond).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a table with unknown amounts reads better")]
    fn amounts(memory: i64, cpu: i64) -> Option<Amounts> {
        Some(Resources::new(Bytes::new(memory), Cores::new(cpu)).into())
    }

    #[test]
    fn a_claim_is_cut_to_what_was_free() {
        for (before, after, expected) in [
            (amounts(10, 4), amounts(2, 0), (8, 4)),
            (amounts(5, 4), amounts(-3, 0), (5, 4)),
            (amounts(10, 1), amounts(2, -3), (8, 1)),
            (amounts(0, 0), amounts(-8, -4), (0, 0)),
            // Others have over-booked the host: nothing is free.
            (amounts(-2, -1), amounts(-10, -5), (0, 0)),
            // A slot covers all of it, or 6 of 8.
            (amounts(0, 0), amounts(0, 0), (8, 4)),
            (amounts(1, 4), amounts(-1, 4), (7, 4)),
            (Some(Amounts::default()), Some(Amounts::default()), (0, 0)),
            (None, None, (0, 0)),
        ] {
            let size = Resources::new(Bytes::new(8), Cores::new(4));
            let cut = cut(size, before, after);
            assert_eq!((cut.memory.get(), cut.cpu.get()), expected, "{before:?} {after:?}");
        }
    }
}
