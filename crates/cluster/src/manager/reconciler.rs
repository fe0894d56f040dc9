//! What a controller is: its name, its keys, what it watches, which keys it begins with, which rights it needs, and what it
//! does about one key. Everything else about running it is the business of the manager.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use super::{Key, Watches};
use crate::{Classified, Right};

/// What follows a reconciliation that has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing until the key is requested again.
    AwaitChange,
    /// Another reconciliation after this time at the latest.
    RequeueAfter(Duration),
}

impl Action {
    /// The delay, if there is one.
    pub fn from_delay(delay: Option<Duration>) -> Self {
        delay.map_or(Self::AwaitChange, Self::RequeueAfter)
    }
}

/// A controller, as its crate declares it. The manager runs it, see [`super::Manager`].
pub trait Reconciler: Send + Sync + 'static {
    /// The name in logs and metrics.
    const NAME: &'static str;
    /// What it reconciles.
    type Key: Key;
    /// What its rights depend on.
    type Settings: ?Sized;
    /// Why a reconciliation fails.
    type Error: Classified + Error + Send + 'static;

    /// What it must be allowed to do with these settings, besides reading the stores. It is asked for before there are
    /// reconcilers.
    fn rights(settings: &Self::Settings) -> Vec<Right>;

    /// Declares which changes request which keys.
    fn watches(&self, watches: &mut Watches<Self::Key>);

    /// The keys that are requested when it begins to run.
    fn first_keys(&self) -> Vec<Self::Key>;

    /// Brings what the key stands for closer to what is desired. Safe to be cut off at any await.
    fn reconcile(&self, key: Self::Key) -> impl Future<Output = Result<Action, Self::Error>> + Send;
}
