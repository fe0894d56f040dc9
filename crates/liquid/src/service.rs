//! The service behind `change-commitments`: who executes a request, what is answered to it, and its way from the body to
//! an object that the controller of changes carries out.
//!
//! Everything that a request holds (its place in the queue, its change) is given back when its future is dropped, because
//! that is how a caller that has gone away is noticed.

mod admission;
mod answer;
mod change;
mod dry_run;
mod journal;
mod leader;
mod proposed;
mod texts;
mod wait;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use berth_cluster::{Events, FlavorGroupsCache, Pauses, Routes, Store, Writer};
use berth_core::liquid::request::ChangeRequest;
use berth_core::liquid::resources::ResourceConfig;
use berth_core::liquid::units::RamUnit;
use berth_core::liquid::validation::check_zone;
use berth_core::{GroupName, Zone};
use berth_crds::{CommitmentChange, CommittedResource, Hypervisor, Reservation};
use berth_http::Forwarder;
use berth_telemetry::clock::Clock;
use berth_telemetry::ids::FreshIds;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use self::answer::Answer;
use crate::changes::ChangesUnderWay;
use crate::decode::Decoder;
use crate::info::PublishedInfo;
use crate::queue::Queues;
use crate::server::{AnsweredChange, ChangeCall, ChangeHandler, LiquidMetrics};

pub use proposed::{DryRun, DryRunVerdict, ProposedSpec};

pub use crate::leader::Leading;

/// The path of the endpoint.
pub const PATH: &str = "/commitments/v1/change-commitments";

/// The settings from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// From the admission of a change to its outcome.
    pub watch_timeout: Duration,
    /// Requests of a zone that wait at most.
    pub queue_length: usize,
    /// How long each of them waits at most.
    pub queue_wait: Duration,
    /// What `retryAt` is later than the answer; zero leaves it out.
    pub retry_after_rejection: Duration,
    /// Whether a change that needs confirmation is first tried with a dry run. An external scheduler decides itself.
    pub tries_first: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            watch_timeout: Duration::from_secs(10),
            queue_length: 50,
            queue_wait: Duration::from_secs(10),
            retry_after_rejection: Duration::from_secs(900),
            tries_first: true,
        }
    }
}

/// The service info that callers act on.
pub trait ServedInfo: Send + Sync + 'static {
    /// Its version; `None` if none was ever published.
    fn version(&self) -> Option<i64>;

    /// The unit in which callers count the RAM of a group, if it is published. It may differ from the configured one.
    fn ram_unit(&self, group: &GroupName) -> Option<RamUnit>;
}

impl ServedInfo for PublishedInfo {
    fn version(&self) -> Option<i64> {
        self.get().map(|publication| publication.info.version)
    }

    fn ram_unit(&self, group: &GroupName) -> Option<RamUnit> {
        self.get()?.ram_unit(group)
    }
}

/// The dependencies of the service.
pub struct Context {
    pub leading: Arc<dyn Leading>,
    pub forwarder: Arc<dyn Forwarder>,
    pub info: Arc<dyn ServedInfo>,
    pub dry_run: Arc<dyn DryRun>,
    pub flavor_groups: FlavorGroupsCache,
    pub resources: ResourceConfig,
    pub commitments: Store<CommittedResource>,
    pub reservations: Store<Reservation>,
    /// Hosts, only to know which zones there are.
    pub hypervisors: Store<Hypervisor>,
    pub changes: Writer<CommitmentChange>,
    pub under_way: ChangesUnderWay,
    pub routes: Routes,
    pub pauses: Pauses,
    pub clock: Arc<dyn Clock>,
    pub events: Events,
    pub ids: FreshIds,
    pub metrics: LiquidMetrics,
    pub settings: Settings,
}

/// Changes commitments for Limes.
pub struct ChangeService {
    context: Context,
    queues: Queues<Zone>,
    decoder: Decoder,
}

/// A decoded request.
#[derive(Clone, Debug)]
struct Asked {
    request: ChangeRequest,
    /// As in the answer.
    id: String,
    requires_confirmation: bool,
}

impl Asked {
    /// Whether its caller understands a reason. Others take every answer with status 200 for an agreement.
    fn takes_reasons(&self) -> bool {
        self.requires_confirmation || self.request.dry_run
    }

    /// The id in logs and objects.
    fn global_id(&self) -> String {
        format!("committed-resource-{}", self.id)
    }
}

impl ChangeHandler for ChangeService {
    fn change(&self, request: ChangeCall) -> BoxFuture<'_, Response> {
        async move {
            match self.forward(&request).await {
                Some(response) => response,
                None => self.execute(request).await,
            }
        }
        .boxed()
    }
}

impl ChangeService {
    pub fn new(context: Context) -> Self {
        let queues = Queues::new(context.settings.queue_length, context.settings.queue_wait);
        Self { context, queues, decoder: Decoder::default() }
    }

    /// Executes a request on the leader.
    async fn execute(&self, call: ChangeCall) -> Response {
        let request = match self.decoder.decode(&call.body, ChangeRequest::decode).await {
            Ok(request) => request,
            Err(refused) => {
                self.context.metrics.count_commitments("error", "", false, 0);
                return refused.into_response();
            }
        };
        let asked = Asked { requires_confirmation: request.requires_confirmation(), request, id: call.request_id };
        let answer = self.answer(&asked).await;
        let zone = self.zone_label(asked.request.zone.as_str());
        let (is_dry_run, count) = (asked.request.dry_run, u64::try_from(asked.request.len()).unwrap_or(u64::MAX));
        self.context.metrics.count_commitments(answer.result(), zone, is_dry_run, count);
        let verdict = AnsweredChange { is_dry_run, is_rejected: matches!(answer, Answer::Rejected { .. }) };
        let mut response = answer.into_response();
        response.extensions_mut().insert(verdict);
        response
    }

    async fn answer(&self, asked: &Asked) -> Answer {
        if let Err(error) = check_zone(&asked.request.zone) {
            return Answer::refused(StatusCode::BAD_REQUEST, error.to_string());
        }
        if asked.request.dry_run { self.try_only(asked).await } else { self.apply(asked).await }
    }

    /// The zone, if a host is in it: callers may send any text, and a label must not grow with them.
    fn zone_label<'z>(&self, zone: &'z str) -> &'z str {
        let hosts = &self.context.hypervisors;
        let index = &berth_cluster::indexes::HYPERVISOR_BY_ZONE;
        let is_known = hosts.clusters().iter().any(|cluster| hosts.count(index, zone, cluster, 1) > 0);
        if is_known || zone.is_empty() { zone } else { "other" }
    }
}
