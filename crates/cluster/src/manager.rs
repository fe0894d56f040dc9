//! Runs the controllers of a process: which queue they use, when they start, and how they end. A [`Reconciler`]
//! declares what a controller watches and does.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared, join_all};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

mod backoff;
mod key;
mod key_state;
mod kube_queue;
mod reconciler;
mod requests;
pub(crate) mod run;
mod watches;

pub use backoff::{KeyFailures, Retry};
pub use key::Key;
pub use key_state::{Activity, KeyState};
pub use reconciler::{Action, ObjectField, Reconciler};
pub use requests::{RequestClass, Requests};
pub use run::Around;
use run::Runs;
pub use watches::Watches;

use crate::ControllerMetrics;
#[cfg(any(test, feature = "testing"))]
use crate::testing::{Pick, seeded};

/// How long runs that are under way may take to end after `stop`.
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(4);

/// A name, and work that goes on until the process stops.
pub type Work = (Cow<'static, str>, BoxFuture<'static, ()>);

/// How waiting keys are ordered and run.
pub enum Queue {
    /// kube-runtime's `Controller`; keys in the order of their requests.
    Kube,
    /// As a test picks, for each controller: for simulations.
    #[cfg(any(test, feature = "testing"))]
    Seeded(Box<dyn FnMut() -> Pick + Send>),
}

/// The queue of one controller.
enum ControllerQueue {
    Kube,
    #[cfg(any(test, feature = "testing"))]
    Seeded(Pick),
}

/// Which replicas do a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the one that leads.
    Leader,
    EveryReplica,
}

/// How a controller is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many keys are reconciled at the same time; at least one.
    pub concurrency: u16,
    pub retry: Retry,
}

impl Default for Options {
    /// 16 runs at a time and the usual back-off.
    fn default() -> Self {
        Self { concurrency: 16, retry: Retry::default() }
    }
}

/// The controllers and the other work of one process.
pub struct Manager {
    metrics: Arc<ControllerMetrics>,
    queue: Queue,
    around: Around,
    controllers: Vec<Prepared>,
    replica: Vec<Work>,
    leader: Vec<Work>,
    before_first: Vec<BoxFuture<'static, ()>>,
}

/// A controller that becomes work when its barrier and its stop are known.
type Prepared = (Cow<'static, str>, Box<dyn FnOnce(Barrier, CancellationToken) -> BoxFuture<'static, ()> + Send>);

/// Must be complete before any key is taken.
type Barrier = Shared<BoxFuture<'static, ()>>;

impl Manager {
    pub fn new(metrics: Arc<ControllerMetrics>, queue: Queue) -> Self {
        let (controllers, replica, leader, before_first) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { metrics, queue, around: Arc::new(|run| run), controllers, replica, leader, before_first }
    }

    /// The same with a function around each run.
    #[must_use]
    pub fn with_around(self, around: Around) -> Self {
        Self { around, ..self }
    }

    /// Adds a controller: its watches enqueue in `requests` from now on, as soon as those are open.
    pub fn add<R: Reconciler>(&mut self, reconciler: Arc<R>, requests: Requests<R::Key>, options: Options) {
        let mut watches = Watches::new(requests.clone());
        reconciler.watches(&mut watches);
        // The reconciler may have the requests, so they must not keep it alive.
        let classes = Arc::downgrade(&reconciler);
        requests
            .classify_by(move |key| classes.upgrade().map_or_else(RequestClass::default, |it| it.request_class(key)));
        let controller = Controller {
            runs: Runs::new(reconciler.clone(), options.retry, self.metrics.clone(), requests.clone()),
            reconciler,
            requests,
            streams: watches.streams,
            concurrency: options.concurrency,
            around: self.around.clone(),
            queue: match &mut self.queue {
                Queue::Kube => ControllerQueue::Kube,
                #[cfg(any(test, feature = "testing"))]
                Queue::Seeded(seed) => ControllerQueue::Seeded(seed()),
            },
        };
        let name = format!("the controller {}", R::NAME);
        self.controllers.push((name.into(), Box::new(|before, stop| controller.work(before, stop).boxed())));
    }

    /// Adds work that is not a reconciler. It continues until the process stops.
    pub fn add_source(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        scope: Scope,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let works = match scope {
            Scope::Leader => &mut self.leader,
            Scope::EveryReplica => &mut self.replica,
        };
        works.push((name.into(), work.boxed()));
    }

    /// Adds work that must be complete before any key is reconciled, on a replica that has become leader.
    pub fn before_first(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.before_first.push(work.boxed());
    }

    /// The work of every replica, to be started with the process.
    pub fn replica_work(&mut self) -> Vec<Work> {
        std::mem::take(&mut self.replica)
    }

    /// The work of the leader, to be started when its stores are synced. It ends within five seconds after `stop`.
    pub fn leader_work(self, stop: &CancellationToken) -> Vec<Work> {
        let before: Barrier = join_all(self.before_first).map(drop).boxed().shared();
        let controllers = self.controllers.into_iter();
        let controllers = controllers.map(|(name, work)| (name, work(before.clone(), stop.clone())));
        controllers.chain(self.leader).collect()
    }
}

struct Controller<R: Reconciler> {
    runs: Runs<R>,
    reconciler: Arc<R>,
    requests: Requests<R::Key>,
    streams: Vec<BoxStream<'static, R::Key>>,
    concurrency: u16,
    around: Around,
    queue: ControllerQueue,
}

impl<R: Reconciler> Controller<R> {
    /// Requests are collected before the first keys are named, so that no change is missed between them.
    async fn work(self, before: Barrier, stop: CancellationToken) {
        before.await;
        let Self { runs, reconciler, requests, streams, concurrency, around, queue } = self;
        requests.open();
        requests.add(reconciler.first_keys());
        let enqueued = requests.clone();
        let pump = stream::select_all(streams).for_each(move |key| {
            enqueued.add([key]);
            std::future::ready(())
        });
        let pump = stop.run_until_cancelled(pump);
        let queue = async {
            match queue {
                ControllerQueue::Kube => kube_queue::work(runs, requests, concurrency, around, SHUTDOWN, &stop).await,
                #[cfg(any(test, feature = "testing"))]
                ControllerQueue::Seeded(pick) => seeded::work(runs, requests, concurrency, around, pick, &stop).await,
            }
        };
        futures::join!(queue, pump);
    }
}

#[cfg(test)]
mod tests;
