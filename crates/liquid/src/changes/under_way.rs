//! The changes that this process executes, and how far it is. A change that is not among them was begun by a process that has
//! ended: it is undone, unless it was accepted.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::CommitmentUuid;
use parking_lot::Mutex;

/// The changes of this process, by their names. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ChangesUnderWay(Arc<Mutex<BTreeMap<String, Progress>>>);

/// How far a change is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The caller has gone away.
    pub is_abandoned: bool,
    /// The generation of each commitment that was written, and how often another writer has overwritten it.
    pub written: BTreeMap<CommitmentUuid, WrittenSpec>,
    /// Failed attempts to undo it.
    pub failures: u32,
}

/// A spec that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenSpec {
    pub generation: i64,
    pub overwritten: u32,
}

/// A change whose caller waits. When it is dropped, the caller has gone away.
#[derive(Debug)]
pub struct UnderWay {
    changes: ChangesUnderWay,
    name: String,
}

impl ChangesUnderWay {
    /// To be called before the object is created.
    pub fn begin(&self, name: &str) -> UnderWay {
        self.0.lock().insert(name.to_owned(), Progress::default());
        UnderWay { changes: self.clone(), name: name.to_owned() }
    }

    /// How far a change is; `None` for a change of another process.
    pub(super) fn progress(&self, name: &str) -> Option<Progress> {
        self.0.lock().get(name).cloned()
    }

    pub(super) fn wrote(&self, name: &str, uuid: &CommitmentUuid, generation: i64) {
        if let Some(progress) = self.0.lock().get_mut(name) {
            progress
                .written
                .entry(uuid.clone())
                .and_modify(|written| written.overwritten += 1)
                .or_default()
                .generation = generation;
        }
    }

    /// Returns how often undoing it has failed by now. That is counted for changes of other processes as well.
    pub(super) fn failed(&self, name: &str) -> u32 {
        let mut changes = self.0.lock();
        let progress =
            changes.entry(name.to_owned()).or_insert_with(|| Progress { is_abandoned: true, ..Progress::default() });
        progress.failures += 1;
        progress.failures
    }

    pub(super) fn end(&self, name: &str) {
        self.0.lock().remove(name);
    }

    fn abandon(&self, name: &str) {
        if let Some(progress) = self.0.lock().get_mut(name) {
            progress.is_abandoned = true;
        }
    }
}

impl UnderWay {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The object was not created, so no controller will end the change.
    pub fn forget(self) {
        self.changes.end(&self.name);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.changes.abandon(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_whose_caller_has_gone_is_abandoned() {
        let changes = ChangesUnderWay::default();
        let caller = changes.begin("change-a");
        assert_eq!(changes.progress("change-a"), Some(Progress::default()));
        drop(caller);
        assert!(changes.progress("change-a").is_some_and(|progress| progress.is_abandoned));
        changes.end("change-a");
        assert_eq!(changes.progress("change-a"), None);
    }

    #[test]
    fn a_change_of_another_process_is_unknown_until_undoing_it_fails() {
        let changes = ChangesUnderWay::default();
        assert_eq!(changes.progress("change-b"), None);
        assert_eq!((changes.failed("change-b"), changes.failed("change-b")), (1, 2));
    }

    #[test]
    fn repeated_writes_are_counted() {
        let (changes, uuid) = (ChangesUnderWay::default(), CommitmentUuid::from("uuid-1"));
        let _caller = changes.begin("change-a");
        changes.wrote("change-a", &uuid, 4);
        changes.wrote("change-a", &uuid, 6);
        let written = changes.progress("change-a").unwrap().written[&uuid];
        assert_eq!(written, WrittenSpec { generation: 6, overwritten: 1 });
    }
}
