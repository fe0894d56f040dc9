//! Calls that are under way. Every outcome reaches the store: a response, "gone", "refused", or none at all, which
//! leaves the object in doubt.

use std::mem;
use std::sync::Arc;

use tokio::time::Instant;

use super::change::Change;
use super::entries::{Entries, Ticket};
use super::unanswered::{RepeatableWrite, UnansweredWrite};
use super::{Store, report};
use crate::{DecodeGuard, Kind, ObjectKey};

/// A write that is under way.
pub(crate) struct Sending<K: Kind> {
    asking: Asking<K>,
    repeatable: Option<RepeatableWrite<K>>,
    outcome_known: bool,
}

/// A read of one object that is under way. Nothing is lost if it is never answered.
pub(crate) struct Asking<K: Kind> {
    store: Store<K>,
    key: ObjectKey,
    ticket: Ticket,
    began_at: Instant,
}

impl<K: Kind> Sending<K> {
    fn new(asking: Asking<K>) -> Self {
        Self { asking, repeatable: None, outcome_known: false }
    }

    /// If the outcome becomes unknown, this write settles it by being sent again.
    pub fn repeatable(mut self, write: impl FnOnce() -> RepeatableWrite<K>) -> Self {
        self.repeatable = self.asking.store.repeats_writes().then(write);
        self
    }

    /// The write returned this object. Returns the state in the store, or why it is invalid.
    pub fn wrote(mut self, object: DecodeGuard<K>) -> Result<Arc<K>, Arc<str>> {
        self.outcome_known = true;
        let report = report(self.asking.store.reduce(object));
        let answer = report.content.clone().map_err(|invalid| invalid.error.clone());
        let ticket = &self.asking.ticket;
        self.asking.change(|entries, _| entries.wrote(ticket, report));
        answer
    }

    pub fn gone(mut self, uid: &str) {
        self.outcome_known = true;
        self.asking.change(|entries, name| entries.removed(name, &uid.into()));
    }

    pub fn refused(mut self) {
        self.outcome_known = true;
    }

    pub fn unknown(self) {
        mem::drop(self);
    }
}

impl<K: Kind> Drop for Sending<K> {
    fn drop(&mut self) {
        if self.outcome_known {
            return;
        }
        let unanswered = self.repeatable.take().map(|write| UnansweredWrite::new(write, Instant::now()));
        self.asking.change(|entries, name| {
            entries.doubt(name, unanswered);
            Vec::new()
        });
    }
}

impl<K: Kind> Asking<K> {
    fn new(store: Store<K>, key: ObjectKey, ticket: Ticket) -> Self {
        Self { store, key, ticket, began_at: Instant::now() }
    }

    pub fn found(self, object: Option<DecodeGuard<K>>) {
        let answer = object.map(|object| report(self.store.reduce(object)));
        self.change(|entries, name| entries.settle(name, &self.ticket, self.began_at, answer));
    }

    fn change(&self, f: impl FnOnce(&mut Entries<K>, &Arc<str>) -> Vec<Change<K>>) {
        self.store.change(&self.key.cluster, |member| f(&mut member.entries, &self.key.name));
    }
}

impl<K: Kind> Store<K> {
    /// To be taken before a write of this object is sent.
    pub(crate) fn sending(&self, key: &ObjectKey) -> Sending<K> {
        Sending::new(self.asking(key))
    }

    /// Must be taken before the object is read from the API server.
    pub(crate) fn asking(&self, key: &ObjectKey) -> Asking<K> {
        let data = self.shared.data.read();
        let ticket = data.clusters.get(&key.cluster).map(|member| member.entries.ticket(&key.name)).unwrap_or_default();
        Asking::new(self.clone(), key.clone(), ticket)
    }
}
