//! Gathers what the start of an operator asks.

use std::time::Duration;

use berth_cluster::{Cluster, Clusters, Routes, chain};
use berth_http::Address;
use berth_scheduler_api::claims;
use berth_telemetry::config::{Configuration, Controller, Files};
use futures::future::{join, join_all, join3};
use tokio::time::timeout;

use super::super::config::ConfigReport;
use super::clusters::{ask_cluster, try_config_map, try_lease};
use super::credentials::try_logins;
use super::fact::Fact;
use super::listeners::{read_certificates, try_listener};
use crate::args::OperatorArguments;
use crate::error::Error;
use crate::operator::{Certificates, PlannedApis, duties, memory_settings, needs_of, provided, user_agent};
use crate::wiring::{Duties, Memory, VmDatabase, limes_client, planned_sessions, try_vm_database};

/// For the Datasource, its Secret, the connection and a query, which have deadlines of their own; and for the lists of Limes.
const WHOLE: Duration = Duration::from_secs(60);

pub(super) async fn gather(arguments: &OperatorArguments) -> Result<Vec<Fact>, Error> {
    let clusters = &arguments.clusters;
    let files = Files { config: clusters.config.clone(), secrets: clusters.secrets.clone() };
    let ConfigReport { findings, configuration } = ConfigReport::of(&files, clusters.strict_config)?;
    let mut facts = configuration_facts(findings);
    let Some(configuration) = configuration else { return Ok(facts) };
    let planned = PlannedApis::new(arguments, &configuration);
    let (listeners, clusters) =
        join(own_facts(arguments, &configuration, &planned), of_clusters(arguments, &configuration, &planned)).await;
    facts.extend(listeners);
    facts.extend(clusters);
    Ok(facts)
}

pub(super) fn configuration_facts(findings: Vec<(berth_telemetry::config::Severity, String)>) -> Vec<Fact> {
    findings.into_iter().map(|(severity, text)| Fact::Configuration { severity, text }).collect()
}

/// What is decided without a cluster: flags, tokens, the addresses and their certificate.
async fn own_facts(
    arguments: &OperatorArguments,
    configuration: &Configuration,
    planned: &Result<PlannedApis, Error>,
) -> Vec<Fact> {
    let wrong = |error: &Error| error.lines().into_iter().map(Fact::Refused).collect::<Vec<_>>();
    let mut facts = provided(arguments, configuration).as_ref().err().map(wrong).unwrap_or_default();
    facts.push(Fact::Tokens(Ok(facts.is_empty() && configuration.scheduler.wants_token())));
    let address = match planned {
        Ok(planned) => {
            facts.extend(planned.remarks().into_iter().map(Fact::Access));
            planned.address().cloned()
        }
        Err(error) => {
            facts.extend(wrong(error));
            None
        }
    };
    let [probes, metrics] = [&arguments.health_probe_bind_address, &arguments.metrics_bind_address];
    facts.push(try_listener("probes", "--health-probe-bind-address", Address::from_flag(probes)).await);
    facts.push(try_listener("metrics", "--metrics-bind-address", Address::from_flag(metrics)).await);
    if planned.is_ok() {
        facts.push(try_listener("APIs", "--api-bind-address", Ok(address)).await);
    }
    let certificates = Certificates::open(arguments, &configuration.tls);
    facts.extend(read_certificates(certificates.map(|certificates| certificates.all())));
    facts
}

async fn of_clusters(
    arguments: &OperatorArguments,
    configuration: &Configuration,
    planned: &Result<PlannedApis, Error>,
) -> Vec<Fact> {
    let kubeconfig = arguments.clusters.kubeconfig.as_deref();
    let agent = user_agent(configuration);
    let clusters = match Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers, None).await {
        Ok(clusters) => clusters,
        Err(error) => return vec![Fact::NoHome(chain(&error))],
    };
    let planned = planned.as_ref().ok();
    // Addresses that cannot be used are a failure already.
    let has_open_apis = planned.is_none_or(PlannedApis::are_open_to_others);
    let duties = duties(arguments, has_open_apis).unwrap_or(Duties { competes: false, checks_callers: true });
    let serves_liquid = planned.is_some_and(PlannedApis::serve_liquid);
    let routes = Routes::new(&configuration.api_servers);
    let (asked, credentials, vms) = join3(
        ask_clusters(configuration, &clusters, duties, &routes),
        of_openstack(configuration, &clusters, serves_liquid),
        of_vms(configuration, &clusters, &routes),
    )
    .await;
    asked.into_iter().chain(credentials).chain([vms]).collect()
}

async fn ask_clusters(
    configuration: &Configuration,
    clusters: &Clusters,
    duties: Duties,
    routes: &Routes,
) -> Vec<Fact> {
    let home = clusters.home();
    let ask = async |cluster: &Cluster| {
        let needs = needs_of(cluster, configuration, duties, routes);
        ask_cluster(cluster, &needs, routes).await
    };
    let all = join_all([home].into_iter().chain(clusters.remotes()).map(ask));
    let mut facts: Vec<_> = all.await.into_iter().flatten().collect();
    // One that does not answer, or is too old, is one finding.
    let is_fit =
        |fact: &Fact| matches!(fact, Fact::Cluster { is_home: true, examination, .. } if !examination.fine.is_empty());
    if !facts.iter().any(is_fit) {
        return facts;
    }
    if duties.competes {
        facts.push(try_lease(home, &configuration.common.leader_election_id).await);
    }
    if configuration.enabled_controllers.contains(&Controller::NovaPipelines) {
        facts.push(try_config_map(home, claims::NAME).await);
    }
    facts
}

async fn of_openstack(configuration: &Configuration, clusters: &Clusters, serves_liquid: bool) -> Vec<Fact> {
    let logins = try_logins(planned_sessions(configuration, clusters, serves_liquid));
    let (mut facts, limes) = join(logins, of_limes(configuration, clusters)).await;
    facts.extend(limes);
    facts
}

/// Without credentials there is no client, which is a fact about the login.
async fn of_limes(configuration: &Configuration, clusters: &Clusters) -> Option<Fact> {
    let client = limes_client(configuration, clusters)?;
    let read = async {
        let projects = client.projects().await.map_err(|error| error.to_string())?;
        if let Some(project) = projects.first() {
            client.commitments(project).await.map_err(|error| error.to_string())?;
        }
        Ok(projects.len())
    };
    let silent = || Err(format!("no answer within {} s", WHOLE.as_secs()));
    Some(Fact::Limes(timeout(WHOLE, read).await.unwrap_or_else(|_| silent())))
}

async fn of_vms(configuration: &Configuration, clusters: &Clusters, routes: &Routes) -> Fact {
    let memory = Memory::new(memory_settings(configuration), routes);
    let tried = timeout(WHOLE, try_vm_database(&memory, &configuration.common, clusters)).await;
    let silent = || VmDatabase::Unreadable(format!("no answer within {} s", WHOLE.as_secs()));
    Fact::VmDatabase(tried.unwrap_or_else(|_| silent()))
}
