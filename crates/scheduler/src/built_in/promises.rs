//! Claims and assume entries, for users, and those of the leader for a dry run in another process.

use berth_capacity_view::{Assumed, HeldClaim, View};
use berth_core::{HostName, SlotKey, VmId, Zone};

use super::BuiltIn;

/// Capacity that is promised and that no object shows yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    pub claims: Vec<HeldClaim>,
    pub assumed: Vec<Assumed>,
    /// How many more of each there are.
    pub claims_left_out: usize,
    pub assumed_left_out: usize,
}

impl BuiltIn {
    /// The claims on the hosts of a zone (an empty zone means all), and the assume entries of these slots; at most so
    /// many of each.
    pub fn promises_in(&self, zone: &Zone, slots: impl Fn(&SlotKey) -> bool, most: usize) -> Promises {
        let inner = self.lock();
        let view = &inner.fleet.view;
        let is_here = |host: &HostName| zone.is_empty() || is_in(view, host, zone);
        promises(view, |held| is_here(&held.claim.host), |entry| slots(&entry.key), most)
    }

    /// The claims and the assume entries on a host, at most so many of each; `None` if the host is unknown.
    pub fn promises_on(&self, host: &HostName, most: usize) -> Option<Promises> {
        let inner = self.lock();
        let view = &inner.fleet.view;
        view.id(host)?;
        Some(promises(view, |held| held.claim.host == *host, |entry| entry.host == *host, most))
    }

    /// Takes over the promises of the leader, except those that the objects show already. The claims of `ended` do not
    /// count any more.
    pub fn adopt(&self, ended: &[VmId], promises: Promises) {
        let mut inner = self.lock();
        let fleet = &mut inner.fleet;
        for vm in ended.iter().chain(promises.claims.iter().map(|held| &held.claim.instance)) {
            fleet.view.unclaim(vm);
        }
        for held in promises.claims {
            fleet.restore(held);
        }
        for entry in promises.assumed {
            if !is_shown(&fleet.view, &entry) {
                fleet.view.assume(entry);
            }
        }
    }
}

fn is_in(view: &View, host: &HostName, zone: &Zone) -> bool {
    view.id(host).and_then(|id| view.state(id)).is_some_and(|state| state.host().zone == *zone)
}

fn is_shown(view: &View, entry: &Assumed) -> bool {
    view.reservation(&entry.key).is_some_and(|slot| entry.is_shown_by(slot))
}

fn promises(
    view: &View,
    claims: impl Fn(&&HeldClaim) -> bool,
    entries: impl Fn(&&Assumed) -> bool,
    most: usize,
) -> Promises {
    let (claims, claims_left_out) = first(view.held_claims().filter(claims), most);
    let (assumed, assumed_left_out) = first(view.all_assumed().filter(entries), most);
    Promises { claims, assumed, claims_left_out, assumed_left_out }
}

/// The first ones, and how many more there are.
fn first<'a, T: Clone + 'a>(mut all: impl Iterator<Item = &'a T>, most: usize) -> (Vec<T>, usize) {
    (all.by_ref().take(most).cloned().collect(), all.count())
}
