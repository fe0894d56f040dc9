//! The election as seen by the rest of the process: whether it leads, whether it has lost, and which other process
//! leads.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fence::Term;
use super::{Fence, Lost};

/// How an election ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// This process led and does not any more. It must end.
    Lost(Lost),
    /// It did not want to lead any longer.
    Released,
}

/// The leading process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    pub identity: String,
    /// Its address, for example `http://10.0.0.7:8080`; `None` if it has not published one.
    pub address: Option<String>,
}

/// The state of the election at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeadershipState {
    pub leads: bool,
    pub ended: Option<Ended>,
    pub holder: Option<String>,
    /// And until when that counts if nothing newer is seen.
    pub leader: Option<(Leader, Instant)>,
}

/// Sees the election. Clones see the same.
#[derive(Clone)]
pub struct Leadership {
    state: watch::Receiver<LeadershipState>,
    term: Arc<Term>,
    release: CancellationToken,
    hurry: Arc<Notify>,
}

impl Leadership {
    pub(super) fn new(
        state: watch::Receiver<LeadershipState>,
        term: Arc<Term>,
        release: CancellationToken,
        hurry: Arc<Notify>,
    ) -> Self {
        Self { state, term, release, hurry }
    }

    /// Resolves when this process leads, which may never happen.
    pub async fn acquired(&self) {
        let mut state = self.state.clone();
        if state.wait_for(|state| state.leads).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when the election has ended, however it did. Without a reason its future was dropped.
    pub async fn ended(&self) -> Option<Ended> {
        let mut state = self.state.clone();
        state.wait_for(|state| state.ended.is_some()).await.ok().and_then(|state| state.ended.clone())
    }

    /// Resolves when this process has lost the lease. It must then end, with exit code 1.
    pub async fn lost(&self) -> Lost {
        match self.ended().await {
            Some(Ended::Lost(lost)) => lost,
            Some(Ended::Released) | None => std::future::pending().await,
        }
    }

    pub fn fence(&self) -> Fence {
        Fence::of(self.term.clone())
    }

    /// True from the acquisition until the loss. Whether there is time for a write is the question of the fence.
    pub fn is_leader(&self) -> bool {
        self.state.borrow().leads
    }

    /// The holder of the lease, as far as this process knows.
    pub fn holder(&self) -> Option<String> {
        self.state.borrow().holder.clone()
    }

    /// The present leader and its address, from the last observation of the election. `None` if the lease was not seen
    /// to change within its duration, while it is being released, or after the election has ended.
    pub fn leader(&self) -> Option<Leader> {
        let state = self.state.borrow();
        let (leader, until) =
            state.leader.as_ref().filter(|_| state.ended.is_none() && !self.release.is_cancelled())?;
        (Instant::now() < *until).then(|| leader.clone())
    }

    /// The leader seems to be gone: the lease is read soon, and not only when its next read is due. May be called as
    /// often as one likes.
    pub fn read_lease_soon(&self) {
        self.hurry.notify_one();
    }

    /// Releases the lease, so that the next leader need not wait 15 s. To be called when all controllers have ended:
    /// the fence closes at once, and the lease is released when no write of this process can take effect any more. That
    /// is at once if all writes were answered, and otherwise 5 s after the last one was given up. A caller that does
    /// not wait for it only makes the other replicas wait.
    pub async fn release(&self) {
        self.release.cancel();
        self.ended().await;
    }
}
