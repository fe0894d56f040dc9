//! What the rest of the process sees of the election: whether it leads, that it has lost, who leads instead.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Fence, Lost, fence::Term};

/// How an election ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// This process led and does not any more. It must end.
    Lost(Lost),
    /// It did not want to lead any longer.
    Released,
}

/// What there is to know at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub leads: bool,
    pub ended: Option<Ended>,
    pub holder: Option<String>,
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

    /// Gives the lease back, so that the next leader need not wait 15 s. To be called when all controllers have ended:
    /// the fence closes at once, and the lease is free when no write of ours can be under way any more: at once if all of
    /// them were answered, else 5 s after the last one was given up.
    pub async fn release(&self) {
        self.release.cancel();
        self.ended().await;
    }
}
