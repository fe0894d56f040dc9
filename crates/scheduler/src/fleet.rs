//! The hosts as a request sees them: the capacity view with the columns of the steps beside it. View and columns change
//! together, here and nowhere else.

use std::collections::BTreeSet;

use berth_capacity_view::{HeldClaim, HostChange, HostId, HostState, Restored, View};
use berth_core::host::Host;
use berth_core::{ClusterName, HostName, Zone};

use crate::budget::Budgets;
use crate::columns::Columns;

#[derive(Clone, Debug, Default)]
pub(crate) struct Fleet {
    pub(crate) view: View,
    pub(crate) budgets: Budgets,
    columns: Columns,
    withheld: BTreeSet<ClusterName>,
}

impl Fleet {
    pub(crate) fn set_host(&mut self, host: Host) -> HostChange {
        let withheld = self.withheld.contains(&host.cluster);
        if let Some((id, old)) = find(&self.view, &host.name) {
            self.columns.write(id, Some(old.host()), &host, withheld);
            return self.view.set_host(host);
        }
        let change = self.view.set_host(host);
        if let Some(state) = self.view.state(change.id) {
            self.columns.write(change.id, None, state.host(), withheld);
        }
        change
    }

    pub(crate) fn remove_host(&mut self, name: &HostName) {
        if let Some((id, state)) = find(&self.view, name) {
            self.columns.forget(id, state.host());
        }
        self.view.remove_host(name);
    }

    /// Takes over a claim of an earlier process. A VM that a host lists already counts in the budget of its project until the
    /// usage has it, as one does that arrives later.
    pub(crate) fn restore(&mut self, held: HeldClaim) -> Restored {
        let restored = self.view.restore(held.clone());
        if restored == Restored::Shown
            && let Some(zone) = find(&self.view, &held.claim.host).map(|(_, state)| state.host().zone.clone())
        {
            self.budgets.land(vec![held.claim], &zone);
        }
        restored
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
            self.columns.withheld.set(*id, withhold);
        }
        if withhold { Vec::new() } else { ids }
    }

    /// No host is in this zone; an unspecified zone has all hosts.
    pub(crate) fn zone_is_empty(&self, zone: &Zone) -> bool {
        let mut labelled = self.columns.zones.get(zone.as_str()).iter();
        !zone.is_empty() && !labelled.any(|id| self.view.present().has(id))
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    pub(crate) fn host(&self, id: HostId) -> Option<&Host> {
        self.view.state(id).map(HostState::host)
    }
}

/// The host of that name; a function of the view alone, so that the columns can be written beside it.
fn find<'v>(view: &'v View, name: &HostName) -> Option<(HostId, &'v HostState)> {
    let id = view.id(name)?;
    Some((id, view.state(id)?))
}
