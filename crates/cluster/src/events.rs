//! Publishes Kubernetes events. Publishing never delays or fails the work that is reported: the queue is bounded, each
//! write has a deadline, and losses are counted.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_core::text::escape;
use k8s_openapi::api::core::v1::ObjectReference;
use kube_runtime::events::{self, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::deadlines::WRITE_DEADLINE;
use crate::{Clusters, EventMetrics, Fence, Kind, ObjectKey, Store, chain};

/// Events that may wait to be published.
const QUEUE: usize = 1024;
/// After `stop`, what waits is published as long as this lasts.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;
/// Texts whose repetitions are counted. After as many others, a repetition is an event of its own.
const TEXTS: usize = 1024;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Normal,
    Warning,
}

/// Something that happened to an object, for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// Why, one word in `PascalCase`: the reason of a condition, where there is one.
    pub reason: String,
    /// The action, one word in `PascalCase`.
    pub action: String,
    pub note: String,
}

/// Publishes events. Clones share one queue.
#[derive(Clone, Debug)]
pub struct Events {
    queue: mpsc::Sender<Waiting>,
    metrics: Arc<EventMetrics>,
    fence: Fence,
}

#[derive(Debug)]
struct Waiting {
    fence: Fence,
    cluster: ClusterName,
    object: ObjectReference,
    event: Event,
}

impl Events {
    /// A publisher, and its worker, which runs until `stop`. `instance` identifies the process within the installation,
    /// for example the name of the pod.
    pub fn new(
        clusters: &Clusters,
        instance: Option<String>,
        metrics: Arc<EventMetrics>,
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let reporter = Reporter { controller: "berth".to_owned(), instance };
        let (clusters, recorders) = (clusters.clone(), BTreeMap::new());
        let publisher = Publisher { clusters, reporter, recorders, metrics: metrics.clone() };
        (Self { queue, metrics, fence: Fence::open() }, publisher.work(waiting, stop))
    }

    /// The same publisher, which publishes only while the fence is open: the next leader publishes the events that a
    /// process which lost the lease would publish.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// Publishes an event about `object` of `cluster`, sooner or later or, when there are too many, never. Events about
    /// cluster scoped objects go to the namespace `default`.
    pub fn publish(&self, cluster: &ClusterName, object: &ObjectReference, event: Event) {
        let waiting = Waiting { fence: self.fence.clone(), cluster: cluster.clone(), object: object.clone(), event };
        if let Err(error) = self.queue.try_send(waiting) {
            self.metrics.dropped.with_label_values(&["queue_full"]).inc();
            debug!(error = %error, "event not published");
        }
    }
}

impl Events {
    /// The same about an object of a store; nothing if it is not there.
    pub fn publish_about<K: Kind>(&self, store: &Store<K>, key: &ObjectKey, event: Event) {
        if let Some(object) = store.get(key) {
            self.publish(&key.cluster, &object.object_ref(&()), event);
        }
    }
}

struct Publisher {
    clusters: Clusters,
    reporter: Reporter,
    /// One for each text: a recorder merges events of one reason, whatever their texts are, and shows the first one.
    recorders: BTreeMap<(ClusterName, String), Recorder>,
    metrics: Arc<EventMetrics>,
}

impl Publisher {
    async fn work(mut self, mut waiting: mpsc::Receiver<Waiting>, stop: CancellationToken) {
        let last_words = async {
            stop.cancelled().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        let work = async {
            while let Some(next) = self.next(&mut waiting, &stop).await {
                self.publish(next).await;
            }
        };
        tokio::select! {
            biased;
            () = work => {},
            () = last_words => {},
        }
    }

    /// The next event; after `stop` only events that are already waiting.
    async fn next(&self, waiting: &mut mpsc::Receiver<Waiting>, stop: &CancellationToken) -> Option<Waiting> {
        tokio::select! {
            biased;
            next = waiting.recv() => next,
            () = stop.cancelled() => None,
        }
    }

    async fn publish(&mut self, Waiting { fence, cluster, object, event }: Waiting) {
        if let Err(refused) = fence.check() {
            return self.dropped("not_leader", &object, &refused.to_string());
        }
        let event = cut(event);
        let Some(recorder) = self.recorder(&cluster, event.note.clone().unwrap_or_default()) else {
            return self.failed(&object, "its cluster is not configured");
        };
        match timeout(WRITE_DEADLINE, recorder.publish(&event, &object)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.failed(&object, &chain(&error)),
            Err(_) => self.failed(&object, &format!("no answer within {} s", WRITE_DEADLINE.as_secs())),
        }
    }

    fn recorder(&mut self, cluster: &ClusterName, text: String) -> Option<Recorder> {
        let client = &self.clusters.get(cluster)?.client;
        let key = (cluster.clone(), text);
        if self.recorders.len() >= TEXTS && !self.recorders.contains_key(&key) {
            self.recorders.clear();
        }
        let new = || Recorder::new(client.clone(), self.reporter.clone());
        Some(self.recorders.entry(key).or_insert_with(new).clone())
    }

    fn failed(&self, object: &ObjectReference, why: &str) {
        self.dropped("failed", object, why);
    }

    fn dropped(&self, cause: &str, object: &ObjectReference, why: &str) {
        self.metrics.dropped.with_label_values(&[cause]).inc();
        debug!(object = object.name, error = why, "event not published");
    }
}

fn cut(event: Event) -> events::Event {
    events::Event {
        type_: match event.kind {
            EventKind::Normal => EventType::Normal,
            EventKind::Warning => EventType::Warning,
        },
        reason: shortened(event.reason, LONGEST_WORD),
        note: Some(shortened(escape(&event.note).into_owned(), LONGEST_NOTE)),
        action: shortened(event.action, LONGEST_WORD),
        secondary: None,
    }
}

/// At most `longest` bytes, cut between characters.
fn shortened(mut text: String, longest: usize) -> String {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(0));
    text
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use serde_json::Value;

