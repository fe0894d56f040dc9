//! Takes part in the election of a leader. It does what `step` says, one call at a time, each with a deadline, and tells
//! the fence and the rest of the process what came of it. It goes on whatever the API server answers.

use std::future::Future;
use std::sync::Arc;

use berth_telemetry::clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::Leadership;
use super::fence::Term;
use super::leadership::{Ended, Leader, News};
use super::object::{self, Holder};
use super::step::{Action, Standing};
use crate::deadlines::WRITE_DEADLINE;
use crate::write::{self, Failure};
use crate::{Call, Cluster, LeaseMetrics, ObjectKey, Right, Verb, WriteError};

/// Who takes part in an election, and over which Lease.
pub struct Candidate {
    /// Where the Lease is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// New in every process: the name of the host and something random.
    pub identity: String,
    /// Where others reach the API of this process once it leads, for example `http://10.0.0.7:8080`; `None`: nowhere.
    pub address: Option<String>,
    /// The wall clock, for the times that the Lease shows. Nothing is decided by it.
    pub clock: Arc<dyn Clock>,
    /// Whether this process leads.
    pub metrics: Arc<LeaseMetrics>,
}

/// Takes part in the election over one Lease.
pub struct Election {
    api: Api<Lease>,
    namespace: String,
    key: ObjectKey,
    standing: Standing,
    address: Option<String>,
    /// As it was last seen; what is written keeps what is in it.
    lease: Lease,
    trouble: Trouble,
    term: Arc<Term>,
    news: watch::Sender<News>,
    release: CancellationToken,
    clock: Arc<dyn Clock>,
    metrics: Arc<LeaseMetrics>,
}

impl Election {
    /// What it reads and writes. The name of the Lease is configured, so it is not limited by name.
    pub fn rights() -> Vec<Right> {
        let verbs = [Verb::Get, Verb::Create, Verb::Update];
        let lease = Right::resource("coordination.k8s.io", "v1", "leases", &verbs).at_home().in_own_namespace();
        vec![lease.granted_by("leader-election").because("The election reads and holds the lease.")]
    }

    /// An election, and the work behind it. The work ends when leadership was lost, or given back; dropping it ends it too,
    /// and the fence then closes in time.
    ///
    /// To be called within a runtime.
    #[expect(clippy::new_ret_no_self, reason = "the election is the work; what it gives is the view of it")]
    pub fn new(
        cluster: &Cluster,
        Candidate { namespace, name, identity, address, clock, metrics }: Candidate,
    ) -> (Leadership, impl Future<Output = Ended> + Send + use<>) {
        metrics.leads(false);
        let (news, seen) = watch::channel(News::default());
        let (term, release) = (Arc::new(Term::new()), CancellationToken::new());
        let leadership = Leadership::new(seen, term.clone(), release.clone());
        let election = Self {
            api: Api::namespaced(cluster.client.clone(), &namespace),
            namespace,
            key: ObjectKey::new(cluster.name.clone(), name),
            standing: Standing::new(identity),
            address,
            lease: Lease::default(),
            trouble: Trouble::default(),
            term,
            news,
            release,
            clock,
            metrics,
        };
        (leadership, election.work())
    }

    async fn work(mut self) -> Ended {
        let ended = self.campaign().await;
        self.term.hold(None);
        self.metrics.leads(false);
        self.news.send_modify(|news| (news.leads, news.ended) = (false, Some(ended.clone())));
        ended
    }

    async fn campaign(&mut self) -> Ended {
        let release = self.release.clone();
        while !release.is_cancelled() {
            match self.standing.step(self.term.now()) {
                Action::Read => self.read().await,
                Action::Create => self.create().await,
                Action::Acquire(_) | Action::Renew(_) => self.replace().await,
                Action::Wait(until) => {
                    tokio::select! {
                        biased;
                        () = release.cancelled() => {},
                        () = sleep_until(self.term.at(until)) => {},
                    }
                }
                Action::Lost(lost) => {
                    warn!(lease = %self.key, reason = %lost, "does not lead any more");
                    return Ended::Lost(lost);
                }
            }
        }
        self.give_back().await;
        Ended::Released
    }

    async fn read(&mut self) {
        self.standing.reads(self.term.now());
        match self.call(write::Operation::Get, self.api.get(&self.key.name)).await {
            Ok(lease) => self.sees(Some(lease)),
            Err(Failure::NotFound) => self.sees(None),
            Err(Failure::Error(error)) => self.trouble.met(&error),
        }
    }

