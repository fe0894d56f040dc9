//! Gathers what the start of a server of the Placement API asks.

use berth_cluster::{AccessReviews, Cluster, Clusters, Right, Routes, chain, needs};
use berth_telemetry::config::{AuthMode, Configuration};
use futures::future::{join, join3};

use super::super::config::ConfigReport;
use super::super::placement::{files, has_secure_metrics, metrics_address, mode, settings};
use super::clusters::ask_cluster;
use super::credentials::try_logins;
use super::fact::Fact;
use super::listeners::{read_certificates, try_listener};
use super::operator::configuration_facts;
use crate::args::PlacementArguments;
use crate::error::Error;
use crate::operator::user_agent;
use crate::wiring::{PlannedSession, process_secret_rights};

pub(super) async fn gather(arguments: &PlacementArguments) -> Result<Vec<Fact>, Error> {
    let ConfigReport { findings, configuration } = ConfigReport::of(&files(arguments), false)?;
    let mut facts = configuration_facts(findings);
    let Some(configuration) = configuration else { return Ok(facts) };
    let (own, keystone) = join(own_facts(arguments, &configuration), of_home(arguments, &configuration)).await;
    facts.extend(own);
    facts.extend(keystone);
    Ok(facts)
}

/// What is decided without a cluster: flags, the addresses, their certificate and the database.
async fn own_facts(arguments: &PlacementArguments, configuration: &Configuration) -> Vec<Fact> {
    let settings = match settings(arguments, configuration) {
        Ok(settings) => settings,
        Err(error) => return error.lines().into_iter().map(Fact::Refused).collect(),
    };
    let database = settings.database;
    let (api, metrics, state) = join3(
        try_listener("API", "--listen", Ok(Some(settings.listen))),
        try_listener("metrics", "--metrics-listen", Ok(settings.metrics_listen)),
        database.inspect(),
    )
    .await;
    let ledger = Fact::Ledger { database: database.to_string(), state };
    [api, metrics, ledger].into_iter().chain(read_certificates(Ok(settings.tls.into_iter().collect()))).collect()
}

/// The cluster with the Secrets, which also knows who may read metrics; and the login with those Secrets.
async fn of_home(arguments: &PlacementArguments, configuration: &Configuration) -> Vec<Fact> {
    let is_authenticated = mode(arguments, configuration) == AuthMode::Keystone;
    let reads_secrets = is_authenticated && configuration.common.keystone.is_some();
    // An address that cannot be read is a fact of its own.
    let metrics = metrics_address(arguments, configuration).ok().flatten();
    let is_secure = has_secure_metrics(arguments, configuration, metrics.as_ref());
    let (mut facts, mut clusters) = (Vec::new(), None);
    if reads_secrets || is_secure {
        match Cluster::connect(None, &user_agent(configuration)).await {
            Ok(home) => {
                let rights = if is_secure { AccessReviews::rights() } else { Vec::new() };
                let secrets = reads_secrets.then(|| process_secret_rights(configuration)).into_iter().flatten();
                facts.extend(ask(&home, &rights.into_iter().chain(secrets).collect::<Vec<_>>()).await);
                clusters = Some(Clusters::from(home));
            }
            Err(error) => facts.push(Fact::NoHome(chain(&error))),
        }
    }
    // Without the cluster of its Secret there can be no login.
    if is_authenticated && (clusters.is_some() || !reads_secrets) {
        let purpose = "the tokens of callers of the Placement API";
        let session = PlannedSession::of_process(purpose, configuration, clusters.as_ref());
        facts.extend(try_logins(vec![session]).await);
    }
    facts
}

/// It reads no objects of our kinds.
async fn ask(home: &Cluster, rights: &[Right]) -> Vec<Fact> {
    let routes = Routes::home_only();
    let needs = needs(rights, &routes, &home.name, home.client.default_namespace());
    let facts = ask_cluster(home, &needs, &routes).await;
    facts.into_iter().filter(|fact| !matches!(fact, Fact::Definition { .. })).collect()
}
