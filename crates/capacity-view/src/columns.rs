//! The capacities of all hosts side by side in memory, which a question about all hosts reads instead of the hosts.

use berth_core::{Bytes, Cores, Resources};

use crate::{ClassSet, HostId, HostSet, HostState};

/// Less than any request needs, because the capacity of the host is unknown.
const UNKNOWN: Resources = Resources::new(Bytes::new(i64::MIN), Cores::new(i64::MIN));

#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    present: HostSet,
    free_capacities: Vec<Resources>,
    blocking: Vec<ClassSet>,
}

impl Columns {
    pub(crate) fn present(&self) -> &HostSet {
        &self.present
    }

    /// Lays out the host in that place, after every change of it.
    pub(crate) fn note(&mut self, id: HostId, state: &HostState) {
        let place = id.index();
        if place >= self.free_capacities.len() {
            self.free_capacities.resize(place + 1, UNKNOWN);
            self.blocking.resize(place + 1, ClassSet::NONE);
        }
        self.present.insert(id);
        self.free_capacities[place] = state.free_capacity().unwrap_or(UNKNOWN);
        self.blocking[place] = state.blocking();
    }

    pub(crate) fn forget(&mut self, id: HostId) {
        self.present.remove(id);
    }

    /// The capacity of a host for a question that counts these classes, and the VMs; `None` when classes that do not
    /// count block something there, so that the column does not know.
    pub(crate) fn free_capacity(&self, id: HostId, counted: ClassSet) -> Option<Resources> {
        let uncounted = self.blocking.get(id.index())?.without(counted);
        (uncounted == ClassSet::NONE).then(|| self.free_capacities[id.index()])
    }
}
