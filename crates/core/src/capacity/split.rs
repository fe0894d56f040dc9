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
struct Sharing {
    groups: Vec<Group>,
    /// What is left on each host.
    left: Vec<Resources>,
    /// The groups whose need fits what is left on each host, with that need.
    fitting: Vec<Vec<(usize, Resources)>>,
    /// The groups that have a host left, in the order of the round.
    order: Vec<usize>,
    /// The hosts of the slots of the round, and of the round before.
    taken: Vec<usize>,
    taken_before: Vec<usize>,
    distinct: DistinctHosts,
}

struct Group {
    need: Resources,
    /// Its place among groups with the same number of hosts.
    rank: usize,
    /// Its candidates that the need fits.
    least: LeastHost,
    /// How many of them there were at the end of the last round.
    hosts: usize,
    /// How many slots of the round had been taken when it followed the changes of hosts.
    followed: usize,
    slots: u64,
}

impl Sharing {
    fn new(groups: &[SharingGroup], free: &[Resources]) -> Self {
        let left: Vec<Resources> = free.iter().map(|free| free.at_least_zero()).collect();
        let mut fitting = vec![Vec::new(); left.len()];
        let ranks = ranks(groups);
        let group = |(at, group): (usize, &SharingGroup)| {
            let need = group.need.at_least_zero();
            let fits = |host: &usize| need != Resources::ZERO && left.get(*host).is_some_and(|left| need.fits(*left));
            let hosts: Vec<usize> = group.candidates.iter().copied().filter(fits).collect();
            for host in &hosts {
                fitting[*host].push((at, need));
            }
            let least = LeastHost::new(need, &hosts, &left);
            Group { need, rank: ranks[at], least, hosts: hosts.len(), followed: 0, slots: 0 }
        };
        let groups: Vec<Group> = groups.iter().enumerate().map(group).collect();
        let (order, distinct) = ((0..groups.len()).collect(), DistinctHosts::new(left.len()));
        Self { groups, left, fitting, order, taken: Vec::new(), taken_before: Vec::new(), distinct }
    }

    /// Lets each group take a slot; false if none could.
    fn run_round(&mut self) -> bool {
        mem::swap(&mut self.taken, &mut self.taken_before);
        self.taken.clear();
        let groups = &self.groups;
        self.order.retain(|group| groups[*group].hosts > 0);
        self.order.sort_unstable_by_key(|group| (groups[*group].hosts, groups[*group].rank));
        for at in 0..self.order.len() {
            self.take_slot(self.order[at]);
        }
        self.drop_full_hosts();
        !self.order.is_empty()
    }

    /// A host that several groups have taken slots from since the last turn of the group is followed once.
    fn take_slot(&mut self, number: usize) {
        let group = &mut self.groups[number];
        self.distinct.restart();
        for host in self.taken_before[group.followed..].iter().chain(&self.taken) {
            if self.distinct.add(*host) {
                group.least.update(*host, &self.left);
            }
        }
        group.followed = self.taken.len();
        let Some(host) = group.least.first() else { return };
        group.slots += 1;
        self.left[host] -= group.need;
        self.taken.push(host);
    }

    /// Counts the hosts of each group again.
    fn drop_full_hosts(&mut self) {
        let Self { groups, left, fitting, taken, distinct, .. } = self;
        distinct.restart();
        for &host in &*taken {
            if distinct.add(host) {
                fitting[host].retain(|&(group, need)| {
                    let fits = need.fits(left[host]);
                    groups[group].hosts -= usize::from(!fits);
                    fits
                });
            }
        }
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
