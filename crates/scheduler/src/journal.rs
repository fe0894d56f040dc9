//! What a run tells about its steps while it is made: nobody listens, somebody takes the time ([`crate::trace`]), or
//! somebody wants to know about each host ([`crate::explain`]). The run is the same.

use crate::FilterName;
use crate::field::{Field, Inputs};
use crate::steps::Effect;
use crate::survivors::Survivors;

/// Listens to a run.
pub(crate) trait Journal<'r> {
    /// Whether anybody listens: what is made for the journal alone is not made otherwise.
    const LISTENS: bool;

    /// The hosts that the run starts with.
    fn start(&mut self, field: &Field<'r>, inputs: &Inputs<'r>);

    /// The next step begins.
    fn begin(&mut self);

    /// A filter, or what removes hosts besides the filters, has left these hosts; with an error it has left none.
    fn filter(&mut self, name: FilterName, effect: Result<Effect, ()>, field: &Field<'r>);

    /// The hosts that are to be weighed.
    fn survivors(&mut self, survivors: &Survivors<'r>);

    /// A weigher has given each survivor this.
    fn weigher(&mut self, weighing: &Weighing<'_>);
}

/// What one weigher did.
pub(crate) struct Weighing<'w> {
    pub(crate) step: &'static str,
    pub(crate) statistic: Option<&'static str>,
    pub(crate) multiplier: f64,
    /// In the order of the survivors; `None` when it gave something that is no number.
    pub(crate) activations: Option<&'w [f64]>,
}

/// Nobody listens.
pub(crate) struct Nobody;

impl<'r> Journal<'r> for Nobody {
    const LISTENS: bool = false;

    fn start(&mut self, _: &Field<'r>, _: &Inputs<'r>) {}

    fn begin(&mut self) {}

    fn filter(&mut self, _: FilterName, _: Result<Effect, ()>, _: &Field<'r>) {}

    fn survivors(&mut self, _: &Survivors<'r>) {}

    fn weigher(&mut self, _: &Weighing<'_>) {}
}
