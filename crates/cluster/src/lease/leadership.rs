//! What the rest of the process sees of the election: whether it leads, that it has lost, who leads instead.

use std::sync::Arc;

use tokio::sync::watch;
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

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its identity in the election.
    pub identity: String,
    /// Where it answers, for example `http://10.0.0.7:8080`; `None` if it has not said so.
    pub address: Option<String>,
}

/// What there is to know at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub leads: bool,
    pub ended: Option<Ended>,
    pub holder: Option<String>,
    /// And until when that counts if nothing newer is seen.
    pub leader: Option<(Leader, Instant)>,
}

/// Sees the election. Clones see the same.
#[derive(Clone)]
pub struct Leadership {
    news: watch::Receiver<News>,
    term: Arc<Term>,
    release: CancellationToken,
}

impl Leadership {
    pub(super) fn new(news: watch::Receiver<News>, term: Arc<Term>, release: CancellationToken) -> Self {
        Self { news, term, release }
    }

    /// Resolves when this process leads; never, if it does not come to that.
    pub async fn acquired(&self) {
        let mut news = self.news.clone();
        if news.wait_for(|news| news.leads).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when the election has ended, however it did. Without a reason its future was dropped.
    pub async fn ended(&self) -> Option<Ended> {
        let mut news = self.news.clone();
        news.wait_for(|news| news.ended.is_some()).await.ok().and_then(|news| news.ended.clone())
    }

    /// Resolves when this process has lost what it had. It must end then, with 1.
    pub async fn lost(&self) -> Lost {
        match self.ended().await {
            Some(Ended::Lost(lost)) => lost,
            Some(Ended::Released) | None => std::future::pending().await,
        }
    }

    /// For everybody who writes.
    pub fn fence(&self) -> Fence {
        Fence::of(self.term.clone())
    }

    /// True from the acquisition until the loss. Whether there is time for a write is the question of the fence.
    pub fn is_leader(&self) -> bool {
        self.news.borrow().leads
    }

    /// Who holds the lease, as far as is known here.
    pub fn holder(&self) -> Option<String> {
        self.news.borrow().holder.clone()
    }

    /// Who leads now and where it answers, from what the election last saw: nobody when the lease was not seen to change
    /// for as long as it is good, when it is being given back, or when the election has ended.
    pub fn leader(&self) -> Option<Leader> {
        let news = self.news.borrow();
        let (leader, until) = news.leader.as_ref().filter(|_| news.ended.is_none() && !self.release.is_cancelled())?;
        (Instant::now() < *until).then(|| leader.clone())
    }

    /// Gives the lease back, so that the next leader need not wait 15 s. To be called when all controllers have ended:
    /// the fence closes at once, and the lease is free when no write of ours can land any more. That is at once, if all were
    /// answered, and else 5 s after the last one was given up. Whoever does not wait for it only makes the others wait.
    pub async fn release(&self) {
        self.release.cancel();
        self.ended().await;
    }
}
