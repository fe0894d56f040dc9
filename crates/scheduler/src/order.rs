//! The order of hosts: first tier, then weight, then the tie-break. Nothing here depends on the order in which hosts
//! are passed in.

use berth_core::HostName;

/// How hosts of equal weight are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of instance and host, so that different VMs spread over equal hosts.
    #[default]
    Hash,
    Name,
}

/// Hosts to be put in order, each known by its place in the lists.
pub(crate) struct Contest<'c, N> {
    pub(crate) weights: &'c [f64],
    pub(crate) first: &'c [usize],
    pub(crate) ties: Ties,
    pub(crate) name: N,
}

impl<'r, N: Fn(usize) -> &'r str> Contest<'_, N> {
    /// The places of the hosts, best first, at most `limit` of them (0 keeps all).
    pub(crate) fn order(&self, limit: usize) -> Vec<usize> {
        if limit == 1 {
            return self.best().into_iter().collect();
        }
        let mut order = self.sorted(self.first.iter().copied());
        order.extend(self.sorted((0..self.weights.len()).filter(|place| !self.first.contains(place))));
        if limit > 0 {
            order.truncate(limit);
        }
        order
    }

    /// The first host, without putting the others in order.
    fn best(&self) -> Option<usize> {
        let all = || 0..self.weights.len();
        if self.first.is_empty() { self.best_of(all()) } else { self.best_of(self.first.iter().copied()) }
    }

    fn best_of(&self, places: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let weight = |place: usize| self.weights[place];
        let most = places.clone().map(weight).fold(f64::NEG_INFINITY, f64::max);
        let mut best = places.filter(|place| weight(*place) >= most);
        let first = best.next()?;
        let Some(second) = best.next() else { return Some(first) };
        [first, second].into_iter().chain(best).map(|place| (self.tie(place), place)).min().map(|(_, place)| place)
    }

    fn sorted(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut keys: Vec<(u64, usize)> = places.map(|place| (descending(self.weights[place]), place)).collect();
        keys.sort_unstable();
        let mut tied = Vec::new();
        for equal in keys.chunk_by_mut(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            tied.clear();
            tied.extend(equal.iter().map(|(_, place)| (self.tie(*place), *place)));
            tied.sort_unstable();
            for (key, (_, place)) in equal.iter_mut().zip(&tied) {
                key.1 = *place;
            }
        }
        keys.into_iter().map(|(_, place)| place).collect()
    }

    fn tie(&self, place: usize) -> (u64, &'r str) {
        self.ties.key((self.name)(place))
    }
}

/// The rank of a host: a smaller one is a better host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostRank<'n> {
    weight: u64,
    tie: (u64, &'n str),
}

impl HostRank<'_> {
    pub(crate) fn with(self, weight: f64) -> Self {
        Self { weight: descending(weight), ..self }
    }
}

/// A number that is the smaller the greater the weight; the same for 0 and -0.
fn descending(weight: f64) -> u64 {
    let bits = (weight + 0.0).to_bits();
    if weight < 0.0 { bits } else { !bits & !(1 << 63) }
}

/// The tie-break of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    by: TieBreak,
    /// The hash over the instance and the separator, from which each host's goes on.
    prefix: u64,
}

impl Ties {
    pub(crate) fn new(by: TieBreak, instance: &str) -> Self {
        Self { by, prefix: fnv1a64(fnv1a64(FNV_OFFSET, instance.as_bytes()), &[0]) }
    }

    pub(crate) fn rank<'n>(&self, weight: f64, name: &'n HostName) -> HostRank<'n> {
        HostRank { weight: descending(weight), tie: self.key(name.as_str()) }
    }

    /// Hosts of equal weight are ordered by this key.
    fn key<'n>(&self, name: &'n str) -> (u64, &'n str) {
        match self.by {
            TieBreak::Hash => (fmix64(fnv1a64(self.prefix, name.as_bytes())), name),
            TieBreak::Name => (0, name),
        }
    }
}

