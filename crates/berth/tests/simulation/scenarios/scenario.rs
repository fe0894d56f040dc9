//! The type of a scenario: its initial world, the actions of users, hosts and other programs with their times, and the
//! expected end.

use std::time::Duration;

use super::stage::Stage;
use crate::world::World;

/// An action. It returns false if it is not possible yet, and is then tried again a little later.
pub type Deed = Box<dyn Fn(&mut Stage) -> bool + Send + Sync>;

/// A check at the end, which returns what is wrong.
pub type End = Box<dyn Fn(&World) -> Result<(), String> + Send + Sync>;

/// The processes and API servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One process, and one cluster for both zones.
    OneCluster,
    /// One process, and a cluster for each zone.
    TwoClusters,
    /// Two replicas with a Lease, and one cluster for both zones.
    Replicas,
}

pub struct Scenario {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether there is enough capacity for all commitments at the end.
    pub enough_capacity: bool,
    /// The violations at rest that other clients have caused, by prefix.
    pub excused: &'static [&'static str],
    pub before: Vec<Deed>,
    /// The actions in order, each not before its time.
    pub acts: Vec<(Duration, Deed)>,
    pub ends: Vec<End>,
}

impl Scenario {
    /// A scenario in one cluster with enough capacity, in which nothing happens.
    pub fn new(name: &'static str) -> Self {
        let (before, acts, ends) = Default::default();
        Self { name, kind: Kind::OneCluster, enough_capacity: true, excused: &[], before, acts, ends }
    }

    pub fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    pub fn without_capacity(self) -> Self {
        Self { enough_capacity: false, ..self }
    }

    /// Ignores the violations with these prefixes, because other clients have caused them.
    pub fn excusing(self, excused: &'static [&'static str]) -> Self {
        Self { excused, ..self }
    }

    pub fn with(mut self, deed: Deed) -> Self {
        self.before.push(deed);
        self
    }

    /// Adds an action this many seconds after the operator has started.
    pub fn at(mut self, seconds: f64, deed: Deed) -> Self {
        self.acts.push((Duration::from_secs_f64(seconds), deed));
        self
    }

    /// Adds a check at the end.
    pub fn ends(mut self, end: End) -> Self {
        self.ends.push(end);
        self
    }
}
