//! A scheduler behind HTTP that looks like the one in this process (D4, document 22). The other one decides on hosts; the
//! view of this process remembers what it decided (U1), pins and judges. There is no waiting list: slots without a host
//! are tried again by their own back-off.

use std::{sync::Arc, time::Duration};

use berth_core::{HostName, Resources, SlotKey};
use berth_scheduler::{
    BuiltIn, Candidates, Pin, Placed, Placement, Request, Scheduler, SchedulerError, Shortage, SlotRequest, Verdict,
    WholeRequest,
};
use berth_telemetry::config::Token;
use tokio::time::Instant;
use tracing::{debug, error, info};

use super::{
    failure::Failure,
    health::Health,
    link::{Link, PATIENCE},
};
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
