//! Judges every commit with the laws, and how long they stay broken. A process that is killed may leave a write on its
//! way that lands after its successor has read everything: that is repaired with the next look at the slot. So a law
//! may be broken for a moment, and for as long as somebody is missing who would repair it, but no longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Reservation, ReservationType};
use berth_laws::{Key, Law, Outside, Snapshot, Touched, Violation, always, always_touched};
use kube::ResourceExt as _;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::chronicle::{Entry, Kind, Object};
use crate::support::seen::ready;

/// Far more than a look takes, also on a machine that compiles beside it, and than the grace after which a slot without a
/// commitment is deleted.
pub const ONE_LOOK: Duration = Duration::from_secs(10);

/// A judge; clones are the same one.
#[derive(Clone)]
pub struct Judge {
    bench: Arc<Mutex<Bench>>,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub commits: u64,
    /// How often a slot got a host, or another one.
    pub placements: u64,
    /// How often a host held more than it has, and for how long at most, with everybody there and besides.
    pub over_booked: u64,
    pub longest: Duration,
    pub longest_anyway: Duration,
    /// What nobody has repaired within one look, and what must not happen at all.
    pub wrong: BTreeSet<String>,
}

struct Bench {
    snapshot: Snapshot,
    outside: Outside,
    /// Since when everybody is there who would repair something.
    calm_since: Option<Instant>,
    open: BTreeMap<(Law, Key), Open>,
    targets: BTreeMap<String, String>,
    versions: BTreeMap<String, u64>,
    one_look: Duration,
    record: Record,
}

/// A law that is broken at the moment.
struct Open {
    since: Instant,
    revision: u64,
    text: String,
}

impl Judge {
    /// One who lets a law be broken for so long.
    pub fn new(one_look: Duration) -> Self {
        let bench = Bench {
            snapshot: Snapshot::default(),
            outside: Outside::default(),
            calm_since: None,
            open: BTreeMap::new(),
            targets: BTreeMap::new(),
            versions: BTreeMap::new(),
            one_look,
            record: Record::default(),
        };
        Self { bench: Arc::new(Mutex::new(bench)) }
    }

    /// From now on somebody is missing.
    pub fn disturbed(&self) {
        self.lock().disturbed();
    }

    /// From now on everybody is there again.
    pub fn calm(&self) {
        self.lock().calm_since.get_or_insert_with(Instant::now);
    }

    /// Something was committed.
    pub fn committed(&self, entry: Entry) {
        self.lock().committed(entry);
    }

    /// Everything that is broken at the moment.
    pub fn open(&self) -> Vec<String> {
        self.lock().open.values().map(|open| open.text.clone()).collect()
    }

    /// Revisions of all commitments and Reservations, as `Seen::versions` shows what the API server has.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.lock().versions.iter().map(|(name, version)| (name.clone(), version.to_string())).collect()
    }

    /// What was seen so far.
    pub fn record(&self) -> Record {
        let mut bench = self.lock();
        bench.weigh();
        bench.record.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Bench> {
        self.bench.lock()
    }
}

impl Bench {
    fn disturbed(&mut self) {
        self.weigh();
        self.calm_since = None;
    }

    fn committed(&mut self, entry: Entry) {
        self.record.commits += 1;
        self.note(&entry);
        let revision = entry.revision;
        let touched = self.follow(entry);
        self.outside.learn(&self.snapshot, &touched);
        // What was broken before may have been repaired by any change.
        let broken = if self.open.is_empty() {
            always_touched(&self.snapshot, &self.outside, &touched)
        } else {
            always(&self.snapshot, &self.outside)
        };
        self.compare(broken, revision);
    }

    fn follow(&mut self, entry: Entry) -> Touched {
        let key = Key::new(ClusterName::home(), entry.name);
        match (entry.kind, entry.object) {
            (_, Some(Object::Commitment(object))) => self.snapshot.commitment(&key, Some(&object)),
            (_, Some(Object::Reservation(object))) => self.snapshot.reservation(&key, Some(&object)),
            (_, Some(Object::Host(object))) => self.snapshot.hypervisor(&key, Some(&object)),
            (Kind::Commitment, None) => self.snapshot.commitment(&key, None),
            (Kind::Reservation, None) => self.snapshot.reservation(&key, None),
            (Kind::Host, None) => self.snapshot.hypervisor(&key, None),
        }
    }

    /// What is not the business of the laws.
    fn note(&mut self, entry: &Entry) {
        let name = match entry.kind {
            Kind::Commitment => format!("commitment {}", entry.name),
            Kind::Reservation => format!("reservation {}", entry.name),
            Kind::Host => return,
        };
        match &entry.object {
            Some(_) => drop(self.versions.insert(name, entry.revision)),
            None => drop(self.versions.remove(&name)),
        }
        match &entry.object {
            Some(Object::Commitment(commitment)) => self.note_rejection(commitment),
            Some(Object::Reservation(reservation)) => self.note_host(reservation),
            _ => drop(self.targets.remove(&entry.name)),
        }
    }

    fn note_host(&mut self, reservation: &Reservation) {
        let slot = reservation.spec.type_ == ReservationType::CommittedResourceReservation;
        let (name, target) = (reservation.name_any(), reservation.spec.target_host.clone().filter(|_| slot));
        match target {
            Some(target) if self.targets.get(&name) != Some(&target) => {
                self.record.placements += 1;
                self.targets.insert(name, target);
            }
            Some(_) => {}
            None => drop(self.targets.remove(&name)),
        }
    }

    /// Whoever may be rejected lives where there is always room: whatever does not work is no reason to reject it.
    fn note_rejection(&mut self, commitment: &CommittedResource) {
        if let Some(said) = ready(commitment).filter(|said| said.reason == "Rejected") {
            self.record.wrong.insert(format!("{} was rejected: {}", commitment.name_any(), said.message));
        }
    }

    fn compare(&mut self, broken: Vec<Violation>, revision: u64) {
        self.weigh();
        let mut before = std::mem::take(&mut self.open);
        for violation in broken {
            let key = (violation.law, violation.object.clone());
            let open = before.remove(&key).unwrap_or_else(|| {
                self.record.over_booked += u64::from(violation.law == Law::HostOverbooked);
                Open { since: Instant::now(), revision, text: format!("{} {violation}", violation.law) }
            });
            self.open.insert(key, open);
        }
    }

    /// How long everything that is broken has been so.
    fn weigh(&mut self) {
        let now = Instant::now();
        for ((law, _), open) in &self.open {
            let calmly = self.calm_since.map_or(Duration::ZERO, |calm| now - calm.max(open.since));
            if *law == Law::HostOverbooked {
                self.record.longest = self.record.longest.max(calmly);
                self.record.longest_anyway = self.record.longest_anyway.max(now - open.since);
            }
            if calmly > self.one_look {
                self.record.wrong.insert(format!("since revision {}, too long: {}", open.revision, open.text));
            }
        }
    }
}
