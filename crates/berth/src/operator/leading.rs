//! Being the one who decides: the election among replicas, the take-over, and the end when the lease is lost. What is
//! done by whoever leads is decided by `operator`; how a lease is won and held, by the cluster crate.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Candidate, Cluster, Election, Ended, Fence, Leadership, LeaseMetrics};
use berth_telemetry::clock::SystemClock;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::info;
use uuid::Uuid;

use crate::assembly::Deciding;
use crate::error::Error;

/// A cluster that does not answer the new leader within this time has to wait for its decisions.
pub(super) const TAKE_OVER: Duration = Duration::from_secs(10);

/// How this process comes to lead, and whether it still does.
pub(super) struct Leading {
    /// What this process is called.
    me: String,
    election: Option<(Leadership, JoinHandle<Ended>)>,
}

impl Leading {
    /// Without an election the process leads, and nobody checks that it is the only one.
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
        info!(lease = format!("{namespace}/{name}"), "takes part in the election of a leader");
        Self { me, election: Some((leadership, tokio::spawn(work))) }
    }

    /// Whether this process decides: not before it is told to begin.
    pub(super) fn deciding(&self) -> Deciding {
        let leadership = self.election.as_ref().map(|(leadership, _)| leadership.clone());
        Deciding::new(leadership, &self.me)
    }

    /// What writers ask before they write.
    pub(super) fn fence(&self) -> Fence {
        self.election.as_ref().map_or_else(Fence::open, |(leadership, _)| leadership.fence())
    }

    /// Resolves when this process leads. False if it leads without an election, and so takes over from nobody.
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

/// `<hostname>_<random uuid>`.
fn identity() -> String {
    format!("{}_{}", hostname(), Uuid::new_v4())
}

/// In a pod the name of the pod.
pub(super) fn hostname() -> String {
    let name = std::env::var("HOSTNAME").ok().or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "berth".to_owned())
}
