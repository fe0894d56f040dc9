//! A set of hosts as bits, so that narrowing a set costs one instruction per 64 hosts.

const BITS: usize = u64::BITS as usize;

/// The index of a host in the list. It does not change while the host is known, and is reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub(crate) usize);

impl HostId {
    /// The bare place, for columns that are kept beside the view.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A set of hosts. Sets of different lengths go together: a place beyond the end is not in the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSet {
    words: Vec<u64>,
}

static NONE: HostSet = HostSet { words: Vec::new() };

impl HostSet {
    pub fn none() -> &'static Self {
        &NONE
    }

    /// Adds a host; true when it was not in the set.
    pub fn insert(&mut self, id: HostId) -> bool {
        let (word, bit) = split(id);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes a host; true when it was in the set.
    pub fn remove(&mut self, id: HostId) -> bool {
        let (word, bit) = split(id);
        let Some(bits) = self.words.get_mut(word) else { return false };
        let known = *bits & bit != 0;
        *bits &= !bit;
        known
    }

    pub fn set(&mut self, id: HostId, member: bool) {
        if member {
            self.insert(id)
        } else {
            self.remove(id)
        };
    }

    /// True when the host is in the set.
    pub fn has(&self, id: HostId) -> bool {
        let (word, bit) = split(id);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub fn len(&self) -> usize {
        self.words.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// True without hosts.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|bits| *bits == 0)
    }

    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Keeps the hosts that are in the other set as well.
    pub fn keep(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (bits, others) in self.words.iter_mut().zip(&other.words) {
            *bits &= others;
        }
    }

    pub fn drop(&mut self, other: &Self) {
        for (bits, others) in self.words.iter_mut().zip(&other.words) {
            *bits &= !others;
        }
    }

    pub fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (bits, others) in self.words.iter_mut().zip(&other.words) {
            *bits |= others;
        }
    }

    /// Keeps the hosts for which this is true.
    pub fn retain(&mut self, keep: impl FnMut(HostId) -> bool) {
        self.retain_in(None, keep);
    }

    /// Keeps the hosts that are not among these, and of these the ones for which this is true.
    pub fn retain_among(&mut self, checked: &Self, keep: impl FnMut(HostId) -> bool) {
        self.retain_in(Some(checked), keep);
    }

    fn retain_in(&mut self, checked: Option<&Self>, mut keep: impl FnMut(HostId) -> bool) {
        for (word, bits) in self.words.iter_mut().enumerate() {
            let mut open = *bits & checked.map_or(u64::MAX, |checked| checked.words.get(word).copied().unwrap_or(0));
            while open != 0 {
                let place = open.trailing_zeros() as usize;
                let gone = u64::from(!keep(HostId(word * BITS + place)));
                *bits &= !(gone << place);
                open &= open - 1;
            }
        }
    }

    /// The hosts in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = HostId> {
        self.iter_from(0)
    }

    /// The hosts from this place on, in their order.
    pub fn iter_from(&self, place: usize) -> impl Iterator<Item = HostId> {
        let (first, passed) = (place / BITS, place % BITS);
        self.words.iter().enumerate().skip(first).flat_map(move |(word, bits)| {
            let mut open = if word == first { bits & (u64::MAX << passed) } else { *bits };
            std::iter::from_fn(move || {
                (open != 0).then(|| {
                    let place = open.trailing_zeros() as usize;
                    open &= open - 1;
                    HostId(word * BITS + place)
                })
            })
        })
    }
}

impl Extend<HostId> for HostSet {
    fn extend<T: IntoIterator<Item = HostId>>(&mut self, ids: T) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl FromIterator<HostId> for HostSet {
    fn from_iter<T: IntoIterator<Item = HostId>>(ids: T) -> Self {
        let mut set = Self::default();
        set.extend(ids);
        set
    }
}

fn split(HostId(place): HostId) -> (usize, u64) {
    (place / BITS, 1 << (place % BITS))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn any_places() -> impl Strategy<Value = BTreeSet<usize>> {
        proptest::collection::btree_set(0_usize..300, 0..60)
    }

    fn set(places: &BTreeSet<usize>) -> HostSet {
        places.iter().map(|place| HostId(*place)).collect()
    }

    fn places(set: &HostSet) -> BTreeSet<usize> {
        set.iter().map(HostId::index).collect()
    }

    proptest! {
        #[test]
        fn sets_of_hosts_are_sets(a in any_places(), b in any_places()) {
            let change = |with: fn(&mut HostSet, &HostSet)| {
                let mut changed = set(&a);
                with(&mut changed, &set(&b));
                (places(&changed), changed.len(), changed.is_empty())
            };
            let expect = |all: BTreeSet<usize>| (all.clone(), all.len(), all.is_empty());
            prop_assert_eq!(change(HostSet::keep), expect(&a & &b));
            prop_assert_eq!(change(HostSet::drop), expect(&a - &b));
            prop_assert_eq!(change(HostSet::add), expect(&a | &b));
            prop_assert_eq!(change(|set, _| set.clear()), expect(BTreeSet::new()));
            let odd = |id: HostId| id.index() % 2 == 1;
            prop_assert_eq!(change(|set, _| set.retain(|id| id.index() % 2 == 1)), expect(a.iter().copied().filter(|place| place % 2 == 1).collect()));
            let mut among = set(&a);
            among.retain_among(&set(&b), odd);
            prop_assert_eq!(places(&among), a.iter().copied().filter(|place| !b.contains(place) || place % 2 == 1).collect());
        }

        #[test]
        fn members_come_and_go(a in any_places(), place in 0_usize..300) {
            let (mut changed, id, known) = (set(&a), HostId(place), a.contains(&place));
            prop_assert_eq!(changed.has(id), known);
            let rest: Vec<usize> = changed.iter_from(place).map(HostId::index).collect();
            prop_assert_eq!(rest, a.range(place..).copied().collect::<Vec<_>>());
            prop_assert_eq!((changed.insert(id), changed.has(id)), (!known, true));
            prop_assert_eq!((changed.remove(id), changed.has(id), changed.remove(id)), (true, false, false));
            changed.set(id, known);
            prop_assert_eq!(places(&changed), a);
        }
    }
}
