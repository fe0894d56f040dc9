//! Publishes the service info on the leader, whenever flavor groups or commitments have changed.

use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{ErrorClass, KnownFlavorGroups, Right, State, Store, Verb, chain};
use berth_core::liquid::resources::{GroupResources, ResourceFlags};
use berth_crds::{CommittedResource, names};
use berth_telemetry::clock::Clock;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    InfoFacts, InfoMap, InfoSource, LiveCommitments, NAME, NextPublication, Publication, PublishError, PublishedInfo,
    object, plan,
};

/// Resources that a line names at most.
const NAMED: usize = 10;
/// Changes that come together are published together.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Commitments end without a change of an object.
const RESYNC: Duration = Duration::from_secs(60);
/// After a failure.
const RETRY: Duration = Duration::from_secs(2);

/// The dependencies of the publisher.
pub struct InfoPublisherParts {
    pub map: InfoMap,
    pub source: InfoSource,
    pub published: PublishedInfo,
    pub commitments: Store<CommittedResource>,
    pub clock: Arc<dyn Clock>,
}

/// Keeps the `ConfigMap` up to date.
pub struct InfoPublisher {
    parts: InfoPublisherParts,
    changed: Arc<Notify>,
    logged: Logged,
}

/// What was logged last: each problem is logged once.
#[derive(Default)]
struct Logged {
    failure: Option<LoggedFailure>,
    problems: Vec<String>,
}

/// An outage is one problem, in whatever words the connection ends.
#[derive(Debug, PartialEq, Eq)]
enum LoggedFailure {
    Outage,
    Other(String),
}

impl InfoPublisher {
    /// The rights of the publisher, and of every replica that serves what was published.
    pub fn rights() -> Vec<Right> {
        let verbs = [Verb::Get, Verb::List, Verb::Watch, Verb::Create, Verb::Update];
        let right = Right::resource("", "v1", "configmaps", &verbs);
        let right = right.at_home().in_own_namespace().named([NAME]);
        vec![right.because("The leader publishes the service info for Limes, and every replica serves it.")]
    }

    /// To be called once per process: it listens to the stores from now on.
    pub fn new(parts: InfoPublisherParts) -> Self {
        let changed = Arc::new(Notify::new());
        let notify = changed.clone();
        parts.source.groups.store().on_state(move |change| {
            if &*change.key.name == names::FLAVOR_GROUPS {
                notify.notify_one();
            }
        });
        let notify = changed.clone();
        parts.commitments.on_state(move |change| {
            if change.is_of_spec() {
                notify.notify_one();
            }
        });
        Self { parts, changed, logged: Logged::default() }
    }

    /// Publishes until `stop`.
    pub async fn work(mut self, stop: CancellationToken) {
        // It ends with `stop` only.
        let _ = stop.run_until_cancelled(self.publish_changes()).await;
    }

    /// Never ends.
    async fn publish_changes(&mut self) {
        let mut edits = Box::pin(self.parts.map.changes());
        let mut has_failed = false;
        loop {
            let outcome = self.publish(has_failed).await;
            has_failed = outcome.is_err();
            self.log(outcome);
            let changed = self.changed.clone();
            let change = async {
                tokio::select! {
                    () = changed.notified() => {}
                    Some(()) = edits.next() => {}
                }
            };
            // Elapsed: the resources are read again.
            let _ = timeout(if has_failed { RETRY } else { RESYNC }, change).await;
            sleep(DEBOUNCE).await;
        }
    }

    /// Publishes what the sources say now. Nothing is written if nothing has changed.
    pub async fn publish(&self, reread: bool) -> Result<NextPublication, PublishError> {
        let InfoPublisherParts { map, source, published, commitments, clock } = &self.parts;
        let seen = match map.get() {
            State::Present(seen) if !reread => Some(seen),
            State::Absent if !reread => None,
            _ => map.read().await?,
        };
        let KnownFlavorGroups { groups, last_content_change, .. } = source.groups.get()?;
        let (now, trusted_now) = (clock.now(), clock.trusted_now().ok());
        let live = LiveCommitments::read(commitments, trusted_now);
        let facts =
            InfoFacts { groups: &groups, last_content_change, config: &source.config, live: &live, trusted_now, now };
        let next = plan(basis(seen.as_deref(), published).as_ref(), &facts)?;
        map.write(seen.as_deref(), &object::encode(seen.as_deref(), &next.publication)).await?;
        published.offer(next.publication.clone());
        Ok(next)
    }

    fn log(&mut self, outcome: Result<NextPublication, PublishError>) {
        match outcome {
            Ok(next) => {
                self.logged.failure = None;
                self.log_problems(&next);
            }
            Err(error) => {
                let failure = Some(LoggedFailure::of(&error));
                if self.logged.failure != failure {
                    warn!(error = chain(&error), "service info not published; what was published before stays in use");
                }
                self.logged.failure = failure;
            }
        }
    }

    fn log_problems(&mut self, next: &NextPublication) {
        let problems = problems(&self.parts.source, next);
        let former = replace(&mut self.logged.problems, problems);
        for problem in self.logged.problems.iter().filter(|problem| !former.contains(problem)) {
            warn!(problem, "the resources that are published for Limes need attention");
        }
    }
}

impl LoggedFailure {
    fn of(error: &PublishError) -> Self {
        match error {
            PublishError::Write(write) if write.class() == ErrorClass::Transient => Self::Outage,
            error => Self::Other(chain(error)),
        }
    }
}

/// What was published last: in the map, or in the memory of this process if someone has changed or deleted the map.
fn basis(seen: Option<&ConfigMap>, published: &PublishedInfo) -> Option<Publication> {
    let known = published.get().map(|known| (*known).clone());
    let stored = seen.and_then(|map| object::decode(map).or_else(|| object::decode_version(map)));
    match (stored, known) {
        (Some(stored), Some(known)) if stored.info.version <= known.info.version => Some(known),
        (stored, known) => stored.or(known),
    }
}

fn problems(source: &InfoSource, next: &NextPublication) -> Vec<String> {
    let undivided = source.undivided_flavors().into_iter().map(|group| {
        format!("ramUnitGiB of flavor group {group} does not divide its smallest flavor; choose one that does")
    });
    let kept = next.kept_units.iter().map(|group| {
        format!(
            "ramUnitGiB of flavor group {group} would make amounts of commitments fractional, so the group stays as it was \
             published; set the former unit again"
        )
    });
    undivided.chain(kept).chain(without_capacity(source, next)).collect()
}

/// One line for all of them. Where nothing is configured for Limes, nothing is logged.
fn without_capacity(source: &InfoSource, next: &NextPublication) -> Option<String> {
    let offers = |resources: &GroupResources| {
        let none = ResourceFlags::default();
        [resources.ram, resources.cores, resources.instances].iter().any(|flags| *flags != none)
    };
    let is_configured = source.config.iter().any(|(_, resources)| offers(resources));
    let names: Vec<&str> = next.publication.without_capacity().filter(|_| is_configured).collect();
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!names.is_empty()).then(|| {
        format!(
            "announced without hasCapacity: {shown}{more}; behind a delegating liquid, Limes rejects the report of the whole \
             service"
        )
    })
}
