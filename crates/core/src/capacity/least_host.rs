//! The host where a group takes its next slot, in a tree that follows the changes of what is left on hosts.

use std::fmt;

use crate::units::Resources;

/// What hosts are ordered by: the memory that would be wasted at the end, the memory, the cores.
type Key = (i64, i64, i64);

/// The host with the smallest key for a group, as a tree of its hosts. Of equal keys that of the first host counts.
///
/// The tree has no keys: they are computed from what is left when hosts are compared, so that the trees of all groups fit into the
/// cache of a processor.
#[derive(Clone)]
pub(super) struct LeastHost {
    need: Resources,
    /// The root is at 1, the children of `n` are at `2n` and `2n + 1`, and all hosts follow from `leaves` on.
    least: Vec<u32>,
    leaves: usize,
}

/// A host that the need does not fit, or no host below a node.
const NONE: u32 = u32::MAX;

impl LeastHost {
    /// `hosts` are those that the need fits, of all that `left` has.
    pub(super) fn new(need: Resources, hosts: &[usize], left: &[Resources]) -> Self {
        let leaves = left.len().next_power_of_two();
        let mut tree = Self { need, least: vec![NONE; 2 * leaves], leaves };
        for host in hosts {
            tree.least[leaves + host] = u32::try_from(*host).unwrap_or(NONE);
        }
        for node in (1..leaves).rev() {
            let children = [tree.least[2 * node], tree.least[2 * node + 1]];
            let least = children.into_iter().filter(|host| *host != NONE).min_by_key(|host| tree.rank(*host, left));
            tree.least[node] = least.unwrap_or(NONE);
        }
        tree
    }

    /// The host with the smallest key, once all hosts of which less is left than before were updated.
    pub(super) fn first(&self) -> Option<usize> {
        Some(self.least[1]).filter(|host| *host != NONE).map(|host| host as usize)
    }

    /// What is left on a host has changed. One that the need no longer fits is removed. Hosts that have changed together
    /// may be updated in any order.
    pub(super) fn update(&mut self, host: usize, left: &[Resources]) {
        let mut node = self.leaves + host;
        let Some(changed) = Some(self.least[node]).filter(|leaf| *leaf != NONE) else { return };
        let mut best = self.need.fits(left[host]).then(|| self.rank(changed, left));
        if best.is_none() {
            self.least[node] = NONE;
        }
        while node > 1 {
            let sibling = self.least[node ^ 1];
            if sibling != NONE {
                let other = self.rank(sibling, left);
                best = Some(best.map_or(other, |best| best.min(other)));
            }
            node /= 2;
            let (before, after) = (self.least[node], best.map_or(NONE, |(_, host)| host));
            if before == after && after != changed {
                // Above this node the host counted for nothing and still does.
                return;
            }
            self.least[node] = after;
        }
    }

    fn rank(&self, host: u32, left: &[Resources]) -> (Key, u32) {
        let Resources { memory, cpu } = left[host as usize];
        let memory = memory.get();
        let wasted = memory.checked_rem(self.need.memory.get()).unwrap_or(0);
        ((wasted, memory, cpu.get()), host)
    }
}

impl fmt::Debug for LeastHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastHost").field("need", &self.need).field("first", &self.first()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{Bytes, Cores};

    fn size(memory: i64, cpu: i64) -> Resources {
        Resources::new(Bytes::new(memory), Cores::new(cpu))
    }

    /// Of memory without a remainder, then the least, then the fewest cores, then the first.
    fn walk(need: Resources, hosts: &[usize], left: &[Resources]) -> Option<usize> {
        let fitting = hosts.iter().copied().filter(|host| need.fits(left[*host]));
        let rank = |host: &usize| {
            let Resources { memory, cpu } = left[*host];
            (memory.get() % need.memory.get(), memory, cpu, *host)
        };
        fitting.min_by_key(rank)
    }

    #[test]
    fn the_first_of_equal_hosts_counts_and_without_hosts_there_is_none() {
        let mut left = vec![size(6, 1), size(5, 1), size(5, 1)];
        let mut tree = LeastHost::new(size(4, 1), &[0, 1, 2], &left);
        assert_eq!(tree.first(), Some(1));
        left[1] = size(1, 1);
        tree.update(1, &left);
        assert_eq!(tree.first(), Some(2));
        left[0] = size(4, 1);
        tree.update(0, &left);
        assert_eq!(tree.first(), Some(0));
        (left[0], left[2]) = (size(0, 1), size(0, 1));
        tree.update(0, &left);
        tree.update(2, &left);
        assert_eq!(tree.first(), None);
        assert_eq!(LeastHost::new(size(4, 1), &[], &[]).first(), None);
    }

    proptest! {
        /// Several hosts change before the tree follows.
        #[test]
        fn the_tree_finds_what_a_walk_finds(
            hosts in prop::collection::vec((3..40_i64, 1..4_i64, any::<bool>()), 0..20),
            takes in prop::collection::vec(
                prop::collection::vec((any::<prop::sample::Index>(), 1..8_i64), 1..5), 0..30),
        ) {
            let need = size(3, 1);
            let mut left: Vec<Resources> = hosts.iter().map(|(memory, cpu, _)| size(*memory, *cpu)).collect();
            let candidates: Vec<usize> = (0..hosts.len()).filter(|host| hosts[*host].2).collect();
            let mut tree = LeastHost::new(need, &candidates, &left);
            for take in takes {
                prop_assert_eq!(tree.first(), walk(need, &candidates, &left));
                if hosts.is_empty() {
                    break;
                }
                let changed: Vec<usize> = take.iter().map(|(at, _)| at.index(hosts.len())).collect();
                for (host, (_, memory)) in changed.iter().zip(&take) {
                    left[*host] -= size(*memory, 0);
                }
                for host in changed {
                    tree.update(host, &left);
                }
            }
        }
    }
}
