//! The LIQUID API of a process: the service info that the leader publishes and every replica serves.

use std::sync::Arc;

use berth_cluster::{Manager, Scope};
use berth_liquid::info::{self, InfoMap, InfoPublisher, InfoPublisherParts};
use berth_liquid::server::{BodyLimits, LiquidAccess, LiquidApi, LiquidParts, Switches};
use berth_telemetry::config::CommittedResourceApi;
use tokio_util::sync::CancellationToken;

use super::{Environment, Memory};

/// The API. The work that goes with it, until `stop`, is added to the manager.
pub(crate) fn liquid_api(
    memory: &Memory,
    environment: &Environment<'_>,
    access: LiquidAccess,
    manager: &mut Manager,
    stop: &CancellationToken,
) -> LiquidApi {
    add_service_info(memory, environment, manager, stop);
    let keys = &environment.configuration.committed_resource_api;
    LiquidApi::new(LiquidParts {
        source: memory.service_info.clone(),
        published: memory.published_info.clone(),
        changes: None,
        switches: switches(keys),
        access,
        limits: BodyLimits::new(keys.max_request_bytes),
        metrics: environment.metrics.liquid.clone(),
    })
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
