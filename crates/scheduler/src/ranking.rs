//! How a step changes the order of the hosts: the former positions of the first hosts after it, and the statistic of
//! the step. The traced run and its times are in [`crate::trace`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use berth_core::HostName;

use crate::candidates::{CandidateHost, CandidateHosts};
use crate::order::{HostRank, Ties};

/// The number of hosts from the front that are considered.
const FIRST: usize = 5;

/// The number of hosts that are sorted at once; usually no more are needed.
const FRONT: usize = 32;

/// All hosts in their order, sorted as far as needed.
#[derive(Default)]
pub(crate) struct RankedHosts<'r> {
    sorted: Vec<CandidateHost<'r>>,
    /// All hosts with the last one of the front, until more are needed.
    all: Vec<(HostRank<'r>, CandidateHost<'r>)>,
    last: Option<(HostRank<'r>, CandidateHost<'r>)>,
    others: BinaryHeap<Reverse<(HostRank<'r>, CandidateHost<'r>)>>,
}

impl<'r> FromIterator<(HostRank<'r>, CandidateHost<'r>)> for RankedHosts<'r> {
    fn from_iter<T: IntoIterator<Item = (HostRank<'r>, CandidateHost<'r>)>>(hosts: T) -> Self {
        let all: Vec<_> = hosts.into_iter().collect();
        let front = least(all.iter().copied(), FRONT);
        let sorted = front.iter().map(|(_, host)| *host).collect();
        Self { sorted, all, last: front.last().copied(), others: BinaryHeap::new() }
    }
}

impl<'r> RankedHosts<'r> {
    fn get(&mut self, place: usize) -> Option<CandidateHost<'r>> {
        while self.sorted.len() <= place {
            let (all, last) = (mem::take(&mut self.all), self.last);
            self.others.extend(all.into_iter().filter(|host| last.is_some_and(|last| *host > last)).map(Reverse));
            let Reverse((_, host)) = self.others.pop()?;
            self.sorted.push(host);
        }
        self.sorted.get(place).copied()
    }

    /// Which places the first hosts that a filter has kept had among those that it saw.
    pub(crate) fn origins(&mut self, saw: &CandidateHosts<'r>, kept: &CandidateHosts<'r>) -> Vec<usize> {
        let (mut origins, mut place, mut seen) = (Vec::with_capacity(FIRST), 0, 0);
        while let Some(host) = self.get(place).filter(|_| origins.len() < FIRST) {
            if kept.has(host) {
                origins.push(seen);
            }
            seen += usize::from(saw.has(host));
            place += 1;
        }
        origins
    }
}

/// The feasible hosts as every weigher sees them.
#[derive(Default)]
pub(crate) struct Ranking<'r> {
    weights: Vec<f64>,
    before: Vec<HostRank<'r>>,
}

