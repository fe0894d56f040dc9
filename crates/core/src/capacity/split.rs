//! The split of the free capacity of a zone: groups can share hosts, and each piece of capacity is attributed to one of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem;

use super::least_host::{HostsInUse, LeastHost, Place};
use crate::ids::GroupName;
use crate::units::Resources;

/// A group that takes part in a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharingGroup {
    pub name: GroupName,
    /// The size of its smallest flavor. A group that needs nothing gets nothing.
    pub need: Resources,
    /// The hosts on which the scheduler would place a VM of it, by their positions.
    pub candidates: BTreeSet<usize>,
}

/// The result of a split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The slots of each group, in the order of the groups.
    pub slots: Vec<u64>,
    /// What is left on each host, in the order of the hosts.
    pub left: Vec<Resources>,
}

/// Attributes free capacity to groups slot by slot. `free` has the hosts in the order of their names; what is negative counts
/// as zero.
///
/// Each group takes one slot per round, those with the fewest hosts first. It takes it where the least memory would be wasted
/// at the end, then where the least is free, so that hosts are filled one after the other. The result depends only on the values.
pub fn split(groups: &[SharingGroup], free: &[Resources]) -> Split {
    let mut sharing = Sharing::new(groups, free);
    while sharing.run_round() {}
    Split { slots: sharing.groups.iter().map(|group| group.slots).collect(), left: sharing.left }
}

/// A split that has not ended yet.
struct Sharing<'a> {
    groups: Vec<Group>,
    pools: Vec<Pool<'a>>,
    /// What is left on each host.
    left: Vec<Resources>,
    /// The pools whose need fits each host that nothing was taken from.
    fitting: Vec<Vec<usize>>,
    /// The groups that have a host left, in the order of the round.
    order: Vec<usize>,
    in_use: HostsInUse,
    /// The places of the hosts of the slots of the round before and of this one, which begins at `round`. `dropped` slots were taken
    /// earlier.
    taken: Vec<usize>,
    round: usize,
    dropped: usize,
    distinct: DistinctPlaces,
}

struct Group {
    /// Its place among groups with the same number of hosts.
    rank: usize,
    /// The position of its pool.
    pool: usize,
    slots: u64,
}

/// What groups with the same need and the same candidates share.
struct Pool<'a> {
    need: Resources,
    candidates: &'a BTreeSet<usize>,
    /// The candidates that the need fits.
    least: LeastHost,
    /// How many of them there were at the end of the last round.
    hosts: usize,
    /// How many slots had been taken when it followed the changes of hosts.
    followed: usize,
}

impl<'a> Sharing<'a> {
    fn new(all: &'a [SharingGroup], free: &[Resources]) -> Self {
        let left: Vec<Resources> = free.iter().map(|free| free.at_least_zero()).collect();
        let (mut fitting, mut groups) = (vec![Vec::new(); left.len()], Vec::new());
        let mut pools: Vec<Pool<'a>> = Vec::new();
        for (group, rank) in all.iter().zip(ranks(all)) {
            let need = group.need.at_least_zero();
            let is_shared = |pool: &Pool<'_>| pool.need == need && *pool.candidates == group.candidates;
            let pool = pools.iter().position(is_shared).unwrap_or_else(|| {
                pools.push(Pool::new(pools.len(), need, &group.candidates, &left, &mut fitting));
                pools.len() - 1
            });
            groups.push(Group { rank, pool, slots: 0 });
        }
        let (order, in_use) = ((0..groups.len()).collect(), HostsInUse::new(left.len()));
        let (taken, distinct) = (Vec::new(), DistinctPlaces::default());
        Self { groups, pools, left, fitting, order, in_use, taken, round: 0, dropped: 0, distinct }
    }

