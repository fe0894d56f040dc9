//! For tests: whoever wants to judge answers is told of each before anybody else can ask. What was given out is in the
//! view; that a plan releases something before is in its request. It changes nothing.

use std::{fmt, sync::OnceLock};

use berth_capacity_view::View;

use super::BuiltIn;
use crate::WholeRequest;

type Listener = Box<dyn Fn(&View, Option<&WholeRequest>) + Send + Sync>;

/// The one who listens, if anybody does.
#[derive(Default)]
pub(super) struct Witness(OnceLock<Listener>);

impl Witness {
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

impl BuiltIn {
    /// Tells `listener`, the first one that is given, of every answer that may have given room out: with the view as it
    /// is then, and for [`crate::Scheduler::place_all`] with the request. It must not ask this scheduler anything.
    pub fn on_answer(&self, listener: impl Fn(&View, Option<&WholeRequest>) + Send + Sync + 'static) {
        // A second one finds the place taken.
        drop(self.witness.0.set(Box::new(listener)));
    }
}
