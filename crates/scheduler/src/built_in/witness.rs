//! For tests: whoever wants to judge answers is told of each before anybody else can ask. What was given out is in the
//! view; that a plan releases something before is in its request. It changes nothing.

use std::fmt;
use std::sync::OnceLock;

use berth_capacity_view::View;

use crate::WholeRequest;

pub(super) type Listener = Box<dyn Fn(&View, Option<&WholeRequest>) + Send + Sync>;

/// The one who listens, if anybody does.
#[derive(Default)]
pub(super) struct Witness(OnceLock<Listener>);

impl Witness {
    /// The first one that is given listens.
    pub(super) fn set(&self, listener: Listener) {
        drop(self.0.set(listener));
    }

    pub(super) fn tell(&self, view: &View, whole: Option<&WholeRequest>) {
        if let Some(listener) = self.0.get() {
            listener(view, whole);
        }
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Witness(listening)" } else { "Witness" })
    }
}
