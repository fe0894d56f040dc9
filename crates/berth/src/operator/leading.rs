//! Leader election from the view of the operator: campaign, take-over, and the end of the process when the lease is
//! lost.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Candidate, Cluster, Election, Ended, Fence, Leadership, LeaseMetrics};
use berth_telemetry::clock::SystemClock;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::info;
use uuid::Uuid;

use crate::error::Error;
use crate::wiring::DecidingState;

/// A cluster that does not respond to the new leader within this time must wait for its decisions.
pub(super) const TAKE_OVER: Duration = Duration::from_secs(10);

/// How this process becomes leader, and whether it still is.
pub(super) struct Leading {
    me: String,
    election: Option<(Leadership, JoinHandle<Ended>)>,
}

impl Leading {
    /// Without an election the process leads, and does not check that it is the only one.
    pub(super) fn alone() -> Self {
        Self { me: identity(), election: None }
    }

    /// Takes part in the election over the Lease `name` in the namespace that the process runs in.
    ///
    /// `address` is where others reach the APIs of this process, if they do.
    pub(super) fn elected(home: &Cluster, name: &str, address: Option<String>, metrics: Arc<LeaseMetrics>) -> Self {
        let namespace = home.client.default_namespace();
        let (namespace_of, name_of) = (namespace.to_owned(), name.to_owned());
        let clock = Arc::new(SystemClock);
        let identity = identity();
        let me = identity.clone();
        let candidate = Candidate { namespace: namespace_of, name: name_of, identity, address, clock, metrics };
        let (leadership, work) = Election::new(home, candidate);
        info!(lease = format!("{namespace}/{name}"), "leader election started");
        Self { me, election: Some((leadership, tokio::spawn(work))) }
    }

    /// Whether this process decides: false until the start of leading.
    pub(super) fn deciding(&self) -> DecidingState {
        let leadership = self.election.as_ref().map(|(leadership, _)| leadership.clone());
        DecidingState::new(leadership, &self.me)
    }

    pub(super) fn fence(&self) -> Fence {
        self.election.as_ref().map_or_else(Fence::open, |(leadership, _)| leadership.fence())
    }

    /// Resolves when this process leads. False if it leads without an election, and so takes over from no other process.
    pub(super) async fn acquired(&self) -> bool {
        let Some((leadership, _)) = &self.election else { return false };
        leadership.acquired().await;
        true
    }

    /// Resolves when it has led and does not any more.
    pub(super) async fn lost(&self) -> Error {
        match &self.election {
            None => std::future::pending().await,
            Some((leadership, _)) => Error::Leadership { reason: leadership.lost().await.to_string() },
        }
    }

    /// Lets the next replica lead at once. Only when nothing of this one writes any more.
    pub(super) async fn give_back(self, latest: Instant) {
        if let Some((leadership, _)) = &self.election {
            // Elapsed: then the others wait until the lease has run out.
            let _ = timeout_at(latest, leadership.release()).await;
        }
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        if let Some((_, work)) = &self.election {
            work.abort();
        }
    }
}

fn identity() -> String {
    format!("{}_{}", hostname(), Uuid::new_v4())
}

/// In a pod the name of the pod.
pub(super) fn hostname() -> String {
    let name = std::env::var("HOSTNAME").ok().or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "berth".to_owned())
}
