//! `berth network` and `berth placement network`: print what a start with the same flags listens on and connects to, for firewalls and
//! network policies. Nothing is contacted.

use std::fmt::Write as _;

use berth_http::Address;
use berth_telemetry::config::{self, AuthMode, Configuration, Controller, Files};
use serde::Serialize;

use super::output;
use super::placement::{database, files, has_secure_metrics, metrics_address, mode};
use super::table::table;
use crate::args::{OperatorArguments, Output, PlacementArguments, StartArguments};
use crate::error::Error;
use crate::operator::{PlannedApis, external_url};
use crate::wiring::{NetworkUse, OperatorStart, PlacementStart, PortSource, of_operator, of_placement};

/// The answer of the commands.
#[derive(Serialize)]
struct Network {
    uses: Vec<NetworkUse>,
}

/// Of an operator.
pub(super) fn run(arguments: &StartArguments) -> Result<(), Error> {
    let StartArguments { output, operator } = arguments;
    let clusters = &operator.clusters;
    let files = Files { config: clusters.config.clone(), secrets: clusters.secrets.clone() };
    let configuration = config::load(&files, clusters.strict_config)?.configuration;
    let uses = uses_of_operator(operator, &configuration)?;
    output::show(*output, &Network { uses }, Network::text)
}

/// Of a server of the Placement API.
pub(super) fn run_for_placement(arguments: &PlacementArguments, form: Output) -> Result<(), Error> {
    let configuration = config::load(&files(arguments), false)?.configuration;
    let uses = uses_of_placement(arguments, &configuration)?;
    output::show(form, &Network { uses }, Network::text)
}

fn port_of_flag(flag: &str) -> Result<Option<u16>, Error> {
    Ok(Address::from_flag(flag)?.map(|address| address.port))
}

fn uses_of_operator(arguments: &OperatorArguments, configuration: &Configuration) -> Result<Vec<NetworkUse>, Error> {
    let planned = PlannedApis::new(arguments, configuration)?;
    let address = arguments.api_bind_address.as_deref();
    let enabled = |controller| configuration.enabled_controllers.contains(&controller);
    let of_slots = Some(&configuration.reservation_controller.scheduler);
    let of_probes = enabled(Controller::Capacity).then_some(&configuration.common.scheduler);
    let mut schedulers = Vec::new();
    for url in of_slots.into_iter().chain(of_probes) {
        schedulers.extend(external_url(address, url)?);
    }
    Ok(of_operator(&OperatorStart {
        configuration,
        apis: planned.address().map(|address| address.port),
        probes: port_of_flag(&arguments.health_probe_bind_address)?,
        metrics: port_of_flag(&arguments.metrics_bind_address)?,
        competes: arguments.leader_elect,
        serves_liquid: planned.serve_liquid(),
        schedulers,
    }))
}

fn uses_of_placement(arguments: &PlacementArguments, configuration: &Configuration) -> Result<Vec<NetworkUse>, Error> {
    let api: Address = arguments.listen.as_ref().unwrap_or(&configuration.placement.listen).parse()?;
    let metrics = metrics_address(arguments, configuration)?;
    Ok(of_placement(&PlacementStart {
        configuration,
        api: api.port,
        has_secure_metrics: has_secure_metrics(arguments, configuration, metrics.as_ref()),
        metrics: metrics.map(|address| address.port),
        is_authenticated: mode(arguments, configuration) == AuthMode::Keystone,
        database: database(arguments, configuration)?.port().map_err(berth_placement::serve::ServeError::from)?,
    }))
}

impl Network {
    fn text(&self) -> String {
        let mut rows = vec![["DIRECTION", "PEER", "PORTS"].map(str::to_owned).to_vec()];
        rows.extend(self.uses.iter().map(|one| vec![word(&one.direction), word(&one.peer), ports(one)]));
        table(&rows, &[])
    }
}