    /// Lets each group take a slot; false if none could.
    fn run_round(&mut self) -> bool {
        self.taken.drain(..self.round);
        self.dropped += self.round;
        self.round = self.taken.len();
        let hosts = |group: &usize| self.pools[self.groups[*group].pool].hosts;
        self.order.retain(|group| hosts(group) > 0);
        self.order.sort_unstable_by_key(|group| (hosts(group), self.groups[*group].rank));
        for at in 0..self.order.len() {
            self.take_slot(self.order[at]);
        }
        self.drop_full_hosts();
        !self.order.is_empty()
    }

    /// A host that several groups have taken slots from since the pool followed is followed once.
    fn take_slot(&mut self, number: usize) {
        let group = &mut self.groups[number];
        let pool = &mut self.pools[group.pool];
        self.distinct.restart();
        for place in &self.taken[pool.followed - self.dropped..] {
            if self.distinct.add(*place) {
                pool.least.update(*place, &self.in_use);
            }
        }
        pool.followed = self.dropped + self.taken.len();
        let Some(host) = pool.least.first(&self.in_use) else { return };
        let need = pool.need;
        group.slots += 1;
        let place = self.find_place(host);
        self.in_use.get_mut(place).left -= need;
        self.left[host] -= need;
        self.taken.push(place);
    }

    fn find_place(&mut self, host: usize) -> usize {
        let Self { in_use, left, fitting, pools, .. } = self;
        in_use.find(host, || {
            let mut has_fitted = vec![false; pools.len()];
            fitting[host].iter().for_each(|pool| has_fitted[*pool] = true);
            Place { host, left: left[host], has_fitted }
        })
    }

    /// Counts the hosts of each pool again. Pools that have not followed yet find nothing at the place of a full host, or the next one.
    fn drop_full_hosts(&mut self) {
        let Self { pools, in_use, taken, round, distinct, .. } = self;
        distinct.restart();
        for &at in &taken[*round..] {
            if !distinct.add(at) {
                continue;
            }
            let Place { left, has_fitted, .. } = in_use.get_mut(at);
            for (pool, fits) in pools.iter_mut().zip(&mut *has_fitted).filter(|(_, fits)| **fits) {
                *fits = pool.need.fits(*left);
                pool.hosts -= usize::from(!*fits);
            }
            if !has_fitted.contains(&true) {
                in_use.release(at);
            }
        }
    }
}

impl<'a> Pool<'a> {
    /// The pool at this position. It is added to the pools that fit its hosts.
    fn new(
        at: usize,
        need: Resources,
        candidates: &'a BTreeSet<usize>,
        left: &[Resources],
        fitting: &mut [Vec<usize>],
    ) -> Self {
        let fits = |host: &usize| need != Resources::ZERO && left.get(*host).is_some_and(|left| need.fits(*left));
        let hosts: Vec<usize> = candidates.iter().copied().filter(fits).collect();
        for host in &hosts {
            fitting[*host].push(at);
        }
        Self { need, candidates, least: LeastHost::new(at, need, &hosts, left), hosts: hosts.len(), followed: 0 }
    }
}

/// Places that were seen already.
#[derive(Default)]
struct DistinctPlaces {
    /// The number of the last pass in which each place was seen.
    seen: Vec<u64>,
    pass: u64,
}

impl DistinctPlaces {
    fn restart(&mut self) {
        self.pass += 1;
    }

    /// False for one that was seen in this pass.
    fn add(&mut self, place: usize) -> bool {
        if place >= self.seen.len() {
            self.seen.resize(place + 1, 0);
        }
        mem::replace(&mut self.seen[place], self.pass) != self.pass
    }
}

/// The most memory first, then the most cores, then by name.
fn ranks(groups: &[SharingGroup]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..groups.len()).collect();
    sorted.sort_by_key(|at| {
        let SharingGroup { name, need, .. } = &groups[*at];
        (Reverse(need.memory), Reverse(need.cpu), name)
    });
    let mut ranks = vec![0; groups.len()];
    for (rank, at) in sorted.into_iter().enumerate() {
        ranks[at] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests;
