//! Finds hosts that were sold twice, in every state that was committed. It reads raw objects and shares no code with Berth:
//! neither types nor quantities nor formulas. This is what it checks, in words:
//!
//! * A host has the capacity of `status.effectiveCapacity` of its Hypervisor, or of `status.capacity` if the former has no
//!   entries: `memory` in bytes and `cpu` in cores. A resource without a valid amount is not checked.
//! * VMs take what `status.allocation` says.
//! * A Reservation takes capacity on the host in `spec.targetHost`, and also on the one in `status.host` if that is another
//!   one. Without `spec.targetHost` it takes nothing.
//! * It takes its whole `spec.resources`, with one exception. A slot (`spec.type` is `CommittedResourceReservation`) lists
//!   VMs in `spec.committedResourceReservation.allocations`. Those that the host has in `status.instances` are in the
//!   allocation of the host already, so on this host the slot takes only what they leave of it. All others are still to
//!   come: if they need more than what is left, the slot takes what they need. A VM that several slots list counts in the
//!   first one by name.
//! * The excess is what VMs and Reservations take beyond the capacity. What was taken by others belongs to them: an excess
//!   that grows with a change of the Hypervisor (it shrinks, VMs start) or of a Reservation by a test. An excess that grows
//!   with a write of Berth to a Reservation is a finding: Berth has sold the capacity twice.
//!
//! Amounts are exact, so that rounding neither hides nor causes a finding. Each cluster is checked on its own, because
//! only commits to one etcd have an order.

pub mod amounts;
mod facts;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::chronicle::{Entry, Report};
use facts::{Host, Taken, Use};

pub const HYPERVISORS: &str = "kvm.cloud.sap/hypervisors";
pub const RESERVATIONS: &str = "cortex.cloud/reservations";

const RESOURCES: [&str; 2] = ["memory", "cpu"];

/// The user agent of the tests.
pub const TESTS: &str = "tests";

/// All objects at the last revision, and what was found until then.
#[derive(Default)]
pub struct HostStates {
    hosts: BTreeMap<String, Host>,
    reservations: BTreeMap<String, (Value, Taken)>,
    /// The Reservations that name a host.
    on_host: BTreeMap<String, BTreeSet<String>>,
    excesses: BTreeMap<String, [Excess; 2]>,
    checked: u64,
    findings: Vec<Finding>,
}

/// How much of one resource of a host is taken beyond its capacity, in nano units.
#[derive(Clone, Copy, Default)]
struct Excess {
    all: i128,
    /// The part that others have taken.
    of_others: i128,
}

/// A write of Berth that has sold capacity twice.
struct Finding {
    host: String,
    resource: &'static str,
    since: Instant,
    lasted: Option<Duration>,
    text: String,
}

/// Who has made a commit.
enum Writer {
    Berth { reservation: String, manager: String },
    Others,
}

impl HostStates {
    pub fn read(&mut self, report: Report, now: Instant) {
        match report {
            Report::State(entries) => self.begin(entries, now),
            Report::Commit(entry) => self.committed(entry, now),
        }
    }

    /// The number of states of hosts that were checked.
    pub fn checked(&self) -> u64 {
        self.checked
    }

    /// All findings but those that were over within this time.
    pub fn wrong(&self, may_last: Duration) -> Vec<String> {
        let too_long = |finding: &&Finding| finding.lasted.is_none_or(|lasted| may_last.is_zero() || lasted > may_last);
        self.findings.iter().filter(too_long).map(ToString::to_string).collect()
    }

