//! The hosts in one dense list with an index by name, so that a request reads them in memory order.

use std::collections::BTreeMap;

use berth_core::HostName;

use crate::columns::Columns;
use crate::{HostId, HostState};

#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    ids: BTreeMap<HostName, HostId>,
    states: Vec<Option<HostState>>,
    unused: Vec<HostId>,
    columns: Columns,
}

impl Hosts {
    pub(crate) fn id(&self, name: &HostName) -> Option<HostId> {
        self.ids.get(name).copied()
    }

    pub(crate) fn get(&self, id: HostId) -> Option<&HostState> {
        self.states.get(id.0)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: HostId) -> Option<&mut HostState> {
        self.states.get_mut(id.0)?.as_mut()
    }

    pub(crate) fn insert(&mut self, state: HostState) -> HostId {
        let name = state.host().name.clone();
        let id = self.unused.pop().unwrap_or(HostId(self.states.len()));
        if id.0 == self.states.len() {
            self.states.push(None);
        }
        self.states[id.0] = Some(state);
        self.ids.insert(name, id);
        id
    }

    pub(crate) fn remove(&mut self, name: &HostName) -> Option<HostId> {
        let id = self.ids.remove(name)?;
        self.states[id.0] = None;
        self.columns.forget(id);
        self.unused.push(id);
        Some(id)
    }

    /// Lays a host out in the columns: the end of every change of its sums.
    pub(crate) fn note(&mut self, id: HostId) {
        if let Some(Some(state)) = self.states.get(id.0) {
            self.columns.note(id, state);
        }
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (HostId, &HostState)> {
        self.states.iter().enumerate().filter_map(|(id, state)| Some((HostId(id), state.as_ref()?)))
    }

    pub(crate) fn by_name(&self) -> impl Iterator<Item = (&HostName, &HostState)> {
        self.ids.iter().filter_map(|(name, id)| Some((name, self.get(*id)?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}
