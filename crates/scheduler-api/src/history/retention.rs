//! Deletes Histories that are old, or more than there may be, the oldest first. The leader does so from time to time, some at
//! a time and slowly, so that its other writes do not wait.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Clusters, CompletenessProof, DecodeGuard, Guard, ObjectKey, ReadError, Right, Routes, Verb, WriteError, Writer,
    chain, read_pages,
};
use berth_core::ClusterName;
use berth_crds::History;
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use jiff::Timestamp;
use kube::core::ObjectMeta;
use prometheus::IntCounterVec;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// Between two runs.
const EVERY: Duration = Duration::from_secs(300);
/// Before the first run, so that a missing right is noticed, and after a run that has left something.
const SOON: Duration = Duration::from_secs(30);
/// Deletions of one run in a cluster.
const AT_ONCE: usize = 1000;
/// Between two deletions.
const PACE: Duration = Duration::from_millis(50);

const DELETED: Metric = Metric {
    name: "berth_histories_deleted_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "Histories to be deleted because they are old or too many, by outcome: deleted or failed.",
};

/// How many Histories are kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryRules {
    /// After the last decision. Zero: for ever.
    pub retention: Duration,
    /// Of each cluster.
    pub max: usize,
}

/// The metrics of deletions.
#[derive(Clone, Debug)]
pub struct RetentionMetrics {
    deleted: IntCounterVec,
}

impl RetentionMetrics {
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self { deleted: metrics.counter(&DELETED)? })
    }
}

/// The dependencies of the deletion.
pub struct HistoryRetention {
    pub rules: HistoryRules,
    /// Deletes Histories while the process leads. Nothing is kept in its store, which need not be fed.
    pub writer: Writer<History>,
    pub clusters: Clusters,
    pub routes: Routes,
    pub clock: Arc<dyn Clock>,
    pub metrics: RetentionMetrics,
}

/// What is remembered of a History to decide whether it is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Remembered {
    /// The last decision; without one the creation.
    last: Timestamp,
    name: String,
    uid: Option<String>,
    version: Option<String>,
}

impl Remembered {
    fn of(object: &DecodeGuard<History>) -> Option<Self> {
        let (meta, decided) = match object {
            DecodeGuard::Valid(history) => {
                let current = history.status.as_ref().and_then(|status| status.current.as_ref());
                (&history.metadata, current.and_then(|current| current.timestamp.as_ref()))
            }
            DecodeGuard::Invalid(invalid) => (&invalid.metadata, None),
        };
        let last = decided.or(meta.creation_timestamp.as_ref()).map_or(Timestamp::MIN, |time| time.0);
        let (name, uid, version) = (meta.name.clone()?, meta.uid.clone(), meta.resource_version.clone());
        Some(Self { last, name, uid, version })
    }

    /// The parts of the object that a deletion needs.
    fn object(&self) -> History {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            uid: self.uid.clone(),
            resource_version: self.version.clone(),
            ..ObjectMeta::default()
        };
        History { metadata, ..History::default() }
    }
}

/// Those that are deleted now, the oldest first, at most `most`. While the time is not trusted none is old.
fn select_deletions(
    mut all: Vec<Remembered>,
    rules: HistoryRules,
    now: Option<Timestamp>,
    most: usize,
) -> (Vec<Remembered>, bool) {
    all.sort_by(|a, b| (a.last, &a.name).cmp(&(b.last, &b.name)));
    let surplus = all.len().saturating_sub(rules.max);
    let begin = now.filter(|_| !rules.retention.is_zero()).and_then(|now| now.checked_sub(rules.retention).ok());
    let old = begin.map_or(0, |begin| all.partition_point(|one| one.last < begin));
    let wanted = surplus.max(old);
    all.truncate(wanted.min(most));
    (all, wanted > most)
}

impl HistoryRetention {
    /// The rights to find and to delete Histories.
    pub fn rights() -> Vec<Right> {
        vec![
            Right::kind::<History>(&[Verb::List, Verb::Delete])
                .optional()
                .because("Old decisions are deleted, and those beyond a number."),
        ]
    }

    /// Works until `stop`.
    pub async fn work(self, stop: CancellationToken) {
        let _ = stop.run_until_cancelled(self.repeat()).await;
    }

    async fn repeat(&self) {
        let mut pause = SOON;
        loop {
            sleep(pause).await;
            let mut has_more = false;
            for cluster in self.routes.clusters::<History>().unwrap_or_default() {
                has_more |= self.clean(&cluster).await;
            }
            pause = if has_more { SOON } else { EVERY };
        }
    }

    /// Deletes some Histories of a cluster; whether more are to be deleted, or some could not be read or deleted.
    async fn clean(&self, cluster: &ClusterName) -> bool {
        let (all, proof) = match self.read(cluster).await {
            Ok(Some(read)) => read,
            Ok(None) => return false,
            Err(error) => {
                warn!(%cluster, error = chain(&error), "histories not read; none is deleted");
                return true;
            }
        };
        let (kept, now) = (all.len(), self.clock.trusted_now().ok());
        let (selected, has_more) = select_deletions(all, self.rules, now, AT_ONCE);
        if selected.is_empty() {
            return false;
        }
        let (deleted, has_failed) = self.delete_all(&selected, cluster, &proof).await;
        info!(%cluster, deleted, kept = kept - deleted, "histories deleted");
        has_failed || (has_more && deleted == selected.len())
    }

