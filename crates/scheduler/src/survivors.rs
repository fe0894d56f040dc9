//! The hosts that the filters have left, as one list: those with a Hypervisor in the order of their places, then the
//! others. Weighers answer in this order.

use berth_capacity_view::HostId;
use berth_core::HostName;

use crate::field::{Field, Inputs};
use crate::fleet::Fleet;

pub(crate) struct Survivors<'r> {
    fleet: &'r Fleet,
    /// Those with a Hypervisor.
    pub(crate) known: Vec<HostId>,
    /// Those without one.
    pub(crate) strangers: Vec<&'r HostName>,
}

impl<'r> Survivors<'r> {
    pub(crate) fn new(fleet: &'r Fleet, field: Field<'r>) -> Self {
        let mut known = Vec::with_capacity(field.known.len());
        known.extend(field.known.iter());
        Self { fleet, known, strangers: field.strangers }
    }

    /// The weight that the caller gives to each.
    pub(crate) fn input_weights(&self, inputs: &Inputs<'r>) -> Vec<f64> {
        let known = self.known.iter().map(|id| inputs.of_known(*id));
        known.chain(self.strangers.iter().map(|name| inputs.of_stranger(name))).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len() + self.strangers.len()
    }

    /// The host in that place of the list.
    pub(crate) fn name(&self, place: usize) -> Option<&'r HostName> {
        match self.known.get(place) {
            Some(id) => self.fleet.columns().name(*id),
            None => self.strangers.get(place - self.known.len()).copied(),
        }
    }

    /// The place of a host in the list.
    pub(crate) fn place(&self, name: &HostName) -> Option<usize> {
        match self.fleet.view.id(name) {
            Some(id) => self.known.binary_search(&id).ok(),
            None => self.strangers.iter().position(|stranger| *stranger == name).map(|place| self.known.len() + place),
        }
    }

    /// The places of hosts, each once.
    pub(crate) fn places<'n>(&self, names: impl Iterator<Item = &'n HostName>) -> Vec<usize> {
        let mut places: Vec<usize> = names.filter_map(|name| self.place(name)).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// An activation for each host; 0 for one without a Hypervisor.
    pub(crate) fn score(&self, score: impl FnMut(HostId) -> f64) -> Vec<f64> {
        let mut scores = Vec::with_capacity(self.len());
        scores.extend(self.known.iter().copied().map(score));
        scores.resize(self.len(), 0.0);
        scores
    }
}
