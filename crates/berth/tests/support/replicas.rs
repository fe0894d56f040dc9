//! Several operators that compete for one lease over one cloud: their faults, which of them leads, and which has
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use berth_control_plane::WriteRequest;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, PostParams};

use super::operator::Operator;
use super::waiting::{so, until};
use super::world::{World, client};

/// The names of two replicas, for audit logs and logs.
pub const TWO: [&str; 2] = ["replica-a", "replica-b"];

/// The lease of the default configuration, in the namespace of the account.
pub const LEASE: &str = "berth";

const KINDS: [&str; 2] = ["committedresources", "reservations"];

/// Replicas and the world that they serve.
pub struct Replicas {
    pub world: World,
    pub leases: Api<Lease>,
    running: BTreeMap<&'static str, Operator>,
    paused: BTreeSet<&'static str>,
    /// The length of the audit log before this test.
    before: usize,
}

impl Replicas {
    pub async fn none(mut world: World) -> Self {
        let leases: Api<Lease> = Api::namespaced(client(world.control_plane()).await, "berth-system");
        if leases.get_opt(LEASE).await.unwrap().is_some() {
            leases.delete(LEASE, &DeleteParams::default()).await.unwrap();
        }
        let before = world.audit_log().len();
        Self { world, leases, running: BTreeMap::new(), paused: BTreeSet::new(), before }
    }

    /// Two replicas, ready; the first one leads.
    pub async fn two(world: World) -> Self {
        let mut replicas = Self::none(world).await;
        replicas.start(TWO[0]).await;
        replicas.leader_is(TWO[0]).await;
        replicas.start(TWO[1]).await;
        replicas
    }

    /// Starts a replica and waits until it is ready, whether it leads or not.
    pub async fn start(&mut self, name: &'static str) {
        self.running.insert(name, self.world.launch_replica(name).await);
        self.until(&format!("{name} is ready"), async |replicas| match replicas.get(name).probe("/readyz").await {
            Some((200, _)) => Ok(()),
            other => Err(format!("/readyz answers {other:?}")),
        })
        .await;
    }

    pub fn get(&self, name: &str) -> &Operator {
        &self.running[name]
    }

    /// Suspends a replica, which does not notice it.
    pub fn pause(&mut self, name: &'static str) {
        self.get(name).signal("STOP");
        self.paused.insert(name);
    }

    pub fn resume(&mut self, name: &'static str) {
        self.get(name).signal("CONT");
        self.paused.remove(name);
    }

    pub fn kill(&mut self, name: &'static str) {
        self.running.remove(name).unwrap().kill();
    }

    /// Sends SIGTERM; it must exit with success and in time.
    pub async fn stop(&mut self, name: &'static str) {
        self.running.remove(name).unwrap().stop().await;
    }

    /// Waits until a replica exits because it lost the leadership, and logs it in one line with this reason.
    pub async fn loses(&mut self, name: &'static str, reason: &str) {
        let (code, log) = self.running.remove(name).unwrap().ended().await;
        let reported: Vec<_> = log.lines().filter(|line| line.starts_with("berth: ")).collect();
        let text = format!("berth: this process has lost the leadership ({reason}); it ends so that another one can");
        assert_eq!((code, reported), (Some(1), vec![text.as_str()]), "{log}");
    }

    /// The running replicas that report that they lead.
    pub async fn leaders(&self) -> Vec<&'static str> {
        let mut leaders = Vec::new();
        for (name, replica) in self.running.iter().filter(|(name, _)| !self.paused.contains(**name)) {
            if replica.leads().await == Some(true) {
                leaders.push(*name);
            }
        }
        leaders
    }

    /// Waits until exactly this one leads, and returns how long that took.
    pub async fn leader_is(&self, name: &'static str) -> Duration {
        let started_at = Instant::now();
        self.until(&format!("{name} leads"), async |replicas| {
            let leaders = replicas.leaders().await;
            so(leaders == [name], || format!("{leaders:?} lead"))
        })
        .await;
        started_at.elapsed()
    }

    /// Waits until the check succeeds; a failure shows the logs.
    pub async fn until<T>(&self, what: &str, reconcile: impl AsyncFn(&Self) -> Result<T, String>) -> T {
        match until(async || reconcile(self).await).await {
            Ok(good) => good,
            Err(bad) => panic!("{what}: {bad}\n{}{}", self.logs(), self.world.report().await),
        }
    }

    /// All successful writes since the test began, in the order of the answers.
    fn changes(&self) -> Vec<WriteRequest> {
        let mut changes = self.world.audit_log().split_off(self.before);
        changes.retain(WriteRequest::succeeded);
        changes
    }

    /// All writes of the replica of this name since the test began.
    pub fn changes_by(&self, name: &str) -> Vec<WriteRequest> {
        let mut changes = self.changes();
        changes.retain(|write| write.user_agent == name);
        changes
    }

    /// The replicas that have changed commitments and slots since the test began: each name once for each time that it
    /// began to write. No write of one replica was under way any more when the next one began.
    pub fn writers(&self) -> Vec<String> {
        let mut writes = self.changes();
        writes.retain(|write| {
            let kind = write.resource.split('/').next().unwrap_or_default();
            KINDS.contains(&kind) && write.user_agent.starts_with("replica-")
        });
        for pair in writes.windows(2).filter(|pair| pair[0].user_agent != pair[1].user_agent) {
            assert!(pair[0].answered < pair[1].received, "two replicas write at the same time: {pair:#?}");
        }
        let mut names: Vec<_> = writes.into_iter().map(|write| write.user_agent).collect();
        names.dedup();
        names
    }

    pub async fn put(&self, lease: &Lease) {
        self.leases.create(&PostParams::default(), lease).await.unwrap();
    }

    /// Ends the test: the standbys exit, and the invariants hold under the leader and under a single successor.
    pub async fn end(mut self, leader: &'static str) {
        self.leader_is(leader).await;
        let leading = self.running.remove(leader).unwrap();
        for (_, standby) in std::mem::take(&mut self.running) {
            standby.stop().await;
        }
        self.world.adopt(leading);
        self.world.end().await;
    }

    fn logs(&self) -> String {
        let one = |(name, replica): (&&str, &Operator)| format!("The log of {name}:\n{}\n", replica.end_of_log());
        self.running.iter().map(one).collect()
    }
}
