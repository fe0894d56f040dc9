//! How a step changes the order of the hosts (document 60 section 11 with B27): where the first hosts after it stood
//! before, and what that means in the statistic of the step. The traced run and its times are in [`crate::trace`].

use std::{cmp::Reverse, collections::BinaryHeap};

use berth_core::HostName;

use crate::order::{Rank, Ties};

/// So many hosts from the front are looked at.
const FIRST: usize = 5;

/// All hosts in their order. It is put in order only as far as somebody asks: mostly the first few hosts do.
#[derive(Default)]
pub(crate) struct Line<'r> {
    sorted: Vec<&'r HostName>,
    others: BinaryHeap<Reverse<(Rank<'r>, &'r HostName)>>,
}

impl<'r> FromIterator<(Rank<'r>, &'r HostName)> for Line<'r> {
    fn from_iter<T: IntoIterator<Item = (Rank<'r>, &'r HostName)>>(hosts: T) -> Self {
        Self { sorted: Vec::new(), others: hosts.into_iter().map(Reverse).collect() }
    }
}

impl<'r> Line<'r> {
    fn get(&mut self, place: usize) -> Option<&'r HostName> {
        while self.sorted.len() <= place {
            let Reverse((_, name)) = self.others.pop()?;
            self.sorted.push(name);
        }
        self.sorted.get(place).copied()
    }

    /// Which places the first hosts that a filter has kept had among those that it saw.
    pub(crate) fn origins(&mut self, saw: impl Fn(&HostName) -> bool, kept: impl Fn(&HostName) -> bool) -> Vec<usize> {
        let (mut origins, mut place, mut seen) = (Vec::with_capacity(FIRST), 0, 0);
        while let Some(name) = self.get(place).filter(|_| origins.len() < FIRST) {
            if kept(name) {
                origins.push(seen);
            }
            seen += usize::from(saw(name));
            place += 1;
        }
        origins
    }
}

/// The survivors as every weigher sees them.
#[derive(Default)]
pub(crate) struct Standing<'r> {
    weights: Vec<f64>,
    before: Vec<Rank<'r>>,
}

impl<'r> Standing<'r> {
    pub(crate) fn new(ties: Ties, names: &[&'r HostName], weights: Vec<f64>) -> Self {
        let before = names.iter().zip(&weights).map(|(name, weight)| ties.rank(*weight, name)).collect();
        Self { weights, before }
    }

    /// The places of the first hosts after a weigher that adds this, best first.
    pub(crate) fn after(&self, added: impl Fn(usize) -> f64) -> Vec<usize> {
        let weigh = |(place, before): (usize, &Rank<'r>)| before.with(self.weights[place] + added(place));
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
fn first(ranks: &[Rank<'_>]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..ranks.len()).collect();
    if places.len() > FIRST {
        places.select_nth_unstable_by_key(FIRST - 1, |place| ranks[*place]);
        places.truncate(FIRST);
    }
    places.sort_unstable_by_key(|place| ranks[*place]);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TieBreak;

    fn standing(names: &[HostName], weights: &[f64]) -> (Vec<usize>, f64) {
        let names: Vec<&HostName> = names.iter().collect();
        let standing = Standing::new(Ties::new(TieBreak::Name, "vm"), &names, vec![0.0; names.len()]);
        let after = standing.after(|place| weights[place]);
        (standing.origins(&after), standing.impact(&after, weights))
    }

    #[test]
    fn document_60_section_11_impact() {
        let names = ["a", "b", "c"].map(HostName::from);
        let hosts: Vec<&HostName> = names.iter().collect();
        let before = Standing::new(Ties::new(TieBreak::Name, "vm"), &hosts, vec![0.0; 3]);
        // The document does not say what brings about its order c, a, b; any weights that do will.
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
    fn only_the_first_five_are_looked_at() {
        let names: Vec<HostName> = ["a", "b", "c", "d", "e", "f", "g"].map(HostName::from).into();
        let (origins, impact) = standing(&names, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!((origins, impact), (vec![6, 0, 1, 2, 3], 6.0));
    }
}
