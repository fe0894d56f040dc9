//! Classes of errors: a conflict is retried soon, a transient error later, and a permanent error waits for a change by
//! the user. The back-off of the controller sets the times.

use strum::{Display, IntoStaticStr};

/// How a failed reconciliation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorClass {
    /// The decision was based on something that has changed since: reconcile again at once and decide again.
    Conflict,
    /// Something does not answer or refuses for the moment: reconcile again with growing distance.
    Transient,
    /// Requires an action of a user, who must change the object, the rights or the installation: report it, and
    /// reconcile rarely.
    Permanent,
}

impl ErrorClass {
    /// The value of the label `class` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An error that knows its [`ErrorClass`]: the error enum of every controller.
pub trait Classified {
    /// How the failed reconciliation continues.
    fn class(&self) -> ErrorClass;
}
