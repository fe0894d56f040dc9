//! The hosts as a request sees them: the capacity view with a prepared row beside each host. Rows and view change
//! together, here and nowhere else.

use std::collections::BTreeSet;

use berth_capacity_view::{HostChange, HostId, HostState, View};
use berth_core::{ClusterName, HostName, host::Host};

use crate::{
    row::Row,
    symbols::{Symbol, Symbols},
};

#[derive(Clone, Debug, Default)]
pub(crate) struct Fleet {
    pub(crate) view: View,
    rows: Vec<Row>,
    symbols: Symbols,
    withheld: BTreeSet<ClusterName>,
}

/// A host that a request may choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'r> {
    pub(crate) name: &'r HostName,
    /// `None` for a host that a caller lists and that has no Hypervisor.
    pub(crate) seen: Option<Seen<'r>>,
}

/// A host with a Hypervisor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'r> {
    pub(crate) id: HostId,
    pub(crate) row: &'r Row,
    pub(crate) state: &'r HostState,
}

impl<'r> Seen<'r> {
    pub(crate) fn host(&self) -> &'r Host {
        self.state.host()
    }
}

impl Fleet {
    pub(crate) fn set_host(&mut self, host: Host) -> HostChange {
        let row = Row::new(&host, &mut self.symbols, self.withheld.contains(&host.cluster));
        let change = self.view.set_host(host);
        let place = change.id.index();
        if place >= self.rows.len() {
            self.rows.resize_with(place + 1, Row::default);
        }
        self.rows[place] = row;
        change
    }

    /// Withholds the hosts of a cluster, or offers them again; returns the hosts that are offered again.
    pub(crate) fn withhold(&mut self, cluster: &ClusterName, withhold: bool) -> Vec<HostId> {
        let changed = if withhold { self.withheld.insert(cluster.clone()) } else { self.withheld.remove(cluster) };
        if !changed {
            return Vec::new();
        }
        let hosts = self.view.hosts().filter(|(_, state)| state.host().cluster == *cluster);
        let ids: Vec<HostId> = hosts.map(|(id, _)| id).collect();
        for id in &ids {
            if let Some(row) = self.rows.get_mut(id.index()) {
                row.withheld = withhold;
            }
        }
        if withhold { Vec::new() } else { ids }
    }

    /// The symbol of a zone or trait that a request names.
    pub(crate) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.symbols.get(name)
    }

    /// All hosts.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.view.hosts().filter_map(|(id, state)| self.with(id, state))
    }

    /// The host in that place.
    pub(crate) fn at(&self, id: HostId) -> Option<Candidate<'_>> {
        self.with(id, self.view.state(id)?)
    }

    /// The host of that name, with or without a Hypervisor.
    pub(crate) fn named<'r>(&'r self, name: &'r HostName) -> Candidate<'r> {
        self.view.id(name).and_then(|id| self.at(id)).unwrap_or(Candidate { name, seen: None })
    }

    fn with<'r>(&'r self, id: HostId, state: &'r HostState) -> Option<Candidate<'r>> {
        let row = self.rows.get(id.index())?;
        Some(Candidate { name: &state.host().name, seen: Some(Seen { id, row, state }) })
    }
}
