//! The hosts that are still in the running, and which ones a run starts with. What takes hosts out is decided by the
//! filters.

use std::collections::BTreeSet;

use berth_capacity_view::{HostId, HostSet};
use berth_core::HostName;

use crate::run::Run;
use crate::{Candidates, Intent};

/// Which hosts a run looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'s> {
    /// Those of the request, or all, as the pipeline says.
    Request,
    /// Only these.
    Only(&'s [HostId]),
}

/// One host of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot<'r> {
    /// One with a Hypervisor.
    Known(HostId),
    /// One without.
    Stranger(&'r HostName),
}

/// The hosts that are still in the running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field<'r> {
    /// Those with a Hypervisor.
    pub(crate) known: HostSet,
    /// Those that the caller lists and that have no Hypervisor: filters judge them by their names, if at all.
    pub(crate) strangers: Vec<&'r HostName>,
}

impl<'r> Field<'r> {
    /// The hosts that a run starts with, and what the caller says that they weigh.
    pub(crate) fn start(ignore_preselection: bool, run: &Run<'r>, scope: Scope<'_>) -> (Self, Inputs<'r>) {
        let present = run.fleet.view.present();
        let known = match (scope, &run.request.candidates) {
            (Scope::Only(ids), _) => ids.iter().copied().filter(|id| present.has(*id)).collect(),
            (Scope::Request, Candidates::Listed(hosts)) if !ignore_preselection => {
                return Self::listed(run, hosts);
            }
            (Scope::Request, Candidates::Listed(hosts)) if run.intent.is_some_and(Intent::is_internal) => {
                hosts.iter().filter_map(|(name, _)| run.fleet.view.id(name)).collect()
            }
            (Scope::Request, _) => present.clone(),
        };
        (Self { known, strangers: Vec::new() }, Inputs::default())
    }

    /// A host that is listed twice counts once, with its first weight.
    fn listed(run: &Run<'r>, hosts: &'r [(HostName, f64)]) -> (Self, Inputs<'r>) {
        let (mut field, mut inputs, mut new) = (Self::default(), Inputs::default(), BTreeSet::new());
        for (name, weight) in hosts {
            match run.fleet.view.id(name) {
                Some(id) if field.known.insert(id) => inputs.known.push((id, *weight)),
                None if new.insert(name) => inputs.strangers.push((name, *weight)),
                _ => {}
            }
        }
        inputs.known.sort_unstable_by_key(|(id, _)| *id);
        field.strangers.extend(new);
        (field, inputs)
    }

    pub(crate) fn has(&self, host: Spot<'_>) -> bool {
        match host {
            Spot::Known(id) => self.known.has(id),
            Spot::Stranger(name) => self.strangers.contains(&name),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len() + self.strangers.len()
    }

    /// Keeps these hosts; a host without a Hypervisor is not among them.
    pub(crate) fn keep(&mut self, hosts: &HostSet) {
        self.known.keep(hosts);
        self.strangers.clear();
    }

    /// Removes these hosts, and those without a Hypervisor.
    pub(crate) fn drop(&mut self, hosts: &HostSet) {
        self.known.drop(hosts);
        self.strangers.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.strangers.clear();
    }

    /// Keeps hosts by their names.
    pub(crate) fn keep_named<'n>(&mut self, run: &Run<'_>, names: &(impl Iterator<Item = &'n HostName> + Clone)) {
        self.known.keep(&known(run, names.clone()));
        self.strangers.retain(|stranger| names.clone().any(|name| name == *stranger));
    }

    /// Removes hosts by their names.
    pub(crate) fn drop_named<'n>(&mut self, run: &Run<'_>, names: &(impl Iterator<Item = &'n HostName> + Clone)) {
        self.known.drop(&known(run, names.clone()));
        self.strangers.retain(|stranger| !names.clone().any(|name| name == *stranger));
    }
}

fn known<'n>(run: &Run<'_>, names: impl Iterator<Item = &'n HostName>) -> HostSet {
    names.filter_map(|name| run.fleet.view.id(name)).collect()
}

/// The weights that the caller gives hosts; a host that is not here weighs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs<'r> {
    /// In the order of their places.
    known: Vec<(HostId, f64)>,
    strangers: Vec<(&'r HostName, f64)>,
}

impl Inputs<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.strangers.is_empty()
    }

    pub(crate) fn of_known(&self, id: HostId) -> f64 {
        self.known.binary_search_by_key(&id, |(id, _)| *id).map_or(0.0, |place| self.known[place].1)
    }

    pub(crate) fn of_stranger(&self, name: &HostName) -> f64 {
        self.strangers.iter().find(|(stranger, _)| *stranger == name).map_or(0.0, |(_, weight)| *weight)
    }
}