/// A hash of a text, the same everywhere.
pub(crate) fn hash(text: &str) -> u64 {
    fmix64(fnv1a64(FNV_OFFSET, text.as_bytes()))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

fn fnv1a64(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

fn fmix64(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(hosts: &[(&str, f64, bool)], instance: &str, by: TieBreak, limit: usize) -> Vec<String> {
        let weights: Vec<f64> = hosts.iter().map(|(_, weight, _)| *weight).collect();
        let first: Vec<usize> = (0..hosts.len()).filter(|place| hosts[*place].2).collect();
        let name = |place: usize| hosts[place].0;
        let contest = Contest { weights: &weights, first: &first, ties: Ties::new(by, instance), name };
        contest.order(limit).into_iter().map(|place| hosts[place].0.to_owned()).collect()
    }

    #[test]
    fn the_hash_of_a_tie_break() {
        assert_eq!(fnv1a64(FNV_OFFSET, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fmix64(1), 0xb456_bcfc_34c2_cb2c);
        let key = |instance: &str, host: &str| Ties::new(TieBreak::Hash, instance).key(host).0;
        for (instance, keys) in [
            (
                "11111111-2222-3333-4444-555555555555",
                [0xd868_fe94_c21c_8ffc_u64, 0x1bdb_31cf_845f_c5e3, 0x51a5_0d09_7dc5_f1d3],
            ),
            ("cr-slot-0", [0x6fc2_f7f2_2b86_5eb0, 0x515a_17be_9e97_7455, 0xc795_ef29_898a_9ac9]),
        ] {
            assert_eq!(["node001", "node002", "node003"].map(|host| key(instance, host)), keys, "{instance}");
        }
    }

    #[test]
    fn order_of_equal_hosts() {
        let equal = [("node001", 0.0, false), ("node002", -0.0, false), ("node003", 0.0, false)];
        let vm = "11111111-2222-3333-4444-555555555555";
        assert_eq!(order(&equal, vm, TieBreak::Hash, 0), ["node002", "node003", "node001"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 0), ["node002", "node001", "node003"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Name, 0), ["node001", "node002", "node003"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 1), ["node002"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 2), ["node002", "node001"]);
        assert_eq!(order(&[], "cr-slot-0", TieBreak::Hash, 1), [""; 0]);
    }

    #[test]
    fn tier_before_weight_before_name() {
        let hosts = [("a", 0.5, false), ("b", 0.1, true), ("c", 0.9, false), ("d", 0.2, true)];
        assert_eq!(order(&hosts, "x", TieBreak::Hash, 0), ["d", "b", "c", "a"]);
        assert_eq!(order(&hosts, "x", TieBreak::Hash, 1), ["d"]);
    }

    fn weight() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(-1.0), -2.0..2.0, -1e300..1e300]
    }

    proptest! {
        #[test]
        fn the_order_of_equal_hosts_is_that_of_the_tie_break(weights in proptest::collection::vec((weight(), any::<bool>()), 0..12)) {
            const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
            let hosts: Vec<_> = NAMES.iter().zip(&weights).map(|(name, (weight, first))| (*name, *weight, *first)).collect();
            let ties = Ties::new(TieBreak::Hash, "x");
            let mut expected = hosts.clone();
            expected.sort_by(|a, b| {
                b.2.cmp(&a.2).then(b.1.partial_cmp(&a.1).unwrap()).then_with(|| ties.key(a.0).cmp(&ties.key(b.0)))
            });
            let expected: Vec<&str> = expected.iter().map(|host| host.0).collect();
            for limit in [0, 1, 2, 5, 20] {
                let kept = if limit == 0 { expected.len() } else { limit.min(expected.len()) };
                prop_assert_eq!(order(&hosts, "x", TieBreak::Hash, limit), &expected[..kept]);
            }
        }
    }
}
