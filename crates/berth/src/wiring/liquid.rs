//! The LIQUID API of a process: the service info that the leader publishes and every replica serves.

use std::sync::Arc;

use berth_cluster::{Manager, Scope};
use berth_committed_resource::{ChangeVerdict, ProposedCommitment};
use berth_http::{Forwarder, Role};
use berth_liquid::capacity::CapacityReports;
use berth_liquid::configured::resource_config;
use berth_liquid::info::{self, InfoMap, InfoPublisher, InfoPublisherParts};
use berth_liquid::quota::{self, QuotaService};
use berth_liquid::server::{BodyLimits, LiquidAccess, LiquidApi, LiquidCallers, LiquidParts, Switches};
use berth_liquid::service::{self, ChangeService, DryRun, DryRunVerdict, ProposedSpec};
use berth_liquid::usage::UsageReports;
use berth_openstack::policy::Policies;
use berth_scheduler_api::Chosen;
use berth_telemetry::config::CommittedResourceApi;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::controllers::pauses;
use super::keystone::authentication;
use super::{DecidingState, Environment, Memory};
use crate::error::Error;

/// Whether callers are served, and what they may do.
pub(crate) struct LiquidPermissions {
    pub(crate) access: LiquidAccess,
    pub(crate) policies: Policies,
}

/// The API. The work that goes with it, until `stop`, is added to the manager.
pub(crate) fn liquid_api(
    memory: &Memory,
    environment: &Environment<'_>,
    (deciding, forwarder): (&DecidingState, Arc<dyn Forwarder>),
    LiquidPermissions { access, policies }: LiquidPermissions,
    manager: &mut Manager,
    stop: &CancellationToken,
) -> Result<LiquidApi, Error> {
    add_service_info(memory, environment, manager, stop);
    let configuration = environment.configuration;
    let surroundings = (environment.clock.clone(), environment.metrics.tokens.clone());
    let authentication =
        authentication(configuration.auth.mode, configuration, Some(&environment.clusters), surroundings)?;
    let keys = &configuration.committed_resource_api;
    Ok(LiquidApi::new(LiquidParts {
        source: memory.service_info.clone(),
        published: memory.published_info.clone(),
        changes: Arc::new(change_service(memory, environment, deciding, forwarder.clone())),
        quota: Arc::new(quota_service(memory, environment, deciding, forwarder)),
        usage: usage_reports(memory),
        capacity: capacity_reports(memory, environment),
        switches: switches(keys),
        access,
        callers: LiquidCallers { authentication, policies },
        limits: BodyLimits::new(keys.max_request_bytes),
        metrics: environment.metrics.liquid.clone(),
    }))
}

fn usage_reports(memory: &Memory) -> UsageReports {
    let stores = &memory.stores;
    UsageReports {
        groups: memory.flavor_groups.clone(),
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        quotas: stores.quotas.clone(),
        vms: memory.vms.clone(),
    }
}

fn capacity_reports(memory: &Memory, environment: &Environment<'_>) -> CapacityReports {
    let stores = &memory.stores;
    CapacityReports {
        groups: memory.flavor_groups.clone(),
        capacities: stores.capacities.clone(),
        hypervisors: stores.hypervisors.clone(),
        vms: memory.vms.clone(),
        routes: environment.routes.clone(),
        clock: environment.clock.clone(),
        max_age: memory.capacity_max_age,
    }
}

