//! The objects of one kind in one cluster: the state machine behind the store, without locks, I/O or clock. It
//! determines which of two reports is newer, keeps own writes through a relist, and remembers deletions and objects in
//! doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::ClusterName;
use tokio::time::Instant;

use super::change::Change;
use super::unanswered::UnansweredWrite;
use crate::ObjectKey;
use crate::decode_guard::InvalidObject;

/// An object as it was reported.
pub(crate) struct ReportedObject<K> {
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// `resourceVersion`; 0 if it is not a number, then the order of arrival decides.
    pub version: u64,
    pub content: Result<Arc<K>, Arc<InvalidObject>>,
}

/// The state of our knowledge about a name when a call about it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticket {
    clock: u64,
    uid: Option<Arc<str>>,
}

pub(crate) struct Entries<K> {
    cluster: ClusterName,
    live: BTreeMap<Arc<str>, Live<K>>,
    /// The invalid ones of them: every reconciliation reads them, and usually there are none.
    invalid: BTreeMap<Arc<str>, Arc<InvalidObject>>,
    tombstones: BTreeMap<Arc<str>, Tombstone>,
    doubts: BTreeMap<Arc<str>, Doubt<K>>,
    listing: Option<Listing>,
    /// When the last list was complete; `None` before the first one.
    listed_at: Option<u64>,
    /// The watch has shown everything up to this version, so answers that are not newer carry no news.
    position: u64,
    /// The newest version of an object that we know of, also from an answer to an own call.
    highest: u64,
    /// Counts changes, to order them.
    clock: u64,
}

struct Live<K> {
    uid: Arc<str>,
    version: u64,
    shown: Option<Arc<K>>,
    touched: u64,
}

/// A deleted incarnation of which the watch may still show events.
struct Tombstone {
    uid: Arc<str>,
    /// The newest version of it that we have seen: versions that are not newer belong to it or to a predecessor.
    floor: u64,
    made: u64,
}

/// A name of which we do not know something, and since when.
struct Doubt<K> {
    what: Unknown,
    marked: u64,
    /// A write that may still take effect.
    unanswered: Option<Arc<UnansweredWrite<K>>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    /// Whether the object exists: a report of it answers that.
    Existence,
    /// Whether a change of it took effect is only known after a read that began later.
    Change,
}

struct Listing {
    started: u64,
    seen: BTreeSet<Arc<str>>,
    /// The list shows at least everything up to here: it is a consistent read that began when we knew of this version.
    highest: u64,
    /// The lowest version of an entry, known before the list began, that the list shows in an older version.
    lacking: Option<u64>,
}

impl<K> Entries<K> {
    pub fn new(cluster: ClusterName) -> Self {
        Self {
            cluster,
            live: BTreeMap::new(),
            invalid: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            doubts: BTreeMap::new(),
            listing: None,
            listed_at: None,
            position: 0,
            highest: 0,
            clock: 0,
        }
    }

    // ---- reading

    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    pub fn get(&self, name: &str) -> Option<&Arc<K>> {
        self.live.get(name)?.shown.as_ref()
    }

    /// True if there is an object of that name, readable or not.
    pub fn has(&self, name: &str) -> bool {
        self.live.contains_key(name)
    }

    pub fn all(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<K>)> {
        self.live.iter().filter_map(|(name, live)| Some((name, live.shown.as_ref()?)))
    }

    /// The objects whose newest state is unreadable, by name.
    pub fn invalid(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<InvalidObject>)> {
        self.invalid.iter()
    }

    pub fn synced(&self) -> bool {
        self.listed_at.is_some()
    }

    pub fn highest(&self) -> u64 {
        self.highest
    }

    pub fn in_doubt(&self, name: &str) -> bool {
        self.doubts.contains_key(name)
    }

