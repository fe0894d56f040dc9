//! What a failure asks of whoever met it: look again soon, look again later, or tell a person. How long "soon" and
//! "later" are is the business of the back-off of the controller.

use strum::{Display, IntoStaticStr};

/// How a failed look is to be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
#[strum(serialize_all = "snake_case")]
pub enum Class {
    /// The decision rested on something that has changed meanwhile: look again at once and decide anew.
    Soon,
    /// Something does not answer or refuses for the moment: look again with growing distance.
    Later,
    /// Only a person can help, by changing the object, the rights or the installation: say so, and look rarely.
    User,
}

impl Class {
    /// The value of the label `class` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An error that knows its [`Class`]: the error enum of every controller.
pub trait Classified {
    /// How the failed look is to be continued.
    fn class(&self) -> Class;
}