/// As in JSON.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn ports(one: &NetworkUse) -> String {
    let known = one.ports.iter().map(|port| match port {
        0 => "one that the operating system chooses".to_owned(),
        port => port.to_string(),
    });
    let further = one.further_ports.map(|source| match source {
        PortSource::Kubeconfig => "those of the kubeconfig or of the pod's environment",
        PortSource::CredentialsSecret => "that in the Secret with the credentials of Keystone",
        PortSource::Catalog => "those in the catalog of Keystone",
        PortSource::DatasourceSecret => "that in the Secret of the Datasource",
    });
    let mut text = known.chain(further.map(str::to_owned)).collect::<Vec<_>>().join(", ");
    if one.is_optional {
        let _ = write!(text, ", if there is one");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::args::{Arguments, Command};

    fn configuration(keys: &Value) -> Configuration {
        config::decode(keys.as_object().unwrap(), false).unwrap().configuration
    }

    fn parsed(line: &str) -> Command {
        Arguments::try_parse_from(line.split(' ')).unwrap().command
    }

    fn of_operator(flags: &str, keys: &Value) -> String {
        let Command::Operator(arguments) = parsed(&format!("berth operator{flags}")) else { panic!("{flags}") };
        let uses = uses_of_operator(&arguments, &configuration(keys)).unwrap();
        Network { uses }.text()
    }

    fn of_placement(flags: &str, keys: &Value) -> String {
        let Command::Placement(arguments) = parsed(&format!("berth placement{flags}")) else { panic!("{flags}") };
        let uses = uses_of_placement(&arguments, &configuration(keys)).unwrap();
        Network { uses }.text()
    }

    #[test]
    fn an_operator_without_keys_reaches_names_and_api_servers_only() {
        let expected = "  DIRECTION  PEER          PORTS
  listens    api-clients   8080
  listens    probes        8081
  connects   name-servers  53
  connects   api-servers   those of the kubeconfig or of the pod's environment
  connects   vm-database   that in the Secret of the Datasource, if there is one
";
        assert_eq!(of_operator("", &json!({})), expected);
    }

    #[test]
    fn everything_that_the_configuration_names_is_a_row() {
        let remote = json!({
            "host": "https://zone-a.example", "labels": { "availabilityZone": "a" },
            "gvks": ["cortex.cloud/v1alpha1/Reservation"],
        });
        let keys = json!({
            "scheduler": { "token": "s3cret" }, "keystoneURL": "https://id.example:5001/v3", "osUsername": "berth", "osPassword": "s3cret",
            "enabledTasks": ["commitments-sync-task"], "datasourceName": "vms", "apiservers": { "remotes": [remote] },
            "committedResourceReservationController": {
                "schedulerURL": "http://scheduler.example:8088/scheduler/nova/external",
                "keystoneSecretRef": { "name": "keystone", "namespace": "berth" },
            },
        });
        let flags =
            " --leader-elect --api-bind-address=:9000 --health-probe-bind-address=:0 --metrics-bind-address=:2112";
        let expected = "  DIRECTION  PEER                PORTS
  listens    api-clients         9000
  listens    probes              one that the operating system chooses
  listens    metrics-readers     2112
  connects   name-servers        53
  connects   api-servers         443, those of the kubeconfig or of the pod's environment
  connects   leader              9000
  connects   keystone            5001, that in the Secret with the credentials of Keystone
  connects   openstack-services  those in the catalog of Keystone
  connects   external-scheduler  8088
  connects   vm-database         that in the Secret of the Datasource
";
        assert_eq!(of_operator(flags, &keys), expected);
    }

    #[test]
    fn a_url_that_leads_back_is_no_external_scheduler() {
        let keys = json!({
            "committedResourceReservationController": { "schedulerURL": "http://localhost:8080/scheduler/nova/external" },
            "vmSourceSqlite": "vms.db",
        });
        let shown = of_operator(" --health-probe-bind-address=0 --api-bind-address=127.0.0.1:8080", &keys);
        assert_eq!(shown.lines().count(), 4, "{shown}");
    }

    #[test]
    fn placement_reaches_what_its_flags_name() {
        let expected = "  DIRECTION  PEER             PORTS
  listens    api-clients      8778
  listens    metrics-readers  8779
  connects   name-servers     53
";
        assert_eq!(of_placement("", &json!({})), expected);
        let secret = json!({ "keystoneSecretRef": { "name": "keystone", "namespace": "berth" } });
        let expected = "  DIRECTION  PEER             PORTS
  listens    api-clients      8778
  connects   name-servers     53
  connects   api-servers      those of the kubeconfig or of the pod's environment
  connects   keystone         that in the Secret with the credentials of Keystone
  connects   ledger-database  5433
";
        assert_eq!(of_placement(" --metrics-listen=0 --database=postgres://b@db:5433/p", &secret), expected);
        assert!(
            of_placement(" --metrics-listen=:9 --auth=off", &secret).contains("api-servers"),
            "for readers of metrics"
        );
    }
}