fn change_service(
    memory: &Memory,
    environment: &Environment<'_>,
    deciding: &DecidingState,
    forwarder: Arc<dyn Forwarder>,
) -> ChangeService {
    let (stores, keys) = (&memory.stores, &environment.configuration.committed_resource_api);
    ChangeService::new(service::Context {
        leading: Arc::new(deciding.clone()),
        forwarder,
        info: Arc::new(memory.published_info.clone()),
        dry_run: Arc::new(deciding.clone()),
        flavor_groups: memory.flavor_groups.clone(),
        resources: resource_config(&keys.flavor_groups),
        commitments: stores.commitments.clone(),
        reservations: stores.reservations.clone(),
        hypervisors: stores.hypervisors.clone(),
        changes: environment.writer(&stores.changes),
        under_way: memory.changes_under_way.clone(),
        routes: environment.routes.clone(),
        pauses: pauses(memory, environment),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        ids: environment.ids.clone(),
        metrics: environment.metrics.liquid.clone(),
        settings: service::Settings {
            watch_timeout: keys.watch_timeout,
            queue_length: keys.change_queue_length,
            queue_wait: keys.change_queue_wait,
            retry_after_rejection: keys.retry_after_rejection,
            tries_first: matches!(*environment.scheduler, Chosen::BuiltIn(_)),
        },
    })
}

fn quota_service(
    memory: &Memory,
    environment: &Environment<'_>,
    deciding: &DecidingState,
    forwarder: Arc<dyn Forwarder>,
) -> QuotaService {
    let keys = &environment.configuration.committed_resource_api;
    QuotaService::new(quota::Context {
        leading: Arc::new(deciding.clone()),
        forwarder,
        info: Arc::new(memory.published_info.clone()),
        flavor_groups: memory.flavor_groups.clone(),
        resources: resource_config(&keys.flavor_groups),
        quotas: environment.writer(&memory.stores.quotas),
        routes: environment.routes.clone(),
        served_zones: keys.quota_served_availability_zones.iter().map(|zone| zone.as_str().into()).collect(),
    })
}

impl service::Leading for DecidingState {
    fn role(&self) -> Role {
        Self::role(self)
    }

    fn find_leader(&self) {
        Self::find_leader(self);
    }
}

/// The controller of commitments answers, with what it would do itself.
impl DryRun for DecidingState {
    fn dry_run<'a>(&'a self, change: Vec<ProposedSpec>, request_id: &'a str) -> BoxFuture<'a, DryRunVerdict> {
        async move {
            let first = change.first().map(|one| one.uuid.clone()).unwrap_or_default();
            let Some(controllers) = self.controllers() else {
                return DryRunVerdict::Undecided(first, "this process does not lead yet".to_owned());
            };
            let change: Vec<_> = change.into_iter().map(proposed).collect();
            match controllers.commitments().dry_run_change(&change, request_id).await {
                ChangeVerdict::Fits => DryRunVerdict::Fits,
                ChangeVerdict::Rejected(rejected) => DryRunVerdict::Rejected(rejected),
                ChangeVerdict::Undecided(uuid, why) => DryRunVerdict::Undecided(uuid, why),
            }
        }
        .boxed()
    }
}

fn proposed(one: ProposedSpec) -> ProposedCommitment {
    let ProposedSpec { key, uuid, object, after } = one;
    ProposedCommitment { key, uuid, object, after }
}

fn switches(keys: &CommittedResourceApi) -> Switches {
    Switches {
        change_commitments: keys.enable_change_commitments,
        report_usage: keys.enable_report_usage,
        report_capacity: keys.enable_report_capacity,
        quota: keys.enable_quota,
    }
}

fn add_service_info(memory: &Memory, environment: &Environment<'_>, manager: &mut Manager, stop: &CancellationToken) {
    let clusters = environment.clusters.clone();
    let namespace = clusters.home().client.default_namespace().to_owned();
    let map = InfoMap::new(clusters, &namespace, info::NAME).fenced(environment.fence.clone());
    let publisher = InfoPublisher::new(InfoPublisherParts {
        map: map.clone(),
        source: memory.service_info.clone(),
        published: memory.published_info.clone(),
        commitments: memory.stores.commitments.clone(),
        clock: Arc::clone(&environment.clock),
    });
    manager.add_source("the watch of the service info", Scope::EveryReplica, map.feed(stop.clone()));
    let following = info::follow(map, memory.published_info.clone(), stop.clone());
    manager.add_source("the served service info", Scope::EveryReplica, following);
    manager.add_source("the publisher of the service info", Scope::Leader, publisher.work(stop.clone()));
}
