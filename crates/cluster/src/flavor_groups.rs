//! The flavor groups, read from the Knowledge object `flavor-groups` once per version. While a newer version is
//! unreadable, the last readable one is kept with the reason and its age.

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_core::flavor::{FlavorError, FlavorGroups, Parsed};
use berth_crds::{Knowledge, names};
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use thiserror::Error;
use tokio::time::Instant;
use tracing::warn;

use crate::{Classified, Completeness, ErrorClass, Event, Events, InvalidEntry, ObjectKey, Store};

/// Why the flavor groups cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlavorGroupsError {
    /// The object is missing or does not decode.
    #[error("failed to get flavor groups knowledge: {0}")]
    Missing(String),
    /// Its condition is that it is not ready.
    #[error("flavor groups knowledge is not ready")]
    NotReady,
    /// It has no flavor group, or none that is valid.
    #[error("flavor groups knowledge is not ready: it has no flavor group")]
    NoGroups,
    /// Its content is invalid.
    #[error(transparent)]
    Unreadable(#[from] FlavorError),
}

impl Classified for FlavorGroupsError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Transient
    }
}

/// The flavor groups that count at the moment.
#[derive(Clone, Debug)]
pub struct KnownFlavorGroups {
    pub groups: Arc<FlavorGroups>,
    /// `status.lastContentChange` of the object that these groups were read from.
    pub last_content_change: Option<Timestamp>,
    /// Set while they are not those of the newest version.
    pub outdated: Option<Outdated>,
}

/// Why older flavor groups count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    pub error: FlavorGroupsError,
    pub age: Duration,
}

/// Provides the flavor groups. Clones share the last read.
#[derive(Clone)]
pub struct FlavorGroupsCache {
    store: Store<Knowledge>,
    key: ObjectKey,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The version that was read last, and the result.
    read: Option<(String, Result<(), FlavorGroupsError>)>,
    /// The last readable groups, with the time of the same object.
    groups: Option<(Arc<FlavorGroups>, Option<Timestamp>)>,
    outdated_since: Option<Instant>,
}

impl FlavorGroupsCache {
    /// Reads from `store`; Knowledge lives in the home cluster.
    pub fn new(store: Store<Knowledge>) -> Self {
        let key = ObjectKey::new(ClusterName::home(), names::FLAVOR_GROUPS);
        Self { store, key, state: Arc::default() }
    }

    pub fn store(&self) -> &Store<Knowledge> {
        &self.store
    }

    /// The flavor groups that count, or why there are none.
    pub fn get(&self) -> Result<KnownFlavorGroups, FlavorGroupsError> {
        let mut state = self.state.lock();
        let outdated = self.outdated(&mut state);
        match (&state.groups, outdated) {
            (Some((groups, last_content_change)), outdated) => {
                let (groups, last_content_change) = (groups.clone(), *last_content_change);
                Ok(KnownFlavorGroups { groups, last_content_change, outdated })
            }
            (None, outdated) => Err(outdated.map_or(FlavorGroupsError::NotReady, |outdated| outdated.error)),
        }
    }

    /// What is wrong with the newest version, and since when; none while its groups count.
    pub fn problem(&self) -> Option<Outdated> {
        let mut state = self.state.lock();
        self.outdated(&mut state)
    }

    fn outdated(&self, state: &mut State) -> Option<Outdated> {
        let error = self.newest(state).err();
        let since = error.as_ref().map(|_| *state.outdated_since.get_or_insert_with(Instant::now));
        state.outdated_since = since;
        error.zip(since).map(|(error, since)| Outdated { error, age: since.elapsed() })
    }

    /// Publishes an event on the Knowledge object, if there is one.
    pub fn publish(&self, events: &Events, event: Event) {
        events.publish_about(&self.store, &self.key, event);
    }

    /// Reads the newest version unless it was the last one that was read.
    fn newest(&self, state: &mut State) -> Result<(), FlavorGroupsError> {
        if let Some(invalid_entry) = self.invalid_entry() {
            return Err(FlavorGroupsError::Missing(invalid_entry.error.to_string()));
        }
        let knowledge = self.store.get(&self.key).ok_or_else(|| self.missing())?;
        let version = format!("{:?}/{:?}", knowledge.metadata.uid, knowledge.metadata.resource_version);
        match &state.read {
            Some((read, outcome)) if *read == version => outcome.clone(),
            _ => {
                let outcome = content(&knowledge).map(log_skipped).and_then(filled);
                let outcome =
                    outcome.map(|groups| state.groups = Some((Arc::new(groups), last_content_change(&knowledge))));
                if let Err(error) = &outcome {
                    warn!(object = %self.key, error = %error, "flavor groups cannot be decoded; keeping the last valid ones");
                }
                state.read = Some((version, outcome.clone()));
                outcome
            }
        }
    }

    fn invalid_entry(&self) -> Option<InvalidEntry> {
        self.store.invalid_entry(&self.key)
    }

    fn missing(&self) -> FlavorGroupsError {
        FlavorGroupsError::Missing(match self.store.completeness(&self.key.cluster) {
            Completeness::Complete => format!("knowledges.cortex.cloud {:?} not found", &*self.key.name),
            Completeness::Partial { why } => format!("Knowledge objects are not completely known: {why}"),
        })
    }
}

fn content(knowledge: &Knowledge) -> Result<Parsed, FlavorGroupsError> {
    let status = knowledge.status.as_ref();
    let ready = status.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == "Ready"));
    if ready.is_none_or(|condition| condition.status != "True") {
        return Err(FlavorGroupsError::NotReady);
    }
    let raw = status.and_then(|status| status.raw.as_ref()).unwrap_or(&Value::Null);
    Ok(FlavorGroups::parse(raw)?)
}