    pub fn doubts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.doubts.keys()
    }

    /// The write to `name` that may still take effect.
    pub fn unanswered(&self, name: &str) -> Option<&Arc<UnansweredWrite<K>>> {
        self.doubts.get(name)?.unanswered.as_ref()
    }

    // ---- the watch

    /// A new list begins. One that was broken off is forgotten.
    pub fn init(&mut self) {
        let started = self.tick();
        self.listing = Some(Listing { started, seen: BTreeSet::new(), highest: self.highest, lacking: None });
    }

    pub fn listed(&mut self, report: ReportedObject<K>) -> Vec<Change<K>> {
        if let Some(listing) = &mut self.listing {
            listing.seen.insert(report.name.clone());
            listing.highest = listing.highest.max(report.version);
            if let Some(live) = self.live.get(&report.name)
                && live.touched <= listing.started
                && (1..live.version).contains(&report.version)
            {
                listing.lacking = Some(listing.lacking.map_or(live.version, |version| version.min(live.version)));
            }
        }
        self.enter(report)
    }

    /// Whether the list under way, taken at `version`, lacks a change before that version.
    pub fn lists_another_past(&self, version: u64) -> bool {
        self.listing.as_ref().and_then(|listing| listing.lacking).is_some_and(|lacking| lacking <= version)
    }

    /// The list is complete: objects that it lacks are gone, unless an own write reached us while it was taken. Such an
    /// entry may be newer than the list or may be gone already; it stays in doubt until it is read again.
    pub fn init_done(&mut self) -> Vec<Change<K>> {
        let Some(listing) = self.listing.take() else { return Vec::new() };
        let now = self.tick();
        self.listed_at = Some(now);
        self.position = self.position.max(listing.highest);
        self.tombstones.retain(|_, tombstone| tombstone.made > listing.started);
        self.doubts.retain(|_, doubt| doubt.marked > listing.started || doubt.unanswered.is_some());
        let unlisted: Vec<_> = self.live.keys().filter(|name| !listing.seen.contains(*name)).cloned().collect();
        let (mine, gone): (Vec<_>, Vec<_>) =
            unlisted.into_iter().partition(|name| self.live[name].touched > listing.started);
        for name in mine {
            self.mark(name, Unknown::Existence, None);
        }
        gone.into_iter().filter_map(|name| self.drop_live(&name)).collect()
    }

    /// The watch shows that the object was created or changed.
    pub fn applied(&mut self, report: ReportedObject<K>) -> Vec<Change<K>> {
        self.advance(report.version);
        self.exists(&report);
        self.enter(report)
    }

    /// The watch shows that the object was deleted.
    pub fn deleted(&mut self, report: &ReportedObject<K>) -> Vec<Change<K>> {
        self.advance(report.version);
        if self.tombstones.get(&report.name).is_some_and(|tombstone| tombstone.uid == report.uid) {
            self.tombstones.remove(&report.name);
            return Vec::new();
        }
        let Some(live) = self.live.get(&report.name) else { return Vec::new() };
        // A deletion that is older than what we have was the one of a predecessor.
        if live.uid != report.uid && !is_newer(report.version, live.version) {
            return Vec::new();
        }
        self.doubts.remove(&report.name);
        self.drop_live(&report.name).into_iter().collect()
    }

    // ---- our own calls

    /// To be called before a call about `name` is sent; its answer is reported with the ticket.
    pub fn ticket(&self, name: &str) -> Ticket {
        Ticket { clock: self.clock, uid: self.live.get(name).map(|live| live.uid.clone()) }
    }

    /// An own call was answered with this object.
    pub fn wrote(&mut self, ticket: &Ticket, report: ReportedObject<K>) -> Vec<Change<K>> {
        // The watch was there already, and knows what happened since.
        if report.version != 0 && report.version <= self.position {
            return Vec::new();
        }
        let name = report.name.clone();
        let known = self.live.get(&name).is_some_and(|live| live.uid == report.uid);
        // We had it when the call was sent and have dropped it since: that is later than the answer.
        if !known && ticket.uid.as_ref() == Some(&report.uid) {
            return Vec::new();
        }
        let changes = self.enter(report);
        // A list that was taken since the call was sent may have seen it come and go.
        if !known && !changes.is_empty() && self.listed_at.is_some_and(|listed| listed > ticket.clock) {
            self.mark(name, Unknown::Existence, None);
        }
        changes
    }

    /// An own call has shown that the incarnation `uid` of `name` is gone.
    pub fn removed(&mut self, name: &Arc<str>, uid: &Arc<str>) -> Vec<Change<K>> {
        let made = self.tick();
        let live = self.live.get(name);
        let floor = match live {
            Some(live) if live.uid == *uid => live.version,
            // The first list is not complete: the watch may still report it.
            None if !self.synced() && !self.tombstones.contains_key(name) => 0,
            // The watch has shown its deletion already, or it has a successor.
            _ => return Vec::new(),
        };
        self.tombstones.insert(name.clone(), Tombstone { uid: uid.clone(), floor, made });
        self.doubts.remove(name);
        self.drop_live(name).into_iter().collect()
    }

    /// The outcome of a write to `name` is unknown.
    pub fn doubt(&mut self, name: &Arc<str>, unanswered: Option<UnansweredWrite<K>>) {
        let what = if self.live.contains_key(name) { Unknown::Change } else { Unknown::Existence };
        self.mark(name.clone(), what, unanswered);
    }

    /// The writes that may still take effect are not sent again: another process may have decided about their objects.
    pub fn forget_unanswered(&mut self) {
        self.doubts.values_mut().for_each(|doubt| doubt.unanswered = None);
    }

    /// The API server has responded to a read of `name`, begun at `read_at`, with an object, or with its absence.
    pub fn settle(
        &mut self,
        name: &Arc<str>,
        ticket: &Ticket,
        read_at: Instant,
        answer: Option<ReportedObject<K>>,
    ) -> Vec<Change<K>> {
        let found = answer.as_ref().map(|object| object.version);
        let is_over = |doubt: &Doubt<K>| {
            let unanswered = doubt.unanswered.as_ref();
            doubt.marked <= ticket.clock && unanswered.is_none_or(|write| write.is_over(read_at, found))
        };
        if self.doubts.get(name).is_some_and(is_over) {
            self.doubts.remove(name);
        }
        match (answer, &ticket.uid) {
            (Some(report), _) => self.wrote(ticket, report),
            (None, Some(uid)) => self.removed(name, uid),
            (None, None) => Vec::new(),
        }
    }

    // ---- inside

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Marks an object as in doubt. An earlier write to it that may still take effect is kept.
    fn mark(&mut self, name: Arc<str>, what: Unknown, unanswered: Option<UnansweredWrite<K>>) {
        let marked = self.tick();
        let former = self.doubts.remove(&name).and_then(|doubt| doubt.unanswered);
        self.doubts.insert(name, Doubt { what, marked, unanswered: unanswered.map(Arc::new).or(former) });
    }

    fn advance(&mut self, version: u64) {
        self.position = self.position.max(version);
        self.highest = self.highest.max(version);
    }

    /// The watch shows the incarnation that we have, or a later one: it existed after the last list.
    fn exists(&mut self, report: &ReportedObject<K>) {
        let current = self.live.get(&report.name).is_some_and(|live| report.version >= live.version);
        let is_answered = |doubt: &Doubt<K>| doubt.what == Unknown::Existence && doubt.unanswered.is_none();
        if current && self.doubts.get(&report.name).is_some_and(is_answered) {
            self.doubts.remove(&report.name);
        }
    }

    /// Takes over a report that is newer than what we know.
    fn enter(&mut self, report: ReportedObject<K>) -> Vec<Change<K>> {
        if self.is_past(&report) {
            return Vec::new();
        }
        let ReportedObject { name, uid, version, content } = report;
        let touched = self.tick();
        self.highest = self.highest.max(version);
        self.tombstones.remove(&name);
        let before = self.live.remove(&name);
        if before.is_none() {
            self.doubts.remove(&name); // it exists: the create took effect
        }
        let old = before.as_ref().and_then(|live| live.shown.clone());
        self.invalid.remove(&name);
        let shown = match content {
            Ok(object) => Some(object),
            Err(invalid) => {
                self.invalid.insert(name.clone(), invalid);
                before.filter(|live| live.uid == uid).and_then(|live| live.shown)
            }
        };
        let change = Change { key: self.key(&name), old, new: shown.clone() };
        self.live.insert(name, Live { uid, version, shown, touched });
        vec![change]
    }

    /// True if the report is about a deleted incarnation, or not newer than what we have.
    fn is_past(&self, report: &ReportedObject<K>) -> bool {
        let buried = self
            .tombstones
            .get(&report.name)
            .is_some_and(|tombstone| tombstone.uid == report.uid || !is_newer(report.version, tombstone.floor));
        buried || self.live.get(&report.name).is_some_and(|live| !is_newer(report.version, live.version))
    }

    fn drop_live(&mut self, name: &Arc<str>) -> Option<Change<K>> {
        let old = self.live.remove(name)?.shown;
        self.invalid.remove(name);
        Some(Change { key: self.key(name), old, new: None })
    }

    fn key(&self, name: &Arc<str>) -> ObjectKey {
        ObjectKey::new(self.cluster.clone(), name.clone())
    }
}

fn is_newer(version: u64, known: u64) -> bool {
    version == 0 || version > known
}

#[cfg(test)]
mod tests;
