//! What must be true before anything is done: the configuration asks only for what this version provides, and the
//! cluster has the kinds and rights that it needs.

use berth_cluster::{Need, Verb};
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
    if arguments.leader_elect {
        return refuse("--leader-elect", "run one replica without the flag");
    }
    if arguments.metrics_secure && arguments.metrics_bind_address != "0" {
        return refuse("--metrics-secure", "pass --metrics-secure=false and restrict the port by network policy");
    }
    if !configuration.api_servers.remotes.is_empty() {
        return refuse("apiservers.remotes", "run one operator per cluster, without remotes");
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

/// What the operator reads and writes.
pub(super) fn needs(configuration: &Configuration) -> Vec<Need> {
    let mut needs = vec![
        Need::kind::<CommittedResource>(Verb::READ),
        Need::kind::<Reservation>(Verb::READ),
        Need::kind::<Hypervisor>(Verb::READ),
        Need::kind::<Knowledge>(Verb::READ),
    ];
    if configuration.enabled_controllers.contains(&Controller::CommittedResources) {
        needs.extend([
            Need::kind::<CommittedResource>(&[Verb::Patch]),
            Need::status::<CommittedResource>(&[Verb::Patch]),
            Need::kind::<Reservation>(&[Verb::Create, Verb::Patch, Verb::Delete]),
            Need::status::<Reservation>(&[Verb::Patch]),
            Need::events(),
        ]);
    }
    needs
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
