//! The first of many commitments that has enough left, found in logarithmic time: when all VMs and commitments share one
//! place, a walk through the commitments would take a hundred times as long as sorting the VMs.

/// Amounts in an order, as a tree of the largest remaining ones.
#[derive(Clone, Debug)]
pub(super) struct FirstFit {
    /// The root is at 1, the children of `n` are at `2n` and `2n + 1`, and the amounts follow from `leaves` on.
    largest: Vec<i64>,
    leaves: usize,
}

impl FirstFit {
    /// Negative amounts are zero.
    pub(super) fn new(amounts: &[i64]) -> Self {
        let leaves = amounts.len().next_power_of_two();
        // What fills up the last level fits nothing.
        let mut largest = vec![-1; 2 * leaves];
        for (at, amount) in amounts.iter().enumerate() {
            largest[leaves + at] = (*amount).max(0);
        }
        let mut tree = Self { largest, leaves };
        (1..leaves).rev().for_each(|node| tree.update(node));
        tree
    }

    /// Takes `size`, which is above zero, from the first amount that has it left, and returns its position.
    pub(super) fn take(&mut self, size: i64) -> Option<usize> {
        if self.largest[1] < size {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.largest[node] < size);
        }
        self.largest[node] -= size;
        let position = node - self.leaves;
        while node > 1 {
            node /= 2;
            self.update(node);
        }
        Some(position)
    }

    fn update(&mut self, node: usize) {
        self.largest[node] = self.largest[2 * node].max(self.largest[2 * node + 1]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_amount_that_has_enough_left_is_taken_from() {
        let mut tree = FirstFit::new(&[4, 10, 5]);
        assert_eq!(tree.take(5), Some(1));
        assert_eq!(tree.take(5), Some(1), "exactly what is left");
        assert_eq!(tree.take(5), Some(2));
        assert_eq!(tree.take(5), None);
        assert_eq!(tree.take(4), Some(0));
        assert_eq!(tree.take(1), None);
    }

    #[test]
    fn without_amounts_nothing_is_taken() {
        assert_eq!(FirstFit::new(&[]).take(1), None);
        assert_eq!(FirstFit::new(&[0, -7]).take(1), None);
        assert_eq!(FirstFit::new(&[i64::MAX]).take(i64::MAX), Some(0));
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_a_walk_finds(
            amounts in prop::collection::vec(0..30_i64, 0..20),
            sizes in prop::collection::vec(1..12_i64, 0..60),
        ) {
            let (mut tree, mut left) = (FirstFit::new(&amounts), amounts);
            for size in sizes {
                let walked = left.iter().position(|amount| *amount >= size);
                if let Some(at) = walked {
                    left[at] -= size;
                }
                prop_assert_eq!(tree.take(size), walked);
            }
        }
    }
}
