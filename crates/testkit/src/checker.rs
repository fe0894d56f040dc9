//! Checks every write with the invariants, right after it was committed, every reported promise, and the world at rest.
//! Changes that users make through [`InvariantChecker::act_as_user`] are excused, and so is what the operator could not
//! do while it was away ([`InvariantChecker::begins`], [`InvariantChecker::interrupted`]).

mod objects;
mod settings;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_core::ClusterName;
use berth_invariants::at_rest;
use berth_invariants::testing::Promises;
use parking_lot::{Mutex, MutexGuard};

pub use self::settings::CheckerSettings;
use self::state::{State, describe};
use crate::{Event, Server};

/// A checker over the servers of one world. Clones share its state.
#[derive(Clone)]
pub struct InvariantChecker {
    shared: Arc<CheckerState>,
}

struct CheckerState {
    state: Mutex<State>,
    /// Whether the current writer is not an operator.
    is_user_acting: AtomicBool,
}

impl Default for InvariantChecker {
    fn default() -> Self {
        Self::new(CheckerSettings::default())
    }
}

impl InvariantChecker {
    /// A checker without objects. Its time is tokio's.
    pub fn new(rules: CheckerSettings) -> Self {
        let (state, people) = (Mutex::new(State::new(rules)), AtomicBool::new(false));
        Self { shared: Arc::new(CheckerState { state, is_user_acting: people }) }
    }

    /// From now on every operator has seen the changes of users and hosts.
    pub fn mark_observed(&self) {
        self.lock().outside.heard();
    }

    /// An operator starts, or another one leads: it knows nothing of the past.
    pub fn begins(&self) {
        let mut state = self.lock();
        state.disturbances.begins();
        state.interrupted();
    }

    /// Until now the operator could not know or do everything: it was suspended, or a server was away.
    pub fn interrupted(&self) {
        self.lock().interrupted();
    }

    /// Checks every write to `server`, the API server of `cluster`, from now on. What was written before is accepted as it
    /// is.
    pub fn watch(&self, cluster: &ClusterName, server: &Server) {
        server.since(0).iter().for_each(|event| self.lock().written(cluster, event, true));
        let (checker, name) = (self.clone(), cluster.clone());
        server.on_write(move |_, event| checker.written(&name, event));
    }

    /// The writes of `act` are those of users, hosts or other programs.
    pub fn act_as_user<T>(&self, act: impl FnOnce() -> T) -> T {
        self.shared.is_user_acting.store(true, Ordering::SeqCst);
        let done = act();
        self.shared.is_user_acting.store(false, Ordering::SeqCst);
        done
    }

    /// Checks the claims of an operator: if all of them came true at once, no host may be over-booked.
    pub fn promised(&self, promises: &Promises) {
        self.lock().promised(promises);
    }

    /// The number of writes to commitments, slots and hosts so far, by any client.
    pub fn writes(&self) -> usize {
        self.lock().writes
    }

    /// Adds the numbers of checked answers to the totals.
    pub fn add(&self, all: &mut BTreeMap<&'static str, u64>) {
        *all.entry("answer checked").or_default() += self.lock().promises;
    }

    /// The texts of all violations so far, by writes, promises or the passage of time.
    pub fn violations(&self) -> Vec<String> {
        let mut state = self.lock();
        state.check_overdue();
        state.violations.iter().cloned().collect()
    }

    pub fn violations_at_rest(&self) -> Vec<String> {
        at_rest(&self.lock().objects.snapshot).iter().map(describe).collect()
    }

    fn written(&self, cluster: &ClusterName, event: &Event) {
        let people = self.shared.is_user_acting.load(Ordering::SeqCst);
        self.lock().written(cluster, event, people);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock()
    }
}

#[cfg(test)]
mod tests;
