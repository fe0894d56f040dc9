//! What must be true before anything is done: the configuration asks only for what this version provides, and the
//! cluster has the kinds and rights that it needs.

use berth_cluster::{Kind, Need, Routes, Verb};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation};
use berth_telemetry::config::{Configuration, Controller, SchedulerUrl};
use tracing::{info, warn};

use crate::{args::OperatorArguments, error::Error};

/// Port and path of our own scheduler API: the reference's chart points there, which means the built-in scheduler (U46).
const OWN_SCHEDULER: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "::1"];

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
    if let SchedulerUrl::External(url) = &configuration.reservation_controller.scheduler {
        if !is_own(url) {
            let key = "committedResourceReservationController.schedulerURL";
            return refuse(key, "remove the key to use the built-in scheduler");
        }
        info!(url, "schedulerURL points at this process: the built-in scheduler is used");
    }
    remark(configuration);
    Ok(())
}

fn is_own(url: &str) -> bool {
    let rest = url.strip_prefix("http://").unwrap_or_default();
    rest.strip_suffix("/scheduler/nova/external")
        .and_then(|host| host.strip_suffix(":8080"))
        .is_some_and(|host| OWN_SCHEDULER.contains(&host))
}

/// Says what is configured and has no effect yet.
fn remark(configuration: &Configuration) {
    for controller in configuration.enabled_controllers.iter().filter(|one| **one != Controller::CommittedResources) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u46_a_loopback_url_at_our_own_port_means_built_in() {
        assert!(is_own("http://localhost:8080/scheduler/nova/external"));
        assert!(is_own("http://127.0.0.1:8080/scheduler/nova/external"));
        assert!(is_own("http://[::1]:8080/scheduler/nova/external"));
        for other in [
            "http://cortex-nova-scheduler:8080/scheduler/nova/external",
            "http://localhost:8081/scheduler/nova/external",
            "http://localhost:8080/other",
            "https://localhost:8080/scheduler/nova/external",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
