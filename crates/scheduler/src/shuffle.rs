//! Mixing the head of a list by chance that the caller brings: the same seed gives the same order (document 60 section
//! 2.5 step 8).

/// Every order of the items is as likely as any other, as far as 64 bits of seed allow.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        items.swap(last, below(next(&mut state), last + 1));
    }
}

/// The generator splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number below `limit`: the high half of a product.
fn below(number: u64, limit: usize) -> usize {
    let product = u128::from(number) * limit as u128;
    usize::try_from(product >> 64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut state = 0;
        assert_eq!([next(&mut state), next(&mut state)], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn every_order_comes_about_as_often_as_any_other() {
        let mut orders: BTreeMap<[u8; 3], usize> = BTreeMap::new();
        for seed in 0..6_000 {
            let mut items = [1, 2, 3];
            shuffle(&mut items, seed);
            *orders.entry(items).or_default() += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
    }

    #[test]
    fn nothing_and_one_stay_as_they_are() {
        let mut none: [u8; 0] = [];
        shuffle(&mut none, 1);
        let mut one = [1];
        shuffle(&mut one, 1);
        assert_eq!(one, [1]);
    }
}
