//! The host where a group takes its next slot. Groups fill one host after the other, so few hosts are in use at a time, however many there
//! are: those in use are in a small tree, and the others are sorted once.

use std::cmp::Reverse;

use crate::units::Resources;

/// What hosts are ordered by: the memory that would be wasted at the end, the memory, the cores, the position.
type Rank = (i64, i64, i64, u32);

/// Of a host that the need does not fit.
const LAST: Rank = (i64::MAX, i64::MAX, i64::MAX, u32::MAX);

fn rank(need: Resources, host: usize, left: Resources) -> Rank {
    let (memory, cpu) = (left.memory.get(), left.cpu.get());
    let wasted = memory.checked_rem(need.memory.get()).unwrap_or(0);
    (wasted, memory, cpu, u32::try_from(host).unwrap_or(u32::MAX))
}

/// The hosts that slots were taken from and that may have room for more. Each has a place, which the next host gets when it is full.
#[derive(Clone, Debug)]
pub(super) struct HostsInUse {
    places: Vec<Place>,
    vacant: Vec<usize>,
    states: Vec<HostState>,
}

/// A host in use, or the one that was there last. What is often read is together.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) host: usize,
    pub(super) left: Resources,
    /// Whether a group may use the host and its need has fitted at the end of the last round, by the numbers of the groups.
    pub(super) has_fitted: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostState {
    Untouched,
    At { place: usize },
    Full,
}

impl HostsInUse {
    pub(super) fn new(hosts: usize) -> Self {
        Self { places: Vec::new(), vacant: Vec::new(), states: vec![HostState::Untouched; hosts] }
    }

    /// The place of a host, which `enter` describes if it was untouched.
    pub(super) fn find(&mut self, host: usize, enter: impl FnOnce() -> Place) -> usize {
        if let HostState::At { place } = self.states[host] {
            return place;
        }
        let place = self.vacant.pop().unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(enter());
        } else {
            self.places[place] = enter();
        }
        self.states[host] = HostState::At { place };
        place
    }

    pub(super) fn get(&self, place: usize) -> &Place {
        &self.places[place]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut Place {
        &mut self.places[place]
    }

    /// No need fits the host any more.
    pub(super) fn release(&mut self, place: usize) {
        self.states[self.places[place].host] = HostState::Full;
        self.vacant.push(place);
    }

    fn is_untouched(&self, host: usize) -> bool {
        self.states[host] == HostState::Untouched
    }
}

/// The host with the smallest rank for a group.
#[derive(Clone, Debug)]
pub(super) struct LeastHost {
    /// Its number among those that share the hosts.
    number: usize,
    need: Resources,
    /// The candidates that were untouched at first, the best one at the end.
    untouched: Vec<Rank>,
    in_use: RankTree,
}

impl LeastHost {
    /// `hosts` are those that the need fits, of all that `left` has. None is in use.
    pub(super) fn new(number: usize, need: Resources, hosts: &[usize], left: &[Resources]) -> Self {
        let mut untouched: Vec<Rank> = hosts.iter().map(|host| rank(need, *host, left[*host])).collect();
        untouched.sort_unstable_by_key(|rank| Reverse(*rank));
        Self { number, need, untouched, in_use: RankTree::default() }
    }

    /// The host with the smallest rank, once all places of which less is left than before were updated.
    pub(super) fn first(&mut self, hosts: &HostsInUse) -> Option<usize> {
        while self.untouched.pop_if(|(.., host)| !hosts.is_untouched(*host as usize)).is_some() {}
        let best = self.in_use.first().min(self.untouched.last().copied().unwrap_or(LAST));
        (best != LAST).then_some(best.3 as usize)
    }

    /// What is left on the host at this place has changed, or another host is there. Places that have changed together may be updated
    /// in any order.
    pub(super) fn update(&mut self, place: usize, hosts: &HostsInUse) {
        let Place { host, left, has_fitted } = hosts.get(place);
        let fits = has_fitted[self.number] && self.need.fits(*left);
        self.in_use.set(place, if fits { rank(self.need, *host, *left) } else { LAST });
    }
}

/// The smallest of some ranks.
#[derive(Clone, Debug, Default)]
struct RankTree {
    /// A power of two, or none.
    ranks: Vec<Rank>,
    /// The place with the smallest rank below each node. The root is at 1, the children of `n` are at `2n` and `2n + 1`, and all places follow.
    least: Vec<u32>,
}

impl RankTree {
    fn first(&self) -> Rank {
        self.least.get(1).map_or(LAST, |place| self.ranks[*place as usize])
    }

