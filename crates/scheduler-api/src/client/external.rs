//! A scheduler behind HTTP with the interface of the one in this process. The external scheduler decides on hosts; the
//! view of this process keeps its decisions, pins slots and checks hosts. There is no waiting list: slots without a
//! host are retried with their own back-off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use berth_core::{CommitmentUuid, HostName, Resources, SlotKey};
use berth_http::client;
use berth_scheduler::{
    BuiltIn, Candidates, CommitmentRequest, DryRunPlacement, HostCapacity, HostVerdict, Pin, Placed, Placement,
    Request, Scheduler, SchedulerError, Shortage, SlotRequest,
};
use berth_telemetry::config::Token;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, error, info};

use super::failure::Failure;
use crate::wire::{self, Ids};

/// A scheduler behind HTTP.
#[derive(Debug)]
pub struct External {
    link: Link,
    view: Arc<BuiltIn>,
    health: Health,
}

impl External {
    /// The scheduler at `url`, which is used as it is. `view` has the same hosts and reservations as the stores of this
    /// process; nothing else may place slots with it.
    pub fn new(url: &str, user_agent: Option<&str>, view: Arc<BuiltIn>) -> Result<Self, SchedulerError> {
        Self::with_timeout(url, user_agent, view, TIMEOUT)
    }

    /// The same, showing this token with every request, if there is one.
    pub fn with_token(self, token: Option<&Token>) -> Result<Self, SchedulerError> {
        let link = self.link.with_token(token);
        Ok(Self { link: link.map_err(|failure| SchedulerError::External(failure.to_string()))?, ..self })
    }

    /// The same with another limit for a whole call.
    pub(super) fn with_timeout(
        url: &str,
        user_agent: Option<&str>,
        view: Arc<BuiltIn>,
        timeout: Duration,
    ) -> Result<Self, SchedulerError> {
        let link = Link::new(url, user_agent, timeout);
        let link = link.map_err(|failure| SchedulerError::External(failure.to_string()))?;
        Ok(Self { link, view, health: Health::default() })
    }

    async fn ask(&self, request: &Request, ids: &Ids) -> Result<Vec<HostName>, SchedulerError> {
        self.log_request(request, ids);
        let begin = Instant::now();
        let asked = match wire::encode(request, ids) {
            Ok(body) => self.link.ask(body.into(), request.options.read_only).await,
            Err(error) => Err(Failure::Marshal(error.to_string())),
        };
        let (req, greq, took) = (&ids.request_id, &ids.global_request_id, begin.elapsed());
        match asked {
            Ok(hosts) => {
                debug!(req, greq, hosts = hosts.len(), ?took, "external scheduler answered");
                if self.health.answered() {
                    info!(url = self.link.url(), "external scheduler usable again");
                }
                Ok(hosts)
            }
            Err(failure) => {
                if self.health.failed() {
                    error!(req, greq, error = %failure, ?took, "external scheduler gave no usable answer");
                } else {
                    debug!(req, greq, error = %failure, ?took, "external scheduler still gives no usable answer");
                }
                Err(failure.into_error(request))
            }
        }
    }

    fn log_request(&self, request: &Request, ids: &Ids) {
        let hosts = match &request.candidates {
            Candidates::All => 0,
            Candidates::Listed(hosts) => hosts.len(),
        };
        debug!(
            req = ids.request_id,
            greq = ids.global_request_id,
            url = self.link.url(),
            pipeline = request.pipeline,
            instanceUUID = request.instance.as_str(),
            flavorName = request.flavor.name.as_str(),
            flavorExtraSpecs = ?request.flavor.extra_specs,
            hosts,
            ignoredHosts = request.ignore_hosts.len(),
            hasSchedulerHints = request.hints != berth_scheduler::Hints::default(),
            availabilityZone = request.zone.as_str(),
            "asking the external scheduler"
        );
    }

    /// All hosts of the view with weight 0, because the protocol cannot express "all".
    fn all(&self) -> Vec<(HostName, f64)> {
        self.view.host_names().into_iter().map(|host| (host, 0.0)).collect()
    }