    pub fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings).iter().map(ToString::to_string).collect()
    }

    /// Replaces the state. Nothing is known about who has caused it.
    fn begin(&mut self, entries: Vec<Entry>, now: Instant) {
        let (checked, findings) = (self.checked, std::mem::take(&mut self.findings));
        *self = Self { checked, findings, ..Self::default() };
        self.findings.iter_mut().for_each(|finding| finding.end(now));
        let (hypervisors, reservations): (Vec<_>, _) = entries.into_iter().partition(|entry| entry.kind == HYPERVISORS);
        for entry in reservations.into_iter().chain(hypervisors) {
            self.committed(entry, now);
        }
    }

    fn committed(&mut self, entry: Entry, now: Instant) {
        let Entry { revision, kind, name, object } = entry;
        let (touched, writer) = match kind {
            HYPERVISORS => (self.replace_host(name, object), Writer::Others),
            RESERVATIONS => self.replace_reservation(name, object),
            _ => return,
        };
        for host in &touched {
            self.check(host, &writer, revision, now);
        }
    }

    fn replace_host(&mut self, name: String, object: Option<Value>) -> BTreeSet<String> {
        match object {
            Some(object) => drop(self.hosts.insert(name.clone(), Host::of(&object))),
            None => drop(self.hosts.remove(&name)),
        }
        [name].into()
    }

    /// Returns the hosts whose state has changed, and the writer.
    fn replace_reservation(&mut self, name: String, object: Option<Value>) -> (BTreeSet<String>, Writer) {
        let before = self.reservations.remove(&name);
        let mut touched: BTreeSet<String> = before.iter().flat_map(|(_, taken)| taken.hosts()).cloned().collect();
        for host in &touched {
            self.on_host.entry(host.clone()).or_default().remove(&name);
        }
        // A deletion takes nothing.
        let Some(object) = object else { return (touched, Writer::Others) };
        let manager = writer::of(before.as_ref().map(|(object, _)| object), &object);
        let taken = Taken::of(&object);
        for host in taken.hosts() {
            self.on_host.entry(host.clone()).or_default().insert(name.clone());
            touched.insert(host.clone());
        }
        self.reservations.insert(name.clone(), (object, taken));
        let is_test = writer::is_test(&manager);
        (touched, if is_test { Writer::Others } else { Writer::Berth { reservation: name, manager } })
    }

    /// Checks the state of a host after a commit.
    fn check(&mut self, host: &str, writer: &Writer, revision: u64, now: Instant) {
        let uses = self.uses(host);
        self.checked += u64::from(uses.iter().any(|one| one.capacity.is_some()));
        let excesses = self.excesses.entry(host.to_owned()).or_default();
        for ((resource, one), excess) in RESOURCES.into_iter().zip(uses).zip(excesses) {
            let sold = excess.becomes(one.excess(), writer);
            if excess.all == excess.of_others {
                let same = |finding: &&mut Finding| finding.host == host && finding.resource == resource;
                self.findings.iter_mut().filter(same).for_each(|finding| finding.end(now));
            }
            if let Some(by) = writer.describe().filter(|_| sold > 0) {
                let [all, sold] = [one.excess(), sold].map(|amount| amounts::format(resource, amount));
                let text = format!(
                    "revision {revision}: host {host} was sold twice: {all} too much, {sold} of it by {by}; {}",
                    one.describe(resource)
                );
                self.findings.push(Finding { host: host.to_owned(), resource, since: now, lasted: None, text });
            }
        }
    }

    /// How a host is used; a host that does not exist has no capacity that is known.
    fn uses(&self, host: &str) -> [Use; 2] {
        let names = self.on_host.get(host).into_iter().flatten();
        let reservations = names.filter_map(|name| Some(&self.reservations.get(name)?.1));
        self.hosts.get(host).map_or_else(Default::default, |host| host.used_by(reservations))
    }
}

impl Excess {
    /// Returns how much Berth has added.
    fn becomes(&mut self, all: i128, writer: &Writer) -> i128 {
        let growth = (all - self.all).max(0);
        let sold = if matches!(writer, Writer::Others) { 0 } else { growth };
        *self = Self { all, of_others: (self.of_others + growth - sold).min(all) };
        sold
    }
}

impl Writer {
    fn describe(&self) -> Option<String> {
        match self {
            Self::Berth { reservation, manager } => {
                Some(format!("the write of {manager:?} to Reservation {reservation}"))
            }
            Self::Others => None,
        }
    }
}

impl Finding {
    fn end(&mut self, now: Instant) {
        self.lasted.get_or_insert(now - self.since);
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lasted {
            Some(lasted) => write!(f, "{}; it lasted {:.3} s", self.text, lasted.as_secs_f64()),
            None => write!(f, "{}; it lasted until the end", self.text),
        }
    }
}
