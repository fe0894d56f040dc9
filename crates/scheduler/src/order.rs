//! The order of hosts: first tier, then weight, then the tie-break (document 60 section 3.6 with B15). Nothing here
//! depends on the order in which hosts are passed in.

use std::cmp::Ordering;

use crate::fleet::Candidate;

/// How hosts of equal weight are ordered (document 60 section 3.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// By a hash of instance and host, so that different VMs spread over equal hosts.
    #[default]
    Hash,
    /// By host name.
    Name,
}

/// A host with its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed<'r> {
    pub(crate) host: Candidate<'r>,
    pub(crate) weight: f64,
    /// It comes before all hosts without this mark.
    pub(crate) first: bool,
}

impl Weighed<'_> {
    /// Better first; equal weights are equal here.
    fn compare(&self, other: &Self) -> Ordering {
        let weight = || other.weight.partial_cmp(&self.weight).unwrap_or(Ordering::Equal);
        other.first.cmp(&self.first).then_with(weight)
    }
}

/// Sorts the hosts, best first, and keeps at most `limit` of them (0 keeps all).
pub(crate) fn sort(hosts: &mut Vec<Weighed<'_>>, limit: usize, ties: &Ties) {
    if limit == 1 {
        keep_best(hosts, ties);
        return;
    }
    hosts.sort_unstable_by(Weighed::compare);
    for equal in hosts.chunk_by_mut(|a, b| a.compare(b).is_eq()).filter(|equal| equal.len() > 1) {
        equal.sort_by_cached_key(|weighed| ties.key(weighed));
    }
    if limit > 0 {
        hosts.truncate(limit);
    }
}

/// The same for a limit of one, in one pass.
fn keep_best(hosts: &mut Vec<Weighed<'_>>, ties: &Ties) {
    let Some(best) = hosts.iter().copied().min_by(Weighed::compare) else { return };
    hosts.retain(|weighed| weighed.compare(&best).is_eq());
    if hosts.len() > 1 {
        let best = hosts.iter().copied().min_by_cached(|weighed| ties.key(weighed));
        hosts.clear();
        hosts.extend(best);
    }
}

/// The minimum by a key that is dear to compute.
trait MinByCached: Iterator + Sized {
    fn min_by_cached<K: Ord>(self, key: impl Fn(&Self::Item) -> K) -> Option<Self::Item> {
        self.map(|item| (key(&item), item)).min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, item)| item)
    }
}

impl<I: Iterator> MinByCached for I {}

/// The tie-break of one request.
pub(crate) struct Ties {
    by: TieBreak,
    /// The hash over the instance and the separator, from which each host's goes on.
    prefix: u64,
}

impl Ties {
    pub(crate) fn new(by: TieBreak, instance: &str) -> Self {
        Self { by, prefix: fnv1a64(fnv1a64(FNV_OFFSET, instance.as_bytes()), &[0]) }
    }

    fn key<'r>(&self, weighed: &Weighed<'r>) -> (u64, &'r str) {
        let name = weighed.host.name.as_str();
        match self.by {
            TieBreak::Hash => (fmix64(fnv1a64(self.prefix, name.as_bytes())), name),
            TieBreak::Name => (0, name),
        }
    }
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
    use berth_core::HostName;

    use super::*;

    fn order(weights: &[(&str, f64, bool)], instance: &str, by: TieBreak, limit: usize) -> Vec<String> {
        let names: Vec<HostName> = weights.iter().map(|(name, ..)| (*name).into()).collect();
        let mut hosts: Vec<Weighed<'_>> = names
            .iter()
            .zip(weights)
            .map(|(name, (_, weight, first))| Weighed {
                host: Candidate { name, seen: None },
                weight: *weight,
                first: *first,
            })
            .collect();
        sort(&mut hosts, limit, &Ties::new(by, instance));
        hosts.iter().map(|weighed| weighed.host.name.to_string()).collect()
    }

    #[test]
    fn document_60_section_3_6_hash() {
        assert_eq!(fnv1a64(FNV_OFFSET, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fmix64(1), 0xb456_bcfc_34c2_cb2c);
        let key = |instance: &str, host: &str| {
            let name = HostName::from(host);
            let weighed = Weighed { host: Candidate { name: &name, seen: None }, weight: 0.0, first: false };
            Ties::new(TieBreak::Hash, instance).key(&weighed).0
        };
        let vm = "11111111-2222-3333-4444-555555555555";
        assert_eq!(key(vm, "node001"), 0xd868_fe94_c21c_8ffc);
        assert_eq!(key(vm, "node002"), 0x1bdb_31cf_845f_c5e3);
        assert_eq!(key("cr-slot-0", "node003"), 0xc795_ef29_898a_9ac9);
    }

    #[test]
    fn document_60_section_3_6_order_of_equal_hosts() {
        let equal = [("node001", 0.0, false), ("node002", -0.0, false), ("node003", 0.0, false)];
        let vm = "11111111-2222-3333-4444-555555555555";
        assert_eq!(order(&equal, vm, TieBreak::Hash, 0), ["node002", "node003", "node001"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 0), ["node002", "node001", "node003"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Name, 0), ["node001", "node002", "node003"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 1), ["node002"]);
        assert_eq!(order(&equal, "cr-slot-0", TieBreak::Hash, 2), ["node002", "node001"]);
    }

    #[test]
    fn tier_before_weight_before_name() {
        let hosts = [("a", 0.5, false), ("b", 0.1, true), ("c", 0.9, false), ("d", 0.2, true)];
        assert_eq!(order(&hosts, "x", TieBreak::Hash, 0), ["d", "b", "c", "a"]);
        assert_eq!(order(&hosts, "x", TieBreak::Hash, 1), ["d"]);
    }
}
