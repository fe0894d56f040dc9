//! The split of the free capacity of a zone: groups can share hosts, and each piece of capacity is attributed to one of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::least_key::{Key, LeastKey};
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
    while sharing.play_round(&mut |_, _, _| {}) {}
    let slots = sharing.groups.iter().map(|group| group.slots).collect();
    Split { slots, left: sharing.hosts.into_iter().map(|host| host.left).collect() }
}

/// A split that has not ended yet.
struct Sharing {
    groups: Vec<Group>,
    hosts: Vec<Host>,
    /// The groups that have a host left, in the order of the last round.
    order: Vec<usize>,
}

struct Group {
    need: Resources,
    /// Its place among groups with the same number of hosts.
    rank: usize,
    /// Its candidates, as positions of hosts.
    candidates: Vec<usize>,
    /// The keys of those candidates that its need still fits.
    remaining: LeastKey,
    slots: u64,
}

struct Host {
    left: Resources,
    /// The groups whose need fits what is left, each with the position of the host among its candidates.
    groups: Vec<(usize, usize)>,
}

impl Sharing {
    fn new(groups: &[SharingGroup], free: &[Resources]) -> Self {
        let host = |free: &Resources| Host { left: free.at_least_zero(), groups: Vec::new() };
        let mut hosts: Vec<Host> = free.iter().map(host).collect();
        let ranks = ranks(groups);
        let shared =
            groups.iter().enumerate().map(|(at, group)| Group::new(group, at, ranks[at], &mut hosts)).collect();
        Self { groups: shared, hosts, order: (0..groups.len()).collect() }
    }

    /// Lets each group take a slot; false if none could. `taken` is called with the group, the host and what is left on it.
    fn play_round(&mut self, taken: &mut impl FnMut(usize, usize, Resources)) -> bool {
        let Self { groups, hosts, order } = self;
        order.retain(|group| groups[*group].remaining.len() > 0);
        order.sort_unstable_by_key(|group| (groups[*group].remaining.len(), groups[*group].rank));
        for &group in &*order {
            let Some(first) = groups[group].remaining.first() else { continue };
            let host = groups[group].candidates[first];
            groups[group].slots += 1;
            let need = groups[group].need;
            hosts[host].take(need, groups);
            taken(group, host, hosts[host].left);
        }
        !order.is_empty()
    }
}

impl Group {
    fn new(group: &SharingGroup, number: usize, rank: usize, hosts: &mut [Host]) -> Self {
        let need = group.need.at_least_zero();
        let fits = |host: &usize| need != Resources::ZERO && hosts.get(*host).is_some_and(|host| need.fits(host.left));
        let candidates: Vec<usize> = group.candidates.iter().copied().filter(fits).collect();
        for (position, host) in candidates.iter().enumerate() {
            hosts[*host].groups.push((number, position));
        }
        let keys = candidates.iter().map(|host| key(hosts[*host].left, need)).collect();
        Self { need, rank, candidates, remaining: LeastKey::new(keys), slots: 0 }
    }
}

impl Host {
    fn take(&mut self, need: Resources, groups: &mut [Group]) {
        self.left -= need;
        let left = self.left;
        self.groups.retain(|&(group, position)| {
            let Group { need, remaining, .. } = &mut groups[group];
            let fits = need.fits(left);
            if fits {
                remaining.update(position, key(left, *need));
            } else {
                remaining.remove(position);
            }
            fits
        });
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

fn key(left: Resources, need: Resources) -> Key {
    let memory = left.memory.get();
    (memory.checked_rem(need.memory.get()).unwrap_or(0), memory, left.cpu.get())
}

#[cfg(test)]
mod tests;
