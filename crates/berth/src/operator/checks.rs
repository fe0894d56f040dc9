//! What must be true before anything is done: the configuration asks only for what this version provides. Whether clusters
//! allow what it asks for is found out by the preflight.

use berth_telemetry::config::{Configuration, Controller};
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
