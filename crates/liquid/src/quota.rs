//! Quota that Limes sets. The leader executes a push: each of its zones becomes one object, and then the objects of other
//! zones of the project are deleted. A push that is repeated changes nothing that is as it should be.

mod error;
mod object;
mod orphans;
mod zones;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use berth_cluster::{FlavorGroupsCache, Right, Routes, Verb, Writer};
use berth_core::liquid::quota::{QuotaError, QuotaPush, QuotaRequest, StoredZones};
use berth_core::liquid::resources::ResourceConfig;
use berth_core::liquid::units::RamUnit;
use berth_core::{GroupName, ProjectId, Zone};
use berth_crds::ProjectQuota;
use berth_http::Forwarder;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use self::error::NotLeading;
use crate::decode::Decoder;
use crate::leader::{LeaderRequest, Leading, forward};
use crate::queue::Queues;
use crate::refused::Refused;
use crate::server::{QuotaCall, QuotaHandler};
use crate::service::ServedInfo;

pub use error::StoreError;

/// Pushes of a project that wait at most. Limes sends one at a time.
const QUEUE_LENGTH: usize = 10;
/// How long each of them waits at most.
const QUEUE_WAIT: Duration = Duration::from_secs(10);
/// From the turn of a push to its answer: five tries of a write, with a deadline of 4 s each, and the reads between them.
const PUSH_TIMEOUT: Duration = Duration::from_secs(30);
/// What the leader needs at most besides.
const SPARE: Duration = Duration::from_secs(5);
/// Seconds after which another try makes sense.
const SOON: u16 = 5;
const PROJECT_BUSY: &str = "other quota requests of this project are under way, please retry later";

/// The dependencies of the service.
pub struct Context {
    pub leading: Arc<dyn Leading>,
    pub forwarder: Arc<dyn Forwarder>,
    pub info: Arc<dyn ServedInfo>,
    pub flavor_groups: FlavorGroupsCache,
    pub resources: ResourceConfig,
    pub quotas: Writer<ProjectQuota>,
    pub routes: Routes,
    /// The zones whose quota is kept; empty: all.
    pub served_zones: BTreeSet<Zone>,
}

/// Stores the quota that Limes sets.
pub struct QuotaService {
    context: Context,
    queues: Queues<ProjectId>,
    decoder: Decoder,
}

impl QuotaHandler for QuotaService {
    fn set_quota(&self, call: QuotaCall) -> BoxFuture<'_, Response> {
        async move {
            match self.forward(&call).await {
                Some(response) => response,
                None => self.execute(&call).await.map_or_else(Refused::into_response, |()| no_content()),
            }
        }
        .boxed()
    }
}

impl QuotaService {
    pub fn new(context: Context) -> Self {
        Self { context, queues: Queues::new(QUEUE_LENGTH, QUEUE_WAIT), decoder: Decoder::default() }
    }

    pub fn rights() -> Vec<Right> {
        let verbs = [Verb::Get, Verb::Create, Verb::Patch, Verb::Delete];
        vec![Right::kind::<ProjectQuota>(&verbs).because("Limes sets the quota of projects.")]
    }

    async fn forward(&self, call: &QuotaCall) -> Option<Response> {
        let request = LeaderRequest {
            method: Method::PUT,
            path: &format!("/commitments/v1/projects/{}/quota", call.project),
            body: &call.body,
            headers: &call.headers,
            request_id: &call.request_id,
            most: QUEUE_WAIT.saturating_add(PUSH_TIMEOUT).saturating_add(SPARE),
        };
        forward(&*self.context.leading, &*self.context.forwarder, &request).await
    }

    /// Executes a push on the leader. Nothing is written before everything is checked.
    async fn execute(&self, call: &QuotaCall) -> Result<(), Refused> {
        let request = self.decoder.decode(&call.body, QuotaRequest::decode).await?;
        let checked = request.check(call.project.clone()).map_err(|error| refuse(&error))?;
        self.context
            .flavor_groups
            .get()
            .map_err(|error| Refused::unavailable(format!("flavor groups not available: {error}"), SOON))?;
        let push = checked.into_push(|group| self.ram_unit(group), &self.context.served_zones);
        let push = push.map_err(|error| refuse(&error))?;
        let turn = self.queues.enter(&call.project).await;
        let _turn = turn.map_err(|_| Refused::unavailable(PROJECT_BUSY, SOON))?;
        self.store(&push).await
    }

    /// The unit in which callers count the RAM of the group: the published one, which may differ from the configured one.
    fn ram_unit(&self, group: &GroupName) -> Option<RamUnit> {
        self.context.info.ram_unit(group).or_else(|| self.context.resources.of(group).ram_unit().ok())
    }

    async fn store(&self, push: &QuotaPush) -> Result<(), Refused> {
        let deadline = Instant::now() + PUSH_TIMEOUT;
        let outcomes = self.store_zones(push, deadline).await;
        let project = push.project.as_str();
        let stored = StoredZones::of(outcomes.into_iter().collect()).map_err(|failed| {
            for (zone, error) in &failed {
                warn!(project, zone = zone.as_str(), %error, "quota of a zone not stored");
            }
            refuse_failed(&failed)
        })?;
        match timeout_at(deadline, self.delete_orphans(&push.project, &stored)).await {
            Ok(Err(NotLeading)) => return Err(Refused::lost_leadership()),
            Ok(Ok(())) => {}
            Err(_) => warn!(project, "no time left to delete quota of other zones"),
        }
        info!(project, zones = push.zones.len(), "quota stored");
        Ok(())
    }
}

fn refuse(error: &QuotaError) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, error.to_string())
}

/// Names all zones that have failed. The leader of that moment does what this process may not do any more.
fn refuse_failed(failed: &[(Zone, StoreError)]) -> Refused {
    if failed.iter().any(|(_, error)| error.is_not_leader()) {
        return Refused::lost_leadership();
    }
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, failed_text(failed))
}

/// All zones come first, then what several of them share, because a long text is cut.
fn failed_text(failed: &[(Zone, StoreError)]) -> String {
    let mut by_cause: Vec<(String, Vec<&str>)> = Vec::new();
    for (zone, error) in failed {
        let cause = error.to_string();
        match by_cause.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, zones)) => zones.push(zone.as_str()),
            None => by_cause.push((cause, vec![zone.as_str()])),
        }
    }
    by_cause.sort_by_key(|(_, zones)| Reverse(zones.len()));
    let zones: Vec<&str> = failed.iter().map(|(zone, _)| zone.as_str()).collect();
    let causes = match by_cause.as_slice() {
        [(cause, _)] => cause.clone(),
        several => {
            let texts: Vec<String> =
                several.iter().map(|(cause, zones)| format!("{}: {cause}", zones.join(", "))).collect();
            texts.join("; ")
        }
    };
    format!("Failed to persist quota for AZ {}: {causes}", zones.join(", "))
}

fn no_content() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
