//! A scheduler behind HTTP that looks like the one in this process. The other one decides on hosts; the view of this
//! process remembers what it decided, pins and judges. There is no waiting list: slots without a host are tried again
//! by their own back-off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use berth_core::{HostName, Resources, SlotKey};
use berth_scheduler::{
    BuiltIn, Candidates, Pin, Placed, Placement, Request, Scheduler, SchedulerError, Shortage, SlotRequest, Verdict,
    WholeRequest,
};
use berth_telemetry::config::Token;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, error, info};

use super::failure::Failure;
use crate::web;
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
        Self::patient(url, user_agent, view, PATIENCE)
    }

    /// The same, showing this token with every request, if there is one.
    pub fn with_token(self, token: Option<&Token>) -> Result<Self, SchedulerError> {
        let link = self.link.with_token(token);
        Ok(Self { link: link.map_err(|failure| SchedulerError::External(failure.to_string()))?, ..self })
    }

    /// The same with another limit for a whole call.
    pub(super) fn patient(
        url: &str,
        user_agent: Option<&str>,
        view: Arc<BuiltIn>,
        patience: Duration,
    ) -> Result<Self, SchedulerError> {
        let link = Link::new(url, user_agent, patience);
        let link = link.map_err(|failure| SchedulerError::External(failure.to_string()))?;
        Ok(Self { link, view, health: Health::default() })
    }

    async fn ask(&self, request: &Request, ids: &Ids) -> Result<Vec<HostName>, SchedulerError> {
        self.say(request, ids);
        let begin = Instant::now();
        let asked = match wire::encode(request, ids) {
            Ok(body) => self.link.ask(body.into(), request.options.read_only).await,
            Err(error) => Err(Failure::Marshal(error.to_string())),
        };
        let (req, greq, took) = (&ids.request_id, &ids.global_request_id, begin.elapsed());
        match asked {
            Ok(hosts) => {
                debug!(req, greq, hosts = hosts.len(), ?took, "the external scheduler has answered");
                if self.health.answered() {
                    info!(url = self.link.url(), "the external scheduler gives usable answers again");
                }
                Ok(hosts)
            }
            Err(failure) => {
                if self.health.failed() {
                    error!(req, greq, error = %failure, ?took, "the external scheduler gave no usable answer");
                } else {
                    debug!(req, greq, error = %failure, ?took, "still no usable answer of the external scheduler");
                }
                Err(failure.into_error(request))
            }
        }
    }

    fn say(&self, request: &Request, ids: &Ids) {
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

    /// All hosts of the view with weight 0: the protocol has no word for all.
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
    async fn place_all(&self, _: &WholeRequest) -> Result<Placement, SchedulerError> {
        Ok(Placement::Later)
    }

    /// A preferred host is not asked for: the protocol has no word for it.
    async fn place(&self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        if let Some(host) = self.view.held(slot)? {
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

    async fn probe(&self, request: &Request) -> Result<Vec<HostName>, SchedulerError> {
        if !request.options.read_only {
            return Err(SchedulerError::Options("a probe must set read_only"));
        }
        request.options.validate()?;
        let mut asked = request.clone();
        // Only our own server knows it, and nobody looks at what it would add.
        asked.options.explain = false;
        if asked.candidates == Candidates::All {
            asked.candidates = Candidates::Listed(self.all());
        }
        let ids = Ids { request_id: request.instance.as_str().to_owned(), global_request_id: String::new() };
        self.ask(&asked, &ids).await
    }

    fn room(&self, _: &HostName) -> Option<Resources> {
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

    fn verdict(&self, key: &SlotKey) -> Verdict {
        self.view.verdict(key)
    }

    fn waiting(&self, _: &SlotKey) -> Option<Shortage> {
        None
    }
}

// Whether an external scheduler gives usable answers, for the log: its end and its recovery are told once, not with every
// slot and every retry while it is away.

/// What the last answer was.
#[derive(Debug, Default)]
pub(super) struct Health {
    failing: AtomicBool,
}

impl Health {
    /// It has failed; whether that is news.
    pub(super) fn failed(&self) -> bool {
        !self.failing.swap(true, Ordering::Relaxed)
    }

    /// It has answered; whether that is news after a failure.
    pub(super) fn answered(&self) -> bool {
        self.failing.swap(false, Ordering::Relaxed)
    }
}

// One call to an external scheduler: a body there, hosts back. It decides how long and
// how much is waited for, and what is tried again; what is asked, and what the hosts are for, is decided by `external`.

/// From connecting to the last byte of the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 10;
/// Bytes of an answer. Ten thousand hosts with names of 100 characters take a quarter of it.
const MOST: usize = 4 << 20;
/// Bytes of the answer that are told when it is an error.
const TOLD: usize = 1024;

/// The way to one scheduler.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    url: String,
    patience: Duration,
    /// Sensitive: neither shown nor logged.
    authorization: Option<HeaderValue>,
}

impl Link {
    pub(super) fn new(url: &str, user_agent: Option<&str>, patience: Duration) -> Result<Self, Failure> {
        let settings = || {
            let builder = Client::builder().redirect(Policy::limited(REDIRECTS));
            match user_agent {
                Some(agent) => builder.user_agent(agent),
                None => builder,
            }
        };
        let client = web::client(settings).map_err(|error| Failure::Create(web::line(error)))?;
        Ok(Self { client, url: url.to_owned(), patience, authorization: None })
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
        let deadline = Instant::now() + self.patience;
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
            if error.is_builder() { Failure::Create(web::line(error)) } else { Failure::Send(web::line(error)) }
        })
    }

    async fn send_once(&self, body: &Bytes) -> Result<reqwest::Result<Response>, Failure> {
        let mut request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json").body(body.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.build().map_err(|error| Failure::Create(web::line(error)))?;
        Ok(self.client.execute(request).await)
    }

    async fn hosts(&self, mut answer: Response, deadline: Instant) -> Result<Vec<HostName>, Failure> {
        let mut body = Vec::new();
        let whole = timeout_at(deadline, web::first_bytes(&mut answer, MOST, &mut body)).await;
        let whole = match whole {
            Ok(whole) => whole.map_err(|error| Failure::Decode(web::line(error)))?,
            Err(_) => return Err(Failure::Decode(self.no_answer("the answer did not end"))),
        };
        wire::decode_answer(&body).map_err(|error| {
            Failure::Decode(if whole { error } else { format!("the answer is longer than {MOST} bytes") })
        })
    }

    fn no_answer(&self, what: &str) -> String {
        format!("{what} within {} s; check that the scheduler at schedulerURL is well", self.patience.as_secs_f32())
    }
}

/// Nothing was answered, for a reason that may be gone at the next try: not a redirect that leads nowhere.
fn is_of_the_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_request() && !error.is_timeout()
}

async fn refused(mut answer: Response, deadline: Instant) -> Failure {
    let (code, mut body) = (answer.status().as_u16(), Vec::new());
    let read = timeout_at(deadline, web::first_bytes(&mut answer, TOLD, &mut body)).await;
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
        let told = [health.answered(), health.failed(), health.failed(), health.answered(), health.answered()];
        assert_eq!(told, [false, true, false, true, false]);
        assert!(health.failed());
    }
}
