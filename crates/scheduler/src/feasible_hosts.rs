//! The hosts that the filters have left, as one list: those with a Hypervisor in the order of their places, then the
//! others. Weighers answer in this order.

use berth_capacity_view::HostId;
use berth_core::HostName;

use crate::candidates::{CandidateHosts, Inputs};
use crate::fleet::Fleet;

pub(crate) struct FeasibleHosts<'r> {
    fleet: &'r Fleet,
    pub(crate) known: Vec<HostId>,
    pub(crate) unknown_hosts: Vec<&'r HostName>,
}

impl<'r> FeasibleHosts<'r> {
    pub(crate) fn new(fleet: &'r Fleet, field: CandidateHosts<'r>) -> Self {
        let mut known = Vec::with_capacity(field.known.len());
        known.extend(field.known.iter());
        Self { fleet, known, unknown_hosts: field.unknown_hosts }
    }

    /// The weight that the caller gives to each.
    pub(crate) fn input_weights(&self, inputs: &Inputs<'r>) -> Vec<f64> {
        let known = self.known.iter().map(|id| inputs.of_known(*id));
        known.chain(self.unknown_hosts.iter().map(|name| inputs.of_unknown_host(name))).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len() + self.unknown_hosts.len()
    }

    /// The host in that place of the list.
    pub(crate) fn name(&self, place: usize) -> Option<&'r HostName> {
        match self.known.get(place) {
            Some(id) => self.fleet.columns().name(*id),
            None => self.unknown_hosts.get(place - self.known.len()).copied(),
        }
    }

    /// The place of a host in the list.
    pub(crate) fn place(&self, name: &HostName) -> Option<usize> {
        match self.fleet.view.id(name) {
            Some(id) => self.known.binary_search(&id).ok(),
            None => self
                .unknown_hosts
                .iter()
                .position(|unknown_host| *unknown_host == name)
                .map(|place| self.known.len() + place),
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
