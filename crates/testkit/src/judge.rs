//! Judges every write with the laws, right after it was committed, every promise that it is told of, and the world when
//! it is at rest. What people do through [`Judge::people`] is not held against the operator, nor what it could not do
//! because it was not there ([`Judge::begins`], [`Judge::interrupted`]).

mod objects;
mod rules;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_core::ClusterName;
use berth_laws::at_rest;
use berth_laws::testing::Promises;
use parking_lot::{Mutex, MutexGuard};

pub use self::rules::Rules;
use self::state::{State, words};
use crate::{Event, Server};

/// A judge over the servers of one world. Clones are the same judge.
#[derive(Clone)]
pub struct Judge {
    bench: Arc<Bench>,
}

struct Bench {
    state: Mutex<State>,
    /// Whoever writes at the moment is no operator.
    people: AtomicBool,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl Judge {
    /// A judge that has seen nothing. Its time is tokio's.
    pub fn new(rules: Rules) -> Self {
        let (state, people) = (Mutex::new(State::new(rules)), AtomicBool::new(false));
        Self { bench: Arc::new(Bench { state, people }) }
    }

    /// Everybody has heard by now of what people and hosts did.
    pub fn heard(&self) {
        self.lock().outside.heard();
    }

    /// An operator begins, or another one leads: it knows nothing of what was before.
    pub fn begins(&self) {
        let mut state = self.lock();
        state.disturbances.begins();
        state.interrupted();
    }

    /// Up to now the operator could not know or do everything: it stood still, or a server was away.
    pub fn interrupted(&self) {
        self.lock().interrupted();
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

    /// An operator holds this for answers that were given: if all of it came true at once no host may be over-booked.
    pub fn promised(&self, promises: &Promises) {
        self.lock().promised(promises);
    }

    /// How many writes to commitments, slots and hosts there were so far, by anybody.
    pub fn writes(&self) -> usize {
        self.lock().writes
    }

    /// Adds up how many answers were judged so far.
    pub fn add(&self, all: &mut BTreeMap<&'static str, u64>) {
        *all.entry("answer judged").or_default() += self.lock().promises;
    }

    /// All violations that any write, any promise or the time has brought about until now, in words.
    pub fn broken(&self) -> Vec<String> {
        let mut state = self.lock();
        state.look_at_the_time();
        state.broken.iter().cloned().collect()
    }

    /// What is wrong at rest, in words.
    pub fn broken_at_rest(&self) -> Vec<String> {
        at_rest(&self.lock().objects.snapshot).iter().map(words).collect()
    }

    fn written(&self, cluster: &ClusterName, event: &Event) {
        let people = self.bench.people.load(Ordering::SeqCst);
        self.lock().written(cluster, event, people);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.bench.state.lock()
    }
}

#[cfg(test)]
mod tests;
