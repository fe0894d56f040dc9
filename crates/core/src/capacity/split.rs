//! The split of the free capacity of a zone: groups can share hosts, and each piece of capacity is attributed to one of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem;

use super::least_host::LeastHost;
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
    /// The pools whose need fits what is left on each host.
    fitting: Vec<Vec<usize>>,
    /// The groups that have a host left, in the order of the round.
    order: Vec<usize>,
    /// The hosts of the slots of the round before and of this one, which begins at `round`. `dropped` slots were taken earlier.
    taken: Vec<usize>,
    round: usize,
    dropped: usize,
    distinct: DistinctHosts,
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
        let (order, distinct) = ((0..groups.len()).collect(), DistinctHosts::new(left.len()));
        Self { groups, pools, left, fitting, order, taken: Vec::new(), round: 0, dropped: 0, distinct }
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
        for host in &self.taken[pool.followed - self.dropped..] {
            if self.distinct.add(*host) {
                pool.least.update(*host, &self.left);
            }
        }
        pool.followed = self.dropped + self.taken.len();
        let Some(host) = pool.least.first() else { return };
        group.slots += 1;
        self.left[host] -= pool.need;
        self.taken.push(host);
    }

    /// Counts the hosts of each pool again.
    fn drop_full_hosts(&mut self) {
        let Self { pools, left, fitting, taken, round, distinct, .. } = self;
        distinct.restart();
        for &host in &taken[*round..] {
            if distinct.add(host) {
                fitting[host].retain(|pool| {
                    let pool = &mut pools[*pool];
                    let fits = pool.need.fits(left[host]);
                    pool.hosts -= usize::from(!fits);
                    fits
                });
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
        Self { need, candidates, least: LeastHost::new(need, &hosts, left), hosts: hosts.len(), followed: 0 }
    }
}

/// Hosts that were seen already.
struct DistinctHosts {
    /// The number of the last pass in which each host was seen.
    seen: Vec<u64>,
    pass: u64,
}

impl DistinctHosts {
    fn new(hosts: usize) -> Self {
        Self { seen: vec![0; hosts], pass: 0 }
    }

    fn restart(&mut self) {
        self.pass += 1;
    }

    /// False for one that was seen in this pass.
    fn add(&mut self, host: usize) -> bool {
        mem::replace(&mut self.seen[host], self.pass) != self.pass
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
