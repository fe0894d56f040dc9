//! The declaration of a controller: its name, keys, watches, first keys, rights, and the reconciliation of a key.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use super::{Key, RequestClass, Watches};
use crate::{Classified, Right};

/// The action after a successful reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing until the key is requested again.
    AwaitChange,
    /// Another reconciliation after this time at the latest.
    RequeueAfter(Duration),
}

impl Action {
    pub fn from_delay(delay: Option<Duration>) -> Self {
        delay.map_or(Self::AwaitChange, Self::RequeueAfter)
    }

    pub(super) fn requeue_after(self) -> Option<Duration> {
        match self {
            Self::AwaitChange => None,
            Self::RequeueAfter(delay) => Some(delay),
        }
    }
}

/// The field of a log line that names the object which is reconciled (`docs/observability.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectField {
    Commitment,
    Slot,
    Host,
    Reservation,
    Pipeline,
    Project,
    Object,
}

/// A controller, as its crate declares it. The manager runs it, see [`super::Manager`].
pub trait Reconciler: Send + Sync + 'static {
    const NAME: &'static str;
    /// How each log line of a reconciliation names its object. No event repeats it.
    const OBJECT: ObjectField = ObjectField::Object;
    type Key: Key;
    /// The part of the configuration that its rights depend on.
    type Settings: ?Sized;
    /// Why a reconciliation fails.
    type Error: Classified + Error + Send + 'static;

    /// The rights that it needs with these settings, besides reading the stores. Called before there are reconcilers.
    fn rights(settings: &Self::Settings) -> Vec<Right>;

    fn watches(&self, watches: &mut Watches<Self::Key>);

    /// The keys that are requested when it begins to run.
    fn first_keys(&self) -> Vec<Self::Key>;

    /// Which of the requested keys are reconciled first. Asked when a key is requested.
    fn request_class(&self, _: &Self::Key) -> RequestClass {
        RequestClass::default()
    }

    /// Brings the object of the key closer to its desired state. Safe to be cut off at any await.
    fn reconcile(&self, key: Self::Key) -> impl Future<Output = Result<Action, Self::Error>> + Send;
}
