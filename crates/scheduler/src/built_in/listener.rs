//! For tests: a checker gets each decision before another caller can enter the scheduler. The view shows the capacity
//! that was given out; the request shows what its plan releases before. A listener changes nothing.

use std::fmt;
use std::sync::OnceLock;

use berth_capacity_view::View;

use crate::CommitmentRequest;

pub(super) type Listener = Box<dyn Fn(&View, Option<&CommitmentRequest>) + Send + Sync>;

/// The listener, if there is one.
#[derive(Default)]
pub(super) struct ListenerSlot(OnceLock<Listener>);

impl ListenerSlot {
    pub(super) fn set(&self, listener: Listener) {
        drop(self.0.set(listener));
    }

    pub(super) fn notify(&self, view: &View, commitment: Option<&CommitmentRequest>) {
        if let Some(listener) = self.0.get() {
            listener(view, commitment);
        }
    }
}

impl fmt::Debug for ListenerSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Witness(listening)" } else { "Witness" })
    }
}
