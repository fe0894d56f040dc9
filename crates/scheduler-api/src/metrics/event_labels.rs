//! The labels of step events. It decides which of an event's labels are kept, and bounds those whose values come from
//! objects that anybody may have written.

use std::{collections::BTreeSet, sync::Arc};

use berth_scheduler::StepEvent;
use parking_lot::Mutex;

/// Types of hypervisors that are told apart.
const MOST_TYPES: usize = 32;
const LONGEST: usize = 64;

/// The types that have been seen. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct EventLabels {
    types: Arc<Mutex<BTreeSet<String>>>,
}

impl EventLabels {
    /// The values of `intent` and `hypervisor_type`; empty where the event has no such label. Other labels are dropped.
    pub(super) fn of(&self, event: &StepEvent) -> (String, String) {
        match &event.label {
            Some(("intent", value)) => (value.clone(), String::new()),
            Some(("hypervisor_type", value)) => (String::new(), self.bounded(value)),
            _ => (String::new(), String::new()),
        }
    }

    fn bounded(&self, value: &str) -> String {
        let mut types = self.types.lock();
        let fits = || value.len() <= LONGEST && types.len() < MOST_TYPES;
        if types.contains(value) {
            return value.to_owned();
        }
        if !fits() {
            return "other".to_owned();
        }
        types.insert(value.to_owned());
        value.to_owned()
    }
}