    fn set(&mut self, place: usize, rank: Rank) {
        if place >= self.ranks.len() {
            self.grow(place + 1);
        }
        self.ranks[place] = rank;
        let mut node = self.ranks.len() / 2 + place / 2;
        while node > 0 {
            let least = self.least_of_children(node);
            if self.least[node] == least && least as usize != place {
                // Above this node the place counted for nothing and still does.
                return;
            }
            self.least[node] = least;
            node /= 2;
        }
    }

    fn least_of_children(&self, node: usize) -> u32 {
        let (left, right) = (self.least[2 * node], self.least[2 * node + 1]);
        if self.ranks[left as usize] <= self.ranks[right as usize] { left } else { right }
    }

    fn grow(&mut self, places: usize) {
        let places = places.next_power_of_two();
        self.ranks.resize(places, LAST);
        self.least = vec![0; places];
        self.least.extend((0..).take(places));
        for node in (1..places).rev() {
            self.least[node] = self.least_of_children(node);
        }
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

    /// Some hosts and one group.
    struct Scene {
        left: Vec<Resources>,
        candidates: Vec<usize>,
        hosts: HostsInUse,
        least: LeastHost,
    }

    impl Scene {
        fn new(need: Resources, candidates: &[usize], left: Vec<Resources>) -> Self {
            let (hosts, least) = (HostsInUse::new(left.len()), LeastHost::new(0, need, candidates, &left));
            Self { left, candidates: candidates.to_vec(), hosts, least }
        }

        /// The place of the host.
        fn take(&mut self, host: usize, taken: Resources) -> usize {
            let has_fitted = vec![self.candidates.contains(&host)];
            let left = self.left[host];
            let place = self.hosts.find(host, || Place { host, left, has_fitted });
            self.left[host] -= taken;
            self.hosts.get_mut(place).left -= taken;
            place
        }

        fn follow(&mut self, place: usize) {
            self.least.update(place, &self.hosts);
        }

        fn first(&mut self) -> Option<usize> {
            self.least.first(&self.hosts)
        }
    }

    #[test]
    fn the_first_of_equal_hosts_counts_and_without_hosts_there_is_none() {
        let mut scene = Scene::new(size(4, 1), &[0, 1, 2], vec![size(6, 1), size(5, 1), size(5, 1)]);
        for (expected, host, taken) in [(Some(1), 1, 4), (Some(2), 0, 2), (Some(0), 0, 4), (Some(2), 2, 5)] {
            assert_eq!(scene.first(), expected);
            let place = scene.take(host, size(taken, 0));
            scene.follow(place);
        }
        assert_eq!(scene.first(), None);
        assert_eq!(Scene::new(size(4, 1), &[], Vec::new()).first(), None);
    }

    #[test]
    fn a_place_is_for_the_next_host_when_its_host_is_full() {
        let mut scene = Scene::new(size(4, 1), &[0, 2], vec![size(4, 1), size(9, 9), size(8, 2)]);
        let place = scene.take(0, size(4, 1));
        scene.hosts.release(place);
        assert_eq!((scene.take(2, size(4, 1)), scene.hosts.get(place).host), (place, 2));
        scene.follow(place);
        assert_eq!(scene.first(), Some(2));
        let place = scene.take(1, size(1, 0));
        scene.follow(place);
        assert_eq!(scene.first(), Some(2), "the other host is no candidate");
    }

    proptest! {
        /// Several hosts change before the group follows.
        #[test]
        fn the_host_is_that_which_a_walk_finds(
            hosts in prop::collection::vec((3..40_i64, 1..4_i64, any::<bool>()), 1..20),
            takes in prop::collection::vec(
                prop::collection::vec((any::<prop::sample::Index>(), 1..8_i64), 1..5), 0..30),
        ) {
            let need = size(3, 1);
            let left: Vec<Resources> = hosts.iter().map(|(memory, cpu, _)| size(*memory, *cpu)).collect();
            let candidates: Vec<usize> = (0..hosts.len()).filter(|host| hosts[*host].2).collect();
            let mut scene = Scene::new(need, &candidates, left);
            for take in takes {
                prop_assert_eq!(scene.first(), walk(need, &candidates, &scene.left));
                let mut places = Vec::new();
                for (at, memory) in take {
                    places.push(scene.take(at.index(hosts.len()), size(memory, 0)));
                }
                for place in places {
                    scene.follow(place);
                }
            }
        }
    }
}