    /// All Histories of a cluster; `None` where the kind is not installed.
    async fn read(
        &self,
        cluster: &ClusterName,
    ) -> Result<Option<(Vec<Remembered>, CompletenessProof<History>)>, ReadError> {
        let Some(cluster) = self.clusters.get(cluster) else { return Ok(None) };
        let mut all = Vec::new();
        match read_pages::<History>(cluster, |object| all.extend(Remembered::of(&object))).await {
            Ok(proof) => Ok(Some((all, proof))),
            Err(error) if error.not_served => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes these unless a decision was added in the meantime; how many, and whether one could not be deleted. An error
    /// that others would get too ends it.
    async fn delete_all(
        &self,
        selected: &[Remembered],
        cluster: &ClusterName,
        proof: &CompletenessProof<History>,
    ) -> (usize, bool) {
        let mut deleted = 0;
        for one in selected {
            let (object, key) = (one.object(), ObjectKey::new(cluster.clone(), one.name.as_str()));
            match self.writer.without_limiter().delete(&key, &object, Guard::Version, proof).await {
                Ok(()) => {
                    deleted += 1;
                    self.metrics.deleted.with_label_values(&["deleted"]).inc();
                }
                Err(WriteError::NotLeader { .. }) => return (deleted, false),
                Err(WriteError::Conflict { .. }) => debug!(object = %key, "history not deleted: it has changed"),
                Err(error) => {
                    self.metrics.deleted.with_label_values(&["failed"]).inc();
                    warn!(object = %key, error = chain(&error), "history not deleted; trying again later");
                    return (deleted, true);
                }
            }
            sleep(PACE).await;
        }
        (deleted, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const RULES: HistoryRules = HistoryRules { retention: Duration::from_secs(72 * 3600), max: 3 };

    fn now() -> Timestamp {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn aged(name: &str, hours: u32) -> Remembered {
        Remembered { last: now() - HOUR * hours, name: name.to_owned(), uid: None, version: None }
    }

    fn names(all: &[(&str, u32)], rules: HistoryRules, now: Option<Timestamp>, most: usize) -> (Vec<String>, bool) {
        let all = all.iter().map(|(name, hours)| aged(name, *hours)).collect();
        let (selected, has_more) = select_deletions(all, rules, now, most);
        (selected.into_iter().map(|one| one.name).collect(), has_more)
    }

    #[test]
    fn what_is_older_than_the_retention_is_deleted() {
        let all = [("new", 0), ("young", 72), ("old", 73), ("oldest", 9999)];
        let rules = HistoryRules { max: 100, ..RULES };
        assert_eq!(names(&all, rules, Some(now()), 10), (vec!["oldest".to_owned(), "old".to_owned()], false));
        let for_ever = HistoryRules { retention: Duration::ZERO, ..rules };
        assert_eq!(names(&all, for_ever, Some(now()), 10), (vec![], false));
    }

    #[test]
    fn beyond_the_number_the_oldest_are_deleted() {
        let all = [("a", 3), ("b", 1), ("c", 5), ("d", 2), ("e", 4)];
        assert_eq!(names(&all, RULES, Some(now()), 10), (vec!["c".to_owned(), "e".to_owned()], false));
        assert_eq!(names(&all[..3], RULES, Some(now()), 10), (vec![], false));
    }

    #[test]
    fn a_run_is_bounded_and_says_that_there_is_more() {
        let all = [("a", 99), ("b", 98), ("c", 97), ("d", 96)];
        assert_eq!(names(&all, RULES, Some(now()), 2), (vec!["a".to_owned(), "b".to_owned()], true));
        assert_eq!(names(&all, RULES, Some(now()), 4).0.len(), 4);
    }

    #[test]
    fn while_the_clock_is_not_trusted_nothing_is_old_and_the_number_holds() {
        let all = [("a", 99), ("b", 98), ("c", 97), ("d", 96)];
        assert_eq!(names(&all, RULES, None, 10), (vec!["a".to_owned()], false));
    }

    #[test]
    fn an_object_without_a_decision_is_as_old_as_itself_also_if_it_cannot_be_read() {
        let object = |status: serde_json::Value, spec: serde_json::Value| {
            let object = serde_json::json!({
                "apiVersion": "cortex.cloud/v1alpha1", "kind": "History", "spec": spec, "status": status,
                "metadata": { "name": "h", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-03-01T00:00:00Z" },
            });
            Remembered::of(&serde_json::from_value(object).unwrap()).unwrap()
        };
        let spec = serde_json::json!({ "schedulingDomain": "nova", "resourceID": "vm" });
        let decided = serde_json::json!({ "current": { "timestamp": "2026-03-02T00:00:00Z", "successful": true } });
        assert_eq!(object(decided, spec.clone()).last.to_string(), "2026-03-02T00:00:00Z");
        let created = object(serde_json::Value::Null, spec);
        assert_eq!(created.last.to_string(), "2026-03-01T00:00:00Z");
        assert_eq!(object(serde_json::Value::Null, serde_json::json!({ "schedulingDomain": 7 })), created);
    }
}
