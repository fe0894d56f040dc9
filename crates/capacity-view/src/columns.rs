//! The room of every host side by side in memory, with the classes that take part in it: what a question about all
//! hosts reads instead of the hosts themselves. The sums are made in [`HostState`]; here they are only laid out.

use berth_core::{Bytes, Cores, Resources};

use crate::{ClassSet, HostId, HostSet, HostState};

/// Less than any request needs: the host does not say what it has.
const UNKNOWN: Resources = Resources::new(Bytes::new(i64::MIN), Cores::new(i64::MIN));

#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    present: HostSet,
    rooms: Vec<Resources>,
    blocking: Vec<ClassSet>,
}

impl Columns {
    pub(crate) fn present(&self) -> &HostSet {
        &self.present
    }

    /// Lays out the host in that place, after every change of it.
    pub(crate) fn note(&mut self, id: HostId, state: &HostState) {
        let place = id.index();
        if place >= self.rooms.len() {
            self.rooms.resize(place + 1, UNKNOWN);
            self.blocking.resize(place + 1, ClassSet::NONE);
        }
        self.present.insert(id);
        self.rooms[place] = state.room().unwrap_or(UNKNOWN);
        self.blocking[place] = state.blocking();
    }

    pub(crate) fn forget(&mut self, id: HostId) {
        self.present.remove(id);
    }

    /// The room of a host for a question that counts these classes, and the VMs; `None` when classes that do not count
    /// block something there, so that the column does not know.
    pub(crate) fn room(&self, id: HostId, counted: ClassSet) -> Option<Resources> {
        let uncounted = self.blocking.get(id.index())?.without(counted);
        (uncounted == ClassSet::NONE).then(|| self.rooms[id.index()])
    }
}