    use super::*;
    use crate::testing::{Reply, Request, metrics, scripted};

    fn event(note: &str) -> Event {
        let (reason, action) = ("Accepted".to_owned(), "Place".to_owned());
        Event { kind: EventKind::Normal, reason, action, note: note.to_owned() }
    }

    fn object() -> ObjectReference {
        ObjectReference { kind: Some("Thing".to_owned()), name: Some("a".to_owned()), ..ObjectReference::default() }
    }

    /// Publishes the notes, stops, and returns the requests and the losses.
    async fn published(
        notes: &[&str],
        reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> (Vec<Request>, String) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let cluster = scripted(move |request| {
            log.lock().push(request.clone());
            reply(request)
        });
        let (registry, all) = metrics();
        let stop = CancellationToken::new();
        let (events, work) = Events::new(&cluster.into(), None, all.events, stop.clone());
        for note in notes {
            events.publish(&ClusterName::home(), &object(), event(note));
        }
        stop.cancel();
        work.await;
        (std::mem::take(&mut *seen.lock()), registry.render())
    }

    #[tokio::test]
    async fn an_event_goes_to_the_namespace_default() {
        let (requests, losses) = published(&["placed"], |request| Reply::Json(201, request.body.clone())).await;
        assert_eq!(requests.len(), 1);
        assert_eq!(
            (requests[0].method.as_str(), requests[0].path.as_str()),
            ("POST", "/apis/events.k8s.io/v1/namespaces/default/events")
        );
        assert_eq!(requests[0].body["note"], "placed");
        assert!(!losses.contains("berth_events_dropped_total"), "{losses}");
    }

    #[tokio::test]
    async fn only_events_with_the_same_text_are_merged() {
        let notes = ["host node103 no longer exists", "host node104 no longer exists", "host node103 no longer exists"];
        let (requests, _) = published(&notes, |request| Reply::Json(200, request.body.clone())).await;
        let sent = |request: &Request| {
            (request.method.clone(), request.body["note"].clone(), request.body["series"]["count"].clone())
        };
        let [first, second, third] = &requests[..] else { panic!("{requests:#?}") };
        assert_eq!(sent(first), ("POST".to_owned(), notes[0].into(), Value::Null));
        assert_eq!(sent(second), ("POST".to_owned(), notes[1].into(), Value::Null));
        assert_eq!(sent(third), ("PATCH".to_owned(), notes[0].into(), 2.into()));
    }

    #[tokio::test]
    async fn who_does_not_lead_publishes_nothing() {
        let (fence, lose) = Fence::held_now();
        let (registry, all) = metrics();
        let stop = CancellationToken::new();
        let cluster = scripted(|_| panic!("nothing is to be sent"));
        let (events, work) = Events::new(&cluster.into(), None, all.events, stop.clone());
        events.fenced(fence).publish(&ClusterName::home(), &object(), event("placed"));
        lose();
        stop.cancel();
        work.await;
        assert!(registry.render().contains(r#"berth_events_dropped_total{cause="not_leader"} 1"#));
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_published_is_counted_and_nothing_else() {
        let (_, losses) = published(&["placed"], |_| Reply::Cut).await;
        assert!(losses.contains(r#"berth_events_dropped_total{cause="failed"} 1"#), "{losses}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_and_the_end_does_not_wait_for_a_hanging_server() {
        let started_at = tokio::time::Instant::now();
        let notes = vec!["placed"; QUEUE + 3];
        let (_, losses) = published(&notes, |_| Reply::Hang).await;
        assert!(losses.contains(r#"berth_events_dropped_total{cause="queue_full"} 3"#), "{losses}");
        assert!(started_at.elapsed() <= LAST_WORDS + Duration::from_millis(10));
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let note = shortened("ä".repeat(600), LONGEST_NOTE);
        assert_eq!(note.len(), 1024);
        assert_eq!(shortened("äb".to_owned(), 1), "");
    }
}
