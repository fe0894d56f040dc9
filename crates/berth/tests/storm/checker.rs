//! Checks every commit with the invariants, and how long they stay violated. A killed process may leave a write on its
//! way that lands after its successor has read everything; the next reconciliation of the slot repairs that. So an
//! invariant may be violated for a moment, and for as long as a process is missing that would repair it, but no longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Reservation, ReservationType};
use berth_invariants::{ExternalChanges, Invariant, Key, Snapshot, Touched, Violation, always, always_touched};
use kube::ResourceExt as _;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::commits::{Entry, Kind, Object};
use crate::support::seen::ready;

/// Far more than a reconciliation takes, also on a machine that compiles at the same time, and more than the grace
/// after which a slot without a commitment is deleted.
pub const ONE_RECONCILIATION: Duration = Duration::from_secs(10);

/// A checker; clones share its state.
#[derive(Clone)]
pub struct Checker {
    shared: Arc<Mutex<CheckerState>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub commits: u64,
    /// How often a slot got a first or another host.
    pub placements: u64,
    /// How often a host was over-booked, and for how long at most, with all processes running and otherwise.
    pub over_booked: u64,
    pub longest: Duration,
    pub longest_anyway: Duration,
    /// Violations that were not repaired within one reconciliation, and forbidden changes.
    pub wrong: BTreeSet<String>,
}

struct CheckerState {
    snapshot: Snapshot,
    outside: ExternalChanges,
    /// Since when all processes run that repair violations.
    calm_since: Option<Instant>,
    open: BTreeMap<(Invariant, Key), Open>,
    targets: BTreeMap<String, String>,
    versions: BTreeMap<String, u64>,
    one_reconciliation: Duration,
    record: Record,
}

/// A current violation.
struct Open {
    since: Instant,
    revision: u64,
    text: String,
}

impl Checker {
    /// A checker that allows a violation for this time.
    pub fn new(one_reconciliation: Duration) -> Self {
        let shared = CheckerState {
            snapshot: Snapshot::default(),
            outside: ExternalChanges::default(),
            calm_since: None,
            open: BTreeMap::new(),
            targets: BTreeMap::new(),
            versions: BTreeMap::new(),
            one_reconciliation,
            record: Record::default(),
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    pub fn disturbed(&self) {
        self.lock().disturbed();
    }

    pub fn calm(&self) {
        self.lock().calm_since.get_or_insert_with(Instant::now);
    }

    pub fn committed(&self, entry: Entry) {
        self.lock().committed(entry);
    }

    pub fn open(&self) -> Vec<String> {
        self.lock().open.values().map(|open| open.text.clone()).collect()
    }

    /// Resource versions of all commitments and Reservations, in the format of `ObservedLease::versions`.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.lock().versions.iter().map(|(name, version)| (name.clone(), version.to_string())).collect()
    }

    pub fn record(&self) -> Record {
        let mut shared = self.lock();
        shared.weigh();
        shared.record.clone()
    }

    fn lock(&self) -> MutexGuard<'_, CheckerState> {
        self.shared.lock()
    }
}

impl CheckerState {
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
        // Any change may have repaired an earlier violation.
        let violations = if self.open.is_empty() {
            always_touched(&self.snapshot, &self.outside, &touched)
        } else {
            always(&self.snapshot, &self.outside)
        };
        self.compare(violations, revision);
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

    /// Records what is not covered by the invariants.
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

    /// Commitments that allow rejection are in a zone that always has free capacity, so no fault is a reason to reject
    /// them.
    fn note_rejection(&mut self, commitment: &CommittedResource) {
        if let Some(reported) = ready(commitment).filter(|reported| reported.reason == "Rejected") {
            self.record.wrong.insert(format!("{} was rejected: {}", commitment.name_any(), reported.message));
        }
    }

    fn compare(&mut self, violations: Vec<Violation>, revision: u64) {
        self.weigh();
        let mut before = std::mem::take(&mut self.open);
        for violation in violations {
            let key = (violation.invariant, violation.object.clone());
            let open = before.remove(&key).unwrap_or_else(|| {
                self.record.over_booked += u64::from(violation.invariant == Invariant::HostOverbooked);
                Open { since: Instant::now(), revision, text: format!("{} {violation}", violation.invariant) }
            });
            self.open.insert(key, open);
        }
    }

    /// Checks how long each violation has lasted.
    fn weigh(&mut self) {
        let now = Instant::now();
        for ((invariant, _), open) in &self.open {
            let calmly = self.calm_since.map_or(Duration::ZERO, |calm| now - calm.max(open.since));
            if *invariant == Invariant::HostOverbooked {
                self.record.longest = self.record.longest.max(calmly);
                self.record.longest_anyway = self.record.longest_anyway.max(now - open.since);
            }
            if calmly > self.one_reconciliation {
                self.record.wrong.insert(format!("since revision {}, too long: {}", open.revision, open.text));
            }
        }
    }
}