    fn take(&self, slot: &SlotRequest, host: HostName) -> Result<Placed, SchedulerError> {
        if self.view.hold(slot, &host)? {
            return Ok(Placed::Host(host));
        }
        let what = "the external scheduler chose a host that has no Hypervisor here";
        let then = "check that it serves the same clusters and sees the same hosts";
        Err(SchedulerError::External(format!("{what}: {:?}; {then}", host.as_str())))
    }
}

impl Scheduler for External {
    async fn place_all(&self, _: &CommitmentRequest) -> Result<Placement, SchedulerError> {
        Ok(Placement::Later)
    }

    /// The external scheduler cannot be asked what it would do, so the pipelines of this process answer.
    async fn dry_run(&self, change: &[CommitmentRequest]) -> Result<Vec<DryRunPlacement>, SchedulerError> {
        self.view.dry_run(change).await
    }

    /// A preferred host is not requested, because the protocol cannot express it.
    async fn place(&self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        if self.view.awaits_plan(slot) {
            return Ok(Placed::Unplanned);
        }
        if let Some(host) = self.view.is_held(slot)? {
            return Ok(Placed::Host(host));
        }
        let hosts = self.all();
        let shortage = Shortage { hosts: hosts.len(), ..Shortage::default() };
        if hosts.is_empty() {
            return Ok(Placed::Nowhere(shortage));
        }
        let request = Request { candidates: Candidates::Listed(hosts), ..Request::for_slot(slot) };
        let ids = Ids { request_id: slot.key.name.as_str().to_owned(), global_request_id: slot.request_id.clone() };
        match self.ask(&request, &ids).await?.into_iter().next() {
            Some(host) => self.take(slot, host),
            None => Ok(Placed::Nowhere(shortage)),
        }
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        self.view.pin(pin).await
    }

    async fn probe(&self, request: &Request, global_request_id: &str) -> Result<Vec<HostName>, SchedulerError> {
        if !request.options.read_only {
            return Err(SchedulerError::Options("a probe must set read_only"));
        }
        request.options.validate()?;
        let mut asked = request.clone();
        // Only our own server knows this option, and its result is not used.
        asked.options.explain = false;
        if asked.candidates == Candidates::All {
            asked.candidates = Candidates::Listed(self.all());
        }
        let ids = Ids { request_id: String::new(), global_request_id: global_request_id.to_owned() };
        self.ask(&asked, &ids).await
    }

    async fn probe_unranked(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> Result<Vec<HostName>, SchedulerError> {
        self.probe(request, global_request_id).await
    }

    fn host_capacities(&self) -> Vec<HostCapacity> {
        self.view.host_capacities()
    }

    fn free_capacity(&self, _: &HostName) -> Option<Resources> {
        None
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.view.applied(keys);
    }

    fn in_doubt(&self, key: &SlotKey) {
        self.view.in_doubt(key);
    }

    fn settled(&self, key: &SlotKey) {
        self.view.settled(key);
    }

    fn withdraw(&self, key: &SlotKey) {
        self.view.withdraw(key);
    }

    fn planned(&self, commitment: &CommitmentUuid, uid: &str, generation: i64) {
        self.view.planned(commitment, uid, generation);
    }

    fn hold_for_change(&self, change: &str, slots: &[(HostName, Resources)]) {
        self.view.hold_for_change(change, slots);
    }

    fn end_change(&self, change: &str) {
        self.view.end_change(change);
    }

    fn verdict(&self, key: &SlotKey) -> HostVerdict {
        self.view.verdict(key)
    }

    fn waiting(&self, _: &SlotKey) -> Option<Shortage> {
        None
    }
}

// Whether an external scheduler gives usable responses, for the log: a failure and the recovery are logged once, not
// with every slot and every retry.

/// The result of the last call.
#[derive(Debug, Default)]
pub(super) struct Health {
    failing: AtomicBool,
}

impl Health {
    pub(super) fn failed(&self) -> bool {
        !self.failing.swap(true, Ordering::Relaxed)
    }

    /// It has answered; whether that is news after a failure.
    pub(super) fn answered(&self) -> bool {
        self.failing.swap(false, Ordering::Relaxed)
    }
}

// One call to an external scheduler: a body in, hosts out. This part determines deadlines, size limits and retries;
// `external` makes the requests and uses the hosts.

/// From connecting to the last byte of the answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 10;
/// Bytes of an answer. Ten thousand hosts with names of 100 characters take a quarter of it.
const MOST: usize = 4 << 20;
/// How many bytes of an error response are logged.
const MAX_ERROR_BYTES: usize = 1024;

/// The way to one scheduler.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    url: String,
    timeout: Duration,
    authorization: Option<HeaderValue>,
}

