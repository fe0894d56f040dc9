//! What must be true before anything is done: the configuration asks only for what this version provides, and the
//! cluster has the kinds and rights that it needs.

use berth_cluster::{Kind, Need, Routes, Verb};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, FlavorGroupCapacity, History, Hypervisor, Knowledge, Pipeline, Reservation};
use berth_telemetry::config::{Configuration, Controller, Pipelines};
use tracing::{info, warn};

use crate::{args::OperatorArguments, error::Error};

/// Refuses what is asked for and not part of this version, rather than pretending.
pub(super) fn provided(arguments: &OperatorArguments, configuration: &Configuration) -> Result<(), Error> {
    let refuse =
        |what: &str, instead: &str| Err(Error::NotProvided { what: what.to_owned(), instead: instead.to_owned() });
    if arguments.leader_elect && configuration.common.leader_election_id.is_empty() {
        return Err(Error::NoLease);
    }
    if arguments.metrics_secure && arguments.metrics_bind_address != "0" {
        return refuse("--metrics-secure", "pass --metrics-secure=false and restrict the port by network policy");
    }
    remark(configuration);
    Ok(())
}

/// Says what is configured and has no effect yet.
fn remark(configuration: &Configuration) {
    let provided = [Controller::CommittedResources, Controller::InFlight, Controller::NovaPipelines];
    for controller in configuration.enabled_controllers.iter().filter(|one| !provided.contains(one)) {
        info!(controller = controller.name(), "not part of this version, not started");
    }
    if configuration.reservation_controller.keystone.is_some() {
        warn!("domain names are not looked up in this version: slots of external customers are placed like all others");
    }
}

/// What the operator reads and writes in a cluster.
pub(super) fn needs(configuration: &Configuration, routes: &Routes, cluster: &ClusterName) -> Vec<Need> {
    let serves = Serves { routes, cluster };
    let mut needs = [
        serves.one::<CommittedResource>(|| vec![Need::kind::<CommittedResource>(Verb::READ)]),
        serves.one::<Reservation>(|| vec![Need::kind::<Reservation>(Verb::READ)]),
        serves.one::<Hypervisor>(|| vec![Need::kind::<Hypervisor>(Verb::READ)]),
        serves.one::<Knowledge>(|| vec![Need::kind::<Knowledge>(Verb::READ)]),
        serves.one::<FlavorGroupCapacity>(|| vec![Need::kind::<FlavorGroupCapacity>(Verb::READ)]),
    ]
    .concat();
    if configuration.enabled_controllers.contains(&Controller::CommittedResources) {
        needs.extend(serves.one::<CommittedResource>(|| {
            let status = Need::status::<CommittedResource>(&[Verb::Patch]);
            vec![Need::kind::<CommittedResource>(&[Verb::Patch]), status, Need::events()]
        }));
        needs.extend(serves.one::<Reservation>(|| {
            let main = Need::kind::<Reservation>(&[Verb::Create, Verb::Patch, Verb::Delete]);
            vec![main, Need::status::<Reservation>(&[Verb::Patch]), Need::events()]
        }));
    }
    if configuration.enabled_controllers.contains(&Controller::InFlight) {
        needs.extend(serves.one::<Reservation>(|| {
            vec![Need::kind::<Reservation>(&[Verb::Delete]), Need::status::<Reservation>(&[Verb::Patch])]
        }));
    }
    if configuration.enabled_controllers.contains(&Controller::NovaPipelines) {
        needs.extend(scheduler_needs(configuration, &serves));
    }
    needs
}

/// What the scheduler API reads and writes. Pipelines and histories need not be installed.
fn scheduler_needs(configuration: &Configuration, serves: &Serves<'_>) -> Vec<Need> {
    let mut needs = serves.one::<Reservation>(|| vec![Need::kind::<Reservation>(&[Verb::Patch]), Need::events()]);
    needs.extend(serves.one::<History>(|| {
        let main = Need::kind::<History>(&[Verb::Get, Verb::Create]).optional();
        vec![main, Need::status::<History>(&[Verb::Patch]).optional(), Need::events()]
    }));
    let objects = configuration.scheduler.pipelines != Pipelines::BuiltIn && *serves.cluster == ClusterName::home();
    if objects {
        needs.extend(serves.one::<Pipeline>(|| {
            let main = Need::kind::<Pipeline>(Verb::READ).optional();
            vec![main, Need::status::<Pipeline>(&[Verb::Patch]).optional()]
        }));
    }
    needs
}

/// What the election among replicas needs in the home cluster.
pub(super) fn lease(namespace: &str) -> Need {
    let verbs = [Verb::Get, Verb::Create, Verb::Update];
    Need::namespaced("coordination.k8s.io", "v1", "leases", namespace, &verbs)
}

struct Serves<'a> {
    routes: &'a Routes,
    cluster: &'a ClusterName,
}

impl Serves<'_> {
    fn one<K: Kind>(&self, needs: impl FnOnce() -> Vec<Need>) -> Vec<Need> {
        let serving = self.routes.clusters::<K>().unwrap_or_default();
        if serving.contains(self.cluster) { needs() } else { Vec::new() }
    }
}
