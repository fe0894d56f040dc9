//! Takes part in the leader election: carries out what `step` decides, one call at a time with a deadline, and
//! publishes the result. It continues whatever the API server answers.

use std::future::Future;
use std::sync::Arc;

use berth_telemetry::clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::Leadership;
use super::fence::Term;
use super::leadership::{Ended, Leader, LeadershipState};
use super::object::{self, Holder};
use super::step::{Action, ReplicaState};
use crate::deadlines::WRITE_DEADLINE;
use crate::write::{self, Failure};
use crate::{Call, Cluster, LeaseMetrics, ObjectKey, Right, Verb, WriteError};

/// The identity of a replica in an election, and the Lease.
pub struct Candidate {
    pub namespace: String,
    pub name: String,
    /// New in every process: the name of the host and something random.
    pub identity: String,
    /// Where others reach the API of this process once it leads, for example `http://10.0.0.7:8080`; `None`: nowhere.
    pub address: Option<String>,
    /// The wall clock, for the times that the Lease shows. Nothing is decided by it.
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<LeaseMetrics>,
}

/// Takes part in the election over one Lease.
pub struct Election {
    api: Api<Lease>,
    namespace: String,
    key: ObjectKey,
    standing: ReplicaState,
    address: Option<String>,
    /// The Lease as it was last seen; writes keep its other fields.
    lease: Lease,
    error: RenewalErrors,
    term: Arc<Term>,
    state: watch::Sender<LeadershipState>,
    release: CancellationToken,
    hurry: Arc<Notify>,
    clock: Arc<dyn Clock>,
    metrics: Arc<LeaseMetrics>,
}

impl Election {
    /// The rights for the Lease. Its name is configured, so they are not limited by name.
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
        let (state, seen) = watch::channel(LeadershipState::default());
        let (term, release, hurry) = (Arc::new(Term::new()), CancellationToken::new(), Arc::new(Notify::new()));
        let leadership = Leadership::new(seen, term.clone(), release.clone(), hurry.clone());
        let election = Self {
            api: Api::namespaced(cluster.client.clone(), &namespace),
            namespace,
            key: ObjectKey::new(cluster.name.clone(), name),
            standing: ReplicaState::new(identity),
            address,
            lease: Lease::default(),
            error: RenewalErrors::default(),
            term,
            state,
            release,
            hurry,
            clock,
            metrics,
        };
        (leadership, election.work())
    }

    async fn work(mut self) -> Ended {
        let ended = self.campaign().await;
        self.term.hold(None);
        self.metrics.leads(false);
        self.state.send_modify(|state| (state.leads, state.ended) = (false, Some(ended.clone())));
        ended
    }

    async fn campaign(&mut self) -> Ended {
        let (release, hurry) = (self.release.clone(), self.hurry.clone());
        while !release.is_cancelled() {
            match self.standing.step(self.term.now()) {
                Action::Read => self.read().await,
                Action::Create => self.create().await,
                Action::Acquire(_) | Action::Renew(_) => self.replace().await,
                Action::Wait(until) => {
                    tokio::select! {
                        biased;
                        () = release.cancelled() => {},
                        () = hurry.notified() => self.standing.hurries(self.term.now()),
                        () = sleep_until(self.term.at(until)) => {},
                    }
                }
                Action::Lost(lost) => {
                    warn!(lease = %self.key, reason = %lost, "leadership lost");
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
            Ok(lease) => self.sees(Some(lease), Access::Read),
            Err(Failure::NotFound) => self.sees(None, Access::Read),
            Err(Failure::Error(error)) => self.error.met(&error, Access::Read),
        }
    }

    async fn create(&mut self) {
        let renew_time = self.standing.writes(self.term.now(), object::renew_time(self.clock.now()));
        let lease = object::new(&self.namespace, &self.key.name, self.me(), renew_time);
        let answer = self.call(write::Operation::Create, self.api.create(&PostParams::default(), &lease)).await;
        self.answered(answer);
    }

    async fn replace(&mut self) {
        let renew_time = self.standing.writes(self.term.now(), object::renew_time(self.clock.now()));
        let lease = object::holding(&self.lease, self.me(), renew_time);
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
            Ok(lease) => return self.sees(Some(lease), Access::Write),
            Err(Failure::Error(error)) => {
                self.error.met(&error, Access::Write);
                if matches!(error, WriteError::Unknown { .. }) {
                    return self.standing.unknown();
                }
            }
            Err(Failure::NotFound) => {}
        }
        self.standing.refused();
    }

    fn sees(&mut self, lease: Option<Lease>, by: Access) {
        self.error.succeeded(by);
        self.standing.sees(lease.as_ref().map(object::record), self.term.now());
        self.lease = lease.unwrap_or_default();
        self.publish_leadership();
    }

    /// Tells the fence and the rest of the process.
    fn publish_leadership(&self) {
        let held = self.standing.leads_since();
        self.term.hold(held);
        let (leads, holder, leader) = (held.is_some(), self.standing.holder().map(str::to_owned), self.leader());
        self.state.send_if_modified(|state| {
            if leads && !state.leads {
                info!(lease = %self.key, identity = self.standing.me, "leadership acquired");
                self.metrics.leads(true);
            }
            let moved = holder.is_some() && holder != state.holder;
            if moved && state.holder.is_some() {
                self.metrics.transitions();
            }
            if moved && !leads {
                info!(lease = %self.key, holder, "waiting for the lease of another process");
            }
            let change = state.leads != leads || state.holder != holder;
            // The last holder stays known while the lease has none.
            (state.leads, state.holder) = (leads, holder.or_else(|| state.holder.take()));
            // Readers of the leader read the clock, so a renewal need not notify any task.
            state.leader = leader;
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
        let renew_time = self.standing.writes(self.term.now(), object::renew_time(self.clock.now()));
        match self.put(&object::released(&self.lease, renew_time)).await {
            Ok(_) => info!(lease = %self.key, "lease released"),
            Err(Failure::Error(error)) => self.error.met(&error, Access::Write),
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
        let timeout = self.standing.remaining_time(self.term.now(), WRITE_DEADLINE);
        let Ok(answer) = tokio::time::timeout(timeout, request).await else {
            let message = format!("no answer within {} s", timeout.as_secs_f32());
            return Err(Failure::Error(WriteError::Unknown { call, message }));
        };
        answer.map_err(|error| Failure::of(&call, &error))
    }
}

// Logs once that the election has a problem, and once that the problem has ended. It decides nothing.

/// What the Lease is accessed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// The last error that was logged, and what had failed.
#[derive(Default)]
struct RenewalErrors {
    log: Option<(Access, String)>,
}

impl RenewalErrors {
    fn met(&mut self, error: &WriteError, of: Access) {
        if matches!(error, WriteError::Conflict { .. } | WriteError::AlreadyExists { .. }) {
            debug!(%error, "another process acquired the lease");
            return;
        }
        let text = error.to_string();
        if self.log.as_ref().is_none_or(|(_, logged)| *logged != text) {
            warn!(error = text, "leader election failed; retrying");
            self.log = Some((of, text));
        }
    }

    /// A process that may read the Lease need not be able to write it.
    fn succeeded(&mut self, with: Access) {
        if self.log.take_if(|(failed, _)| *failed == Access::Read || with == Access::Write).is_some() {
            info!("leader election works again");
        }
    }
}

#[cfg(test)]
mod tests;