impl Link {
    pub(super) fn new(url: &str, user_agent: Option<&str>, timeout: Duration) -> Result<Self, Failure> {
        let settings = || {
            let builder = Client::builder().redirect(Policy::limited(REDIRECTS));
            match user_agent {
                Some(agent) => builder.user_agent(agent),
                None => builder,
            }
        };
        let client = client::build(settings).map_err(|error| Failure::Create(client::line(error)))?;
        Ok(Self { client, url: url.to_owned(), timeout, authorization: None })
    }

    pub(super) fn with_token(self, token: Option<&Token>) -> Result<Self, Failure> {
        let value = token.map(|token| HeaderValue::try_from(format!("Bearer {}", token.reveal()))).transpose();
        let mut authorization = value.map_err(|error| Failure::Create(error.to_string()))?;
        if let Some(value) = &mut authorization {
            value.set_sensitive(true);
        }
        Ok(Self { authorization, ..self })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks for hosts. When the call changes nothing there, a connection that fails is tried once more.
    pub(super) async fn ask(&self, body: Bytes, changes_nothing: bool) -> Result<Vec<HostName>, Failure> {
        let deadline = Instant::now() + self.timeout;
        let sending = timeout_at(deadline, self.send(&body, changes_nothing));
        let answer = sending.await.unwrap_or_else(|_| Err(Failure::Send(self.no_answer("no answer"))))?;
        if answer.status() == StatusCode::OK {
            self.hosts(answer, deadline).await
        } else {
            Err(refused(answer, deadline).await)
        }
    }

    async fn send(&self, body: &Bytes, again: bool) -> Result<Response, Failure> {
        let answer = match self.send_once(body).await? {
            Err(error) if again && is_of_the_connection(&error) => self.send_once(body).await?,
            answer => answer,
        };
        answer.map_err(|error| {
            if error.is_builder() { Failure::Create(client::line(error)) } else { Failure::Send(client::line(error)) }
        })
    }

    async fn send_once(&self, body: &Bytes) -> Result<reqwest::Result<Response>, Failure> {
        let mut request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.build().map_err(|error| Failure::Create(client::line(error)))?;
        Ok(self.client.execute(request).await)
    }

    async fn hosts(&self, mut answer: Response, deadline: Instant) -> Result<Vec<HostName>, Failure> {
        let mut body = Vec::new();
        let whole = timeout_at(deadline, client::first_bytes(&mut answer, MOST, &mut body)).await;
        let whole = match whole {
            Ok(whole) => whole.map_err(|error| Failure::Decode(client::line(error)))?,
            Err(_) => return Err(Failure::Decode(self.no_answer("the answer did not end"))),
        };
        wire::decode_answer(&body).map_err(|error| {
            Failure::Decode(if whole { error } else { format!("the answer is longer than {MOST} bytes") })
        })
    }

    fn no_answer(&self, what: &str) -> String {
        format!("{what} within {} s; check that the scheduler at schedulerURL is well", self.timeout.as_secs_f32())
    }
}

/// There was no response, for a reason that may be gone at the next attempt, unlike a wrong redirect.
fn is_of_the_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_request() && !error.is_timeout()
}

async fn refused(mut answer: Response, deadline: Instant) -> Failure {
    let (code, mut body) = (answer.status().as_u16(), Vec::new());
    let read = timeout_at(deadline, client::first_bytes(&mut answer, MAX_ERROR_BYTES, &mut body)).await;
    let readable = matches!(read, Ok(Ok(_)));
    // The texts of servers end with a line break, and this one goes on in a condition.
    Failure::Status { code, body: readable.then(|| String::from_utf8_lossy(&body).trim_end().to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_news() {
        let health = Health::default();
        let reported = [health.answered(), health.failed(), health.failed(), health.answered(), health.answered()];
        assert_eq!(reported, [false, true, false, true, false]);
        assert!(health.failed());
    }
}
