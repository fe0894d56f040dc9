//! The smallest of many keys that change all the time: an update compares a few keys, where a walk would compare all.

use std::fmt;

/// What hosts are ordered by: the remainder of the memory, the memory, the cores.
pub(super) type Key = (i64, i64, i64);

/// Keys by their positions, as a tree of the positions with the smallest ones. Of equal keys that at the first position counts.
#[derive(Clone)]
pub(super) struct LeastKey {
    keys: Vec<Key>,
    /// The root is at 1, the children of `n` are at `2n` and `2n + 1`, and the positions follow from `leaves` on.
    least: Vec<u32>,
    leaves: usize,
    present: usize,
}

/// No memory leaves such a remainder.
const ABSENT: Key = (i64::MAX, i64::MAX, i64::MAX);

impl LeastKey {
    pub(super) fn new(mut keys: Vec<Key>) -> Self {
        let (leaves, present) = (keys.len().next_power_of_two(), keys.len());
        keys.resize(leaves, ABSENT);
        let mut least: Vec<u32> = vec![0; leaves];
        least.extend(0..u32::try_from(leaves).unwrap_or(u32::MAX));
        let mut tree = Self { keys, least, leaves, present };
        (1..leaves).rev().for_each(|node| tree.least[node] = tree.smaller_child(node));
        tree
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.present
    }

    /// The position of the smallest key.
    pub(super) fn first(&self) -> Option<usize> {
        (self.present > 0).then(|| self.least[1] as usize)
    }

    /// Gives a key that is there another value.
    pub(super) fn update(&mut self, position: usize, key: Key) {
        self.keys[position] = key;
        let mut node = self.leaves + position;
        while node > 1 {
            node /= 2;
            let (before, after) = (self.least[node], self.smaller_child(node));
            if before as usize != position && after as usize != position {
                // Above this node the key counted for nothing and still does.
                return;
            }
            self.least[node] = after;
        }
    }

    /// Removes a key that is there.
    pub(super) fn remove(&mut self, position: usize) {
        self.present -= 1;
        self.update(position, ABSENT);
    }

    fn smaller_child(&self, node: usize) -> u32 {
        let (left, right) = (self.least[2 * node], self.least[2 * node + 1]);
        if self.keys[right as usize] < self.keys[left as usize] { right } else { left }
    }
}

impl fmt::Debug for LeastKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastKey").field("present", &self.present).field("first", &self.first()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_of_equal_keys_counts_and_without_keys_there_is_none() {
        let mut tree = LeastKey::new(vec![(2, 0, 0), (1, 5, 0), (1, 5, 0)]);
        assert_eq!((tree.first(), tree.len()), (Some(1), 3));
        tree.remove(1);
        assert_eq!((tree.first(), tree.len()), (Some(2), 2));
        tree.update(0, (1, 4, 9));
        assert_eq!(tree.first(), Some(0));
        tree.remove(0);
        tree.remove(2);
        assert_eq!((tree.first(), tree.len()), (None, 0));
        assert_eq!(LeastKey::new(Vec::new()).first(), None);
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_a_walk_finds(
            keys in prop::collection::vec((0..4_i64, 0..3_i64, 0..3_i64), 0..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of((0..4_i64, 0..3_i64, 0..3_i64))), 0..60),
        ) {
            let (mut tree, mut plain) = (LeastKey::new(keys.clone()), keys.into_iter().map(Some).collect::<Vec<_>>());
            for (at, key) in changes {
                let present: Vec<usize> = (0..plain.len()).filter(|at| plain[*at].is_some()).collect();
                prop_assert_eq!(tree.len(), present.len());
                prop_assert_eq!(tree.first(), present.iter().copied().min_by_key(|at| (plain[*at], *at)));
                let Some(&at) = (!present.is_empty()).then(|| &present[at.index(present.len())]) else { break };
                plain[at] = key;
                match key {
                    Some(key) => tree.update(at, key),
                    None => tree.remove(at),
                }
            }
        }
    }
}