impl<'r> Ranking<'r> {
    pub(crate) fn new(ties: Ties, names: &[&'r HostName], weights: Vec<f64>) -> Self {
        let before = names.iter().zip(&weights).map(|(name, weight)| ties.rank(*weight, name)).collect();
        Self { weights, before }
    }

    /// The places of the first hosts after a weigher that adds this, best first.
    pub(crate) fn after(&self, added: impl Fn(usize) -> f64) -> Vec<usize> {
        let weigh = |(place, before): (usize, &HostRank<'r>)| before.with(self.weights[place] + added(place));
        first(&self.before.iter().enumerate().map(weigh).collect::<Vec<_>>())
    }

    /// The index that each of these hosts had before.
    pub(crate) fn origins(&self, after: &[usize]) -> Vec<usize> {
        let earlier = |place: &usize| self.before.iter().filter(|rank| **rank < self.before[*place]).count();
        after.iter().map(earlier).collect()
    }

    /// For each of the first hosts that has moved: how far, times how much its statistic differs from that of the host
    /// whose index it has taken.
    pub(crate) fn impact(&self, after: &[usize], statistic: &[f64]) -> f64 {
        let before = first(&self.before);
        let moved = after.iter().zip(self.origins(after)).zip(before).enumerate();
        moved
            .map(|(index, ((place, origin), replaced))| {
                let steps = u32::try_from(index.abs_diff(origin)).unwrap_or(u32::MAX);
                f64::from(steps) * (statistic[replaced] - statistic[*place]).abs()
            })
            .sum()
    }
}

/// The places of the first hosts, best first.
fn first(ranks: &[HostRank<'_>]) -> Vec<usize> {
    let ranked = ranks.iter().zip(0..);
    least(ranked, FIRST).into_iter().map(|(_, place)| place).collect()
}

/// The least of all things, in order. There are few of them: most things are compared once and forgotten.
fn least<T: Ord>(things: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let mut least: Vec<T> = Vec::with_capacity(most);
    for thing in things {
        if least.len() == most {
            if least.last().is_none_or(|last| thing >= *last) {
                continue;
            }
            least.pop();
        }
        let place = least.partition_point(|other| *other <= thing);
        least.insert(place, thing);
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TieBreak;

    fn standing(names: &[HostName], weights: &[f64]) -> (Vec<usize>, f64) {
        let names: Vec<&HostName> = names.iter().collect();
        let standing = Ranking::new(Ties::new(TieBreak::Name, "vm"), &names, vec![0.0; names.len()]);
        let after = standing.after(|place| weights[place]);
        (standing.origins(&after), standing.impact(&after, weights))
    }

    #[test]
    fn the_impact_of_a_weigher_is_its_reordering() {
        let names = ["a", "b", "c"].map(HostName::from);
        let hosts: Vec<&HostName> = names.iter().collect();
        let before = Ranking::new(Ties::new(TieBreak::Name, "vm"), &hosts, vec![0.0; 3]);
        // Any weights that cause the order c, a, b.
        let after = before.after(|place| [2.0, 1.0, 3.0][place]);
        assert_eq!((before.origins(&after), before.impact(&after, &[1.0, 2.0, 4.0])), (vec![2, 0, 1], 9.0));
    }

    #[test]
    fn what_stays_has_no_impact() {
        let names = ["a", "b", "c"].map(HostName::from);
        assert_eq!(standing(&names, &[3.0, 2.0, 1.0]), (vec![0, 1, 2], 0.0));
        assert_eq!(standing(&names, &[1.0, 2.0, 4.0]), (vec![2, 1, 0], 12.0));
    }

    #[test]
    fn only_the_first_five_are_compared() {
        let names: Vec<HostName> = ["a", "b", "c", "d", "e", "f", "g"].map(HostName::from).into();
        let (origins, impact) = standing(&names, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!((origins, impact), (vec![6, 0, 1, 2, 3], 6.0));
    }

    /// Also where the hosts that a filter keeps are far apart.
    #[test]
    fn a_line_gives_all_hosts_in_their_order() {
        let names: Vec<HostName> = (0..200).map(|number| format!("{:03}", number * 77 % 200).into()).collect();
        let ties = Ties::new(TieBreak::Name, "vm");
        let line = || {
            names
                .iter()
                .map(|name| (ties.rank(0.0, name), CandidateHost::UnknownHost(name)))
                .collect::<RankedHosts<'_>>()
        };
        let mut sorted: Vec<&HostName> = names.iter().collect();
        sorted.sort();
        let mut commitment = line();
        for (place, name) in sorted.iter().enumerate() {
            assert_eq!(commitment.get(place), Some(CandidateHost::UnknownHost(name)));
        }
        assert_eq!(commitment.get(200), None);
        let field =
            |from: usize| CandidateHosts { unknown_hosts: sorted[from..].to_vec(), ..CandidateHosts::default() };
        for from in [0, 3, 30, 31, 32, 33, 150, 197, 200] {
            let expected: Vec<usize> = (from..200).take(FIRST).collect();
            assert_eq!(line().origins(&field(0), &field(from)), expected, "{from}");
            assert_eq!(line().origins(&field(from), &field(from)), (0..expected.len()).collect::<Vec<_>>(), "{from}");
        }
    }
}