    async fn create(&mut self) {
        let mark = self.standing.writes(self.term.now(), object::mark(self.clock.now()));
        let lease = object::new(&self.namespace, &self.key.name, self.me(), mark);
        let answer = self.call(write::Operation::Create, self.api.create(&PostParams::default(), &lease)).await;
        self.answered(answer);
    }

    async fn replace(&mut self) {
        let mark = self.standing.writes(self.term.now(), object::mark(self.clock.now()));
        let lease = object::holding(&self.lease, self.me(), mark);
        let answer = self.put(&lease).await;
        self.answered(answer);
    }

    fn me(&self) -> Holder<'_> {
        Holder { identity: &self.standing.me, address: self.address.as_deref() }
    }

    async fn put(&self, lease: &Lease) -> Result<Lease, Failure> {
        self.call(write::Operation::Patch, self.api.replace(&self.key.name, &PostParams::default(), lease)).await
    }

    fn answered(&mut self, answer: Result<Lease, Failure>) {
        match answer {
            Ok(lease) => return self.sees(Some(lease)),
            Err(Failure::Error(error)) => {
                self.trouble.met(&error);
                if matches!(error, WriteError::Unknown { .. }) {
                    return self.standing.unknown();
                }
            }
            Err(Failure::NotFound) => {}
        }
        self.standing.refused();
    }

    fn sees(&mut self, lease: Option<Lease>) {
        self.trouble.over();
        self.standing.sees(lease.as_ref().map(object::record), self.term.now());
        self.lease = lease.unwrap_or_default();
        self.tell();
    }

    /// Tells the fence and the rest of the process.
    fn tell(&self) {
        let held = self.standing.leads_since();
        self.term.hold(held);
        let (leads, holder, leader) = (held.is_some(), self.standing.holder().map(str::to_owned), self.leader());
        self.news.send_if_modified(|news| {
            if leads && !news.leads {
                info!(lease = %self.key, identity = self.standing.me, "leads now");
                self.metrics.leads(true);
            }
            let moved = holder.is_some() && holder != news.holder;
            if moved && news.holder.is_some() {
                self.metrics.transitions();
            }
            if moved && !leads {
                info!(lease = %self.key, holder, "waiting to become the leader: another process holds the lease");
            }
            let change = news.leads != leads || news.holder != holder;
            // Who held it last stays known while nobody does.
            (news.leads, news.holder) = (leads, holder.or_else(|| news.holder.take()));
            // Nobody is woken for a renewal: whoever asks for the leader looks at the clock.
            news.leader = leader;
            change
        });
    }

    fn leader(&self) -> Option<(Leader, Instant)> {
        let (identity, until) = self.standing.leader()?;
        let address = object::address(&self.lease).map(str::to_owned);
        Some((Leader { identity: identity.to_owned(), address }, self.term.at(until)))
    }

    /// Only when no write of ours can be under way any more.
    async fn give_back(&mut self) {
        let leads = self.standing.leads_since().is_some();
        self.term.hold(None);
        self.metrics.leads(false);
        if !leads || self.standing.stale {
            return;
        }
        sleep_until(self.term.at(self.term.landed())).await;
        let mark = self.standing.writes(self.term.now(), object::mark(self.clock.now()));
        match self.put(&object::released(&self.lease, mark)).await {
            Ok(_) => info!(lease = %self.key, "gave the lease back"),
            Err(Failure::Error(error)) => self.trouble.met(&error),
            Err(Failure::NotFound) => {}
        }
    }

    /// Sends a call and waits for the answer as long as it is worth something.
    async fn call<T>(
        &self,
        operation: write::Operation,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        let call = Call { operation, kind: "Lease".to_owned(), key: self.key.clone() };
        let patience = self.standing.patience(self.term.now(), WRITE_DEADLINE);
        let Ok(answer) = timeout(patience, request).await else {
            let message = format!("no answer within {} s", patience.as_secs_f32());
            return Err(Failure::Error(WriteError::Unknown { call, message }));
        };
        answer.map_err(|error| Failure::of(&call, &error))
    }
}

// Says once what is in the way of the election, and once that it is over. It decides nothing.

/// What was said last.
#[derive(Default)]
struct Trouble {
    said: Option<String>,
}

impl Trouble {
    pub fn met(&mut self, error: &WriteError) {
        if matches!(error, WriteError::Conflict { .. } | WriteError::AlreadyExists { .. }) {
            debug!(%error, "another process was quicker");
            return;
        }
        let text = error.to_string();
        if self.said.as_ref() != Some(&text) {
            warn!(error = text, "the election of a leader does not get through; it goes on trying");
            self.said = Some(text);
        }
    }

    pub fn over(&mut self) {
        if self.said.take().is_some() {
            info!("the election of a leader gets through again");
        }
    }
}

#[cfg(test)]
mod tests;
