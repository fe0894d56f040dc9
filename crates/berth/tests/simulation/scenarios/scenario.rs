//! What a scenario is: the world that it begins in, what people, hosts and other programs do in it and when, and how it has
//! to end. What goes wrong meanwhile is up to those who run it.

use std::time::Duration;

use super::stage::Stage;
use crate::world::World;

/// Something that somebody does. False if it is not possible yet: then it is tried again a little later.
pub type Deed = Box<dyn Fn(&mut Stage) -> bool + Send + Sync>;

/// What must be true at the end, or what is not, in words.
pub type End = Box<dyn Fn(&World) -> Result<(), String> + Send + Sync>;

/// Which processes and API servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A process, and one cluster for both zones.
    OneCluster,
    /// A process, and a cluster for each zone.
    TwoClusters,
    /// Two replicas with a Lease, and one cluster for both zones.
    Replicas,
}

/// A story that always has the same end.
pub struct Scenario {
    pub name: &'static str,
    pub kind: Kind,
    /// Everybody who wants something at the end can have it.
    pub enough_room: bool,
    /// What the laws may say at rest about what others have made, by the beginning of the text.
    pub excused: &'static [&'static str],
    /// Done before the operator starts.
    pub before: Vec<Deed>,
    /// Done one after the other, each not before its time.
    pub acts: Vec<(Duration, Deed)>,
    pub ends: Vec<End>,
}

impl Scenario {
    /// A scenario in one cluster with enough room, in which nothing happens.
    pub fn new(name: &'static str) -> Self {
        let (before, acts, ends) = Default::default();
        Self { name, kind: Kind::OneCluster, enough_room: true, excused: &[], before, acts, ends }
    }

    /// Other processes or API servers.
    pub fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Not everybody can have what it wants.
    pub fn without_room(self) -> Self {
        Self { enough_room: false, ..self }
    }

    /// These texts of laws, by their beginning, are about what others have made.
    pub fn excusing(self, excused: &'static [&'static str]) -> Self {
        Self { excused, ..self }
    }

    /// Before the operator starts.
    pub fn with(mut self, deed: Deed) -> Self {
        self.before.push(deed);
        self
    }

    /// So many seconds after the operator has started.
    pub fn at(mut self, seconds: f64, deed: Deed) -> Self {
        self.acts.push((Duration::from_secs_f64(seconds), deed));
        self
    }

    /// This has to be true at the end.
    pub fn ends(mut self, end: End) -> Self {
        self.ends.push(end);
        self
    }
}