fn last_content_change(knowledge: &Knowledge) -> Option<Timestamp> {
    knowledge.status.as_ref()?.last_content_change.as_ref().map(|time| time.0)
}

fn log_skipped(parsed: Parsed) -> FlavorGroups {
    for reason in &parsed.skipped {
        warn!(reason, "flavor group ignored");
    }
    parsed.groups
}

/// An extractor that found nothing has failed: no commitment may be rejected because of that.
fn filled(groups: FlavorGroups) -> Result<FlavorGroups, FlavorGroupsError> {
    if groups.is_empty() { Err(FlavorGroupsError::NoGroups) } else { Ok(groups) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::DecodeGuard;

    fn knowledge(version: u32, ready: &str, raw: &Value) -> Value {
        json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
            "metadata": { "name": "flavor-groups", "uid": "u", "resourceVersion": version.to_string() },
            "spec": { "schedulingDomain": "nova" },
            "status": {
                "raw": raw,
                "conditions": [{
                    "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": "2026-03-01T08:00:00Z",
                }],
            },
        })
    }

    fn groups(name: &str) -> Value {
        json!({ "features": [{ "name": name, "flavors": [{ "name": "f", "vcpus": 1, "memoryMB": 1024 }] }] })
    }

    fn cache(store: &Store<Knowledge>) -> FlavorGroupsCache {
        store.init(&ClusterName::home());
        store.init_done(&ClusterName::home());
        FlavorGroupsCache::new(store.clone())
    }

    fn apply(store: &Store<Knowledge>, object: Value) {
        let object: DecodeGuard<Knowledge> = serde_json::from_value(object).unwrap();
        store.applied(&ClusterName::home(), object);
    }

    fn names(known: &KnownFlavorGroups) -> Vec<String> {
        known.groups.iter().map(|group| group.name.to_string()).collect()
    }

    #[test]
    fn a_version_is_read_once_and_shared() {
        let store = Store::new(&[]);
        let cache = cache(&store);
        apply(&store, knowledge(1, "True", &groups("a")));
        let (first, second) = (cache.get().unwrap(), cache.get().unwrap());
        assert!(Arc::ptr_eq(&first.groups, &second.groups));
        apply(&store, knowledge(2, "True", &groups("b")));
        assert_eq!(names(&cache.get().unwrap()), ["b"]);
    }

    #[test]
    fn groups_stay_with_the_time_of_their_own_object() {
        let store = Store::new(&[]);
        let cache = cache(&store);
        let at = |version: u32, ready: &str, time: &str| {
            let mut object = knowledge(version, ready, &groups("a"));
            object["status"]["lastContentChange"] = json!(time);
            object
        };
        apply(&store, at(1, "True", "2026-03-02T08:15:00Z"));
        let changed = |cache: &FlavorGroupsCache| cache.get().unwrap().last_content_change.map(Timestamp::as_second);
        assert_eq!(changed(&cache), Some(1_772_439_300));
        apply(&store, at(2, "False", "2026-03-02T09:00:00Z"));
        assert_eq!(changed(&cache), Some(1_772_439_300), "the former groups count");
        apply(&store, knowledge(3, "True", &groups("a")));
        assert_eq!(changed(&cache), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_good_groups_stay_with_age_and_error() {
        let store = Store::new(&[]);
        let cache = cache(&store);
        apply(&store, knowledge(1, "True", &groups("a")));
        cache.get().unwrap();
        apply(&store, knowledge(2, "False", &groups("b")));
        cache.get().unwrap();
        tokio::time::sleep(Duration::from_secs(7)).await;
        let known = cache.get().unwrap();
        assert_eq!(names(&known), ["a"]);
        assert_eq!(known.outdated, Some(Outdated { error: FlavorGroupsError::NotReady, age: Duration::from_secs(7) }));
        apply(&store, knowledge(3, "True", &groups("c")));
        let known = cache.get().unwrap();
        assert_eq!((names(&known), known.outdated), (vec!["c".to_owned()], None));
    }

    #[test]
    fn errors_of_the_flavor_groups() {
        let store = Store::new(&[]);
        let error = |cache: &FlavorGroupsCache| cache.get().unwrap_err().to_string();
        assert_eq!(
            error(&FlavorGroupsCache::new(store.clone())),
            "failed to get flavor groups knowledge: Knowledge objects are not completely known: it is not watched"
        );
        let cache = cache(&store);
        assert_eq!(
            error(&cache),
            "failed to get flavor groups knowledge: knowledges.cortex.cloud \"flavor-groups\" not found"
        );
        apply(&store, knowledge(1, "False", &groups("a")));
        assert_eq!(error(&cache), "flavor groups knowledge is not ready");
        apply(&store, knowledge(4, "True", &json!({ "features": [] })));
        assert_eq!(error(&cache), "flavor groups knowledge is not ready: it has no flavor group");
        apply(&store, knowledge(5, "True", &json!({ "features": [{ "name": "a", "ramCoreRatio": 4096 }] })));
        assert_eq!(error(&cache), "flavor groups knowledge is not ready: it has no flavor group", "none is valid");
        apply(&store, knowledge(6, "True", &json!([1])));
        assert!(error(&cache).starts_with("failed to unbox flavor group features: "), "{}", error(&cache));
        apply(
            &store,
            json!({ "metadata": { "name": "flavor-groups", "uid": "u", "resourceVersion": "7" }, "spec": 1 }),
        );
        assert!(error(&cache).starts_with("failed to get flavor groups knowledge: "), "{}", error(&cache));
    }
}
