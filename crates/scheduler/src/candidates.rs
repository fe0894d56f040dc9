//! The hosts that are still in the running, and which ones a run starts with.

use std::collections::BTreeSet;

use berth_capacity_view::{HostId, HostSet};
use berth_core::HostName;

use crate::run::Run;
use crate::{Candidates, Intent};

/// The hosts that a run considers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'s> {
    /// Those of the request, or all, depending on the pipeline.
    Request,
    /// Only these.
    Only(&'s [HostId]),
}

/// One host of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CandidateHost<'r> {
    Known(HostId),
    UnknownHost(&'r HostName),
}

/// The hosts that are still in the running.
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidateHosts<'r> {
    pub(crate) known: HostSet,
    /// Those that the caller lists and that have no Hypervisor: filters checker them by their names, if at all.
    pub(crate) unknown_hosts: Vec<&'r HostName>,
}

impl<'r> CandidateHosts<'r> {
    /// The hosts that a run starts with, and their weights from the client.
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
        (Self { known, unknown_hosts: Vec::new() }, Inputs::default())
    }

    /// A host that is listed twice counts once, with its first weight.
    fn listed(run: &Run<'r>, hosts: &'r [(HostName, f64)]) -> (Self, Inputs<'r>) {
        let (mut field, mut inputs, mut new) = (Self::default(), Inputs::default(), BTreeSet::new());
        for (name, weight) in hosts {
            match run.fleet.view.id(name) {
                Some(id) if field.known.insert(id) => inputs.known.push((id, *weight)),
                None if new.insert(name) => inputs.unknown_hosts.push((name, *weight)),
                _ => {}
            }
        }
        inputs.known.sort_unstable_by_key(|(id, _)| *id);
        field.unknown_hosts.extend(new);
        (field, inputs)
    }

    pub(crate) fn has(&self, host: CandidateHost<'_>) -> bool {
        match host {
            CandidateHost::Known(id) => self.known.has(id),
            CandidateHost::UnknownHost(name) => self.unknown_hosts.contains(&name),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len() + self.unknown_hosts.len()
    }

    /// Keeps these hosts; a host without a Hypervisor is not among them.
    pub(crate) fn keep(&mut self, hosts: &HostSet) {
        self.known.keep(hosts);
        self.unknown_hosts.clear();
    }

    /// Removes these hosts, and those without a Hypervisor.
    pub(crate) fn drop(&mut self, hosts: &HostSet) {
        self.known.drop(hosts);
        self.unknown_hosts.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.unknown_hosts.clear();
    }

    pub(crate) fn keep_named<'n>(&mut self, run: &Run<'_>, names: &(impl Iterator<Item = &'n HostName> + Clone)) {
        self.known.keep(&known(run, names.clone()));
        self.unknown_hosts.retain(|unknown_host| names.clone().any(|name| name == *unknown_host));
    }

    pub(crate) fn drop_named<'n>(&mut self, run: &Run<'_>, names: &(impl Iterator<Item = &'n HostName> + Clone)) {
        self.known.drop(&known(run, names.clone()));
        self.unknown_hosts.retain(|unknown_host| !names.clone().any(|name| name == *unknown_host));
    }
}

fn known<'n>(run: &Run<'_>, names: impl Iterator<Item = &'n HostName>) -> HostSet {
    names.filter_map(|name| run.fleet.view.id(name)).collect()
}

/// The weights that the caller gives hosts; a host that is not here weighs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs<'r> {
    known: Vec<(HostId, f64)>,
    unknown_hosts: Vec<(&'r HostName, f64)>,
}

impl Inputs<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.unknown_hosts.is_empty()
    }

    pub(crate) fn of_known(&self, id: HostId) -> f64 {
        self.known.binary_search_by_key(&id, |(id, _)| *id).map_or(0.0, |place| self.known[place].1)
    }

    pub(crate) fn of_unknown_host(&self, name: &HostName) -> f64 {
        self.unknown_hosts.iter().find(|(unknown_host, _)| *unknown_host == name).map_or(0.0, |(_, weight)| *weight)
    }
}
