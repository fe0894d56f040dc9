//! Judges every write with the laws (ruling U55), right after it was committed, and the world when it is at rest. What
//! people do through [`Judge::people`] is not held against the operator.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use berth_cluster::Kind;
use berth_core::ClusterName;
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation};
use berth_laws::{Key, Outside, Snapshot, Touched, Violation, always_touched, at_rest};
use serde_json::Value;

use crate::{Event, Happened, Server};

/// A judge over the servers of one world.
#[derive(Clone, Default)]
pub struct Judge {
    bench: Arc<Bench>,
}

#[derive(Default)]
struct Bench {
    state: Mutex<State>,
    /// Whoever writes at the moment is no operator.
    people: AtomicBool,
}

struct State {
    snapshot: Snapshot,
    outside: Outside,
    broken: BTreeSet<String>,
    writes: usize,
}

impl Default for State {
    fn default() -> Self {
        Self { snapshot: Snapshot::default(), outside: Outside::late(), broken: BTreeSet::new(), writes: 0 }
    }
}

impl Judge {
    /// Everybody has heard by now of what people and hosts did.
    pub fn heard(&self) {
        self.lock().outside.heard();
    }

    /// Judges everything that is written to `server`, the API server of `cluster`, from now on. Everything that it holds
    /// already is taken as it is.
    pub fn watch(&self, cluster: &ClusterName, server: &Server) {
        let (judge, name) = (self.clone(), cluster.clone());
        server.on_write(move |_, event| judge.written(&name, event));
    }

    /// What `act` writes is the doing of people, hosts or other programs.
    pub fn people<T>(&self, act: impl FnOnce() -> T) -> T {
        self.bench.people.store(true, Ordering::SeqCst);
        let done = act();
        self.bench.people.store(false, Ordering::SeqCst);
        done
    }

    /// How many writes to commitments, slots and hosts there were so far, by anybody.
    pub fn writes(&self) -> usize {
        self.lock().writes
    }

    /// All violations that any write has brought about, in words.
    pub fn broken(&self) -> Vec<String> {
        self.lock().broken.iter().cloned().collect()
    }

    /// What is wrong at rest, in words.
    pub fn broken_at_rest(&self) -> Vec<String> {
        at_rest(&self.lock().snapshot).iter().map(words).collect()
    }

    fn written(&self, cluster: &ClusterName, event: &Event) {
        let mut state = self.lock();
        let State { snapshot, outside, broken, writes } = &mut *state;
        let Some(touched) = follow(snapshot, cluster, event) else { return };
        *writes += 1;
        if self.bench.people.load(Ordering::SeqCst) {
            outside.excuse(snapshot, &touched);
        } else {
            outside.learn(snapshot, &touched);
        }
        let version = event.version;
        let found = always_touched(snapshot, outside, &touched);
        broken.extend(found.iter().map(|violation| format!("version {version}: {}", words(violation))));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.bench.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn words(violation: &Violation) -> String {
    format!("{}: {violation}", violation.law.as_str())
}

/// Takes a write over into the snapshot; none for kinds that no law is about.
fn follow(snapshot: &mut Snapshot, cluster: &ClusterName, event: &Event) -> Option<Touched> {
    let name = event.object["metadata"]["name"].as_str().unwrap_or_default();
    let key = Key::new(cluster.clone(), name);
    let is = |path: &str| event.kind == path;
    if is(&CommittedResource::url_path_of()) {
        Some(snapshot.commitment(&key, decoded(event).as_ref()))
    } else if is(&Reservation::url_path_of()) {
        Some(snapshot.reservation(&key, decoded(event).as_ref()))
    } else if is(&Hypervisor::url_path_of()) {
        Some(snapshot.hypervisor(&key, decoded(event).as_ref()))
    } else if is(&FlavorGroupCapacity::url_path_of()) {
        Some(snapshot.capacity(&key, decoded(event).as_ref()))
    } else {
        None
    }
}

/// The object as it is now, unless it is gone or cannot be read.
fn decoded<K: Kind>(event: &Event) -> Option<Arc<K>> {
    let there = event.happened == Happened::Applied;
    there.then(|| serde_json::from_value(Value::clone(&event.object)).ok().map(Arc::new)).flatten()
}

trait Path {
    fn url_path_of() -> String;
}

impl<K: Kind> Path for K {
    fn url_path_of() -> String {
        K::url_path(&(), None)
    }
}

#[cfg(test)]
mod tests {
    use berth_telemetry::clock::SystemClock;
    use serde_json::json;

    use super::*;
    use crate::seeds;

    #[tokio::test]
    async fn what_an_operator_breaks_is_found_and_what_people_break_is_not() {
        let (judge, server) = (Judge::default(), Server::new(Arc::new(SystemClock)));
        judge.watch(&ClusterName::home(), &server);
        judge.people(|| {
            server.create(&seeds::host("h", 1)).unwrap();
            server.create(&seeds::patient("uuid-1", 2)).unwrap();
        });
        let slot = |number: u64| {
            let mut slot = berth_crds::testing::slot("uuid-1", number);
            slot.spec.target_host = Some("h".to_owned());
            slot
        };
        judge.people(|| server.create(&slot(0)).unwrap());
        assert_eq!(judge.broken(), [""; 0]);
        judge.heard();
        server.create(&slot(1)).unwrap();
        let broken = judge.broken();
        assert!(broken.iter().any(|text| text.contains("host_overbooked")), "{broken:?}");
        assert!(!judge.broken_at_rest().is_empty());
    }

    #[tokio::test]
    async fn what_is_gone_is_not_judged_any_more() {
        let (judge, server) = (Judge::default(), Server::new(Arc::new(SystemClock)));
        judge.watch(&ClusterName::home(), &server);
        judge.people(|| server.create(&seeds::patient("uuid-1", 1)).unwrap());
        assert_eq!(judge.broken_at_rest().len(), 1, "nothing is said about it");
        server
            .edit::<CommittedResource>("commitment-uuid-1", &json!({ "metadata": { "labels": { "a": "b" } } }))
            .unwrap();
        server.delete::<CommittedResource>("commitment-uuid-1").unwrap();
        assert_eq!(judge.broken_at_rest(), [""; 0]);
    }
}
