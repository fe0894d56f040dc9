//! Examples for each rule, and a model: an API server with a history, a watch that lags, breaks and lists again, other
//! writers, and own calls whose answers come late, in any order, or never.

use kube::core::ObjectMeta;
use proptest::prelude::*;
use tokio::time::Instant;

use super::super::unanswered::RepeatableWrite;
use super::*;

/// The content of an object in these tests: incarnation and version.
type Content = (u64, u64);

const NAMES: [&str; 3] = ["a", "b", "c"];

fn report(name: &str, uid: u64, version: u64) -> ReportedObject<Content> {
    ReportedObject { name: name.into(), uid: uid.to_string().into(), version, content: Ok(Arc::new((uid, version))) }
}

fn invalid(name: &str, uid: u64, version: u64) -> ReportedObject<Content> {
    let invalid = InvalidObject { metadata: ObjectMeta::default(), error: "bad".into(), raw: Arc::default() };
    ReportedObject { content: Err(Arc::new(invalid)), ..report(name, uid, version) }
}

fn entries() -> Entries<Content> {
    Entries::new(ClusterName::home())
}

fn listed(objects: &[(&str, u64, u64)]) -> Entries<Content> {
    let mut entries = entries();
    relist(&mut entries, objects);
    entries
}

fn relist(entries: &mut Entries<Content>, objects: &[(&str, u64, u64)]) {
    entries.init();
    for (name, uid, version) in objects {
        entries.listed(report(name, *uid, *version));
    }
    entries.init_done();
}

fn shown(entries: &Entries<Content>) -> Vec<(String, Content)> {
    entries.all().map(|(name, object)| (name.to_string(), **object)).collect()
}

fn wrote(entries: &mut Entries<Content>, name: &str, uid: u64, version: u64) {
    let ticket = entries.ticket(name);
    entries.wrote(&ticket, report(name, uid, version));
}

#[test]
fn an_older_event_for_a_newer_entry_is_dropped() {
    let mut entries = listed(&[("a", 1, 5)]);
    wrote(&mut entries, "a", 1, 9);
    assert!(entries.applied(report("a", 1, 7)).is_empty());
    assert_eq!(shown(&entries), [("a".to_owned(), (1, 9))]);
}

#[test]
fn events_of_a_deleted_incarnation_are_dropped_until_the_watch_shows_its_deletion() {
    let mut entries = listed(&[("a", 1, 5)]);
    assert_eq!(entries.removed(&"a".into(), &"1".into()).len(), 1);
    assert!(entries.applied(report("a", 1, 7)).is_empty());
    assert!(entries.deleted(&report("a", 1, 8)).is_empty());
    assert!(entries.tombstones.is_empty());
}

#[test]
fn a_successor_of_a_deleted_incarnation_is_taken() {
    let mut entries = listed(&[("a", 1, 5)]);
    entries.removed(&"a".into(), &"1".into());
    wrote(&mut entries, "a", 2, 9);
    assert!(entries.deleted(&report("a", 1, 8)).is_empty());
    assert_eq!(shown(&entries), [("a".to_owned(), (2, 9))]);
}

#[test]
fn an_answer_that_comes_after_the_deletion_resurrects_nothing() {
    let mut entries = listed(&[("a", 1, 5)]);
    let ticket = entries.ticket("a");
    entries.deleted(&report("a", 1, 8));
    assert!(entries.wrote(&ticket, report("a", 1, 7)).is_empty());
    assert!(shown(&entries).is_empty());
}

#[test]
fn an_own_write_during_a_list_survives_it_in_doubt_until_an_event_or_a_reconciliation_settles_it() {
    for settled_by_event in [true, false] {
        let mut entries = listed(&[("a", 1, 5)]);
        entries.init();
        wrote(&mut entries, "b", 2, 9);
        entries.listed(report("a", 1, 5));
        assert!(entries.init_done().is_empty());
        assert!(entries.in_doubt("b"));
        if settled_by_event {
            entries.applied(report("b", 2, 9));
        } else {
            let ticket = entries.ticket("b");
            entries.settle(&"b".into(), &ticket, Instant::now(), Some(report("b", 2, 9)));
        }
        assert!(!entries.in_doubt("b"));
        assert_eq!(shown(&entries).len(), 2);
    }
}

#[test]
fn what_a_list_lacks_is_gone() {
    let mut entries = listed(&[("a", 1, 5), ("b", 2, 6)]);
    entries.init();
    entries.listed(report("b", 2, 6));
    let changes = entries.init_done();
    assert_eq!(
        changes.iter().map(|c| (c.key.to_string(), c.new.is_none())).collect::<Vec<_>>(),
        [("home/a".to_owned(), true)]
    );
}

#[test]
fn a_broken_off_list_removes_nothing() {
    let mut entries = listed(&[("a", 1, 5), ("b", 2, 6)]);
    entries.init();
    entries.listed(report("b", 2, 6));
    relist(&mut entries, &[("a", 1, 5), ("b", 2, 6)]);
    assert_eq!(shown(&entries).len(), 2);
}

#[test]
fn a_foreign_event_does_not_settle_an_unknown_change() {
    let mut entries = listed(&[("a", 1, 5)]);
    entries.doubt(&"a".into(), None);
    entries.applied(report("a", 1, 6));
    assert!(entries.in_doubt("a"), "version 6 may be older than our write");
    let ticket = entries.ticket("a");
    entries.settle(&"a".into(), &ticket, Instant::now(), Some(report("a", 1, 7)));
    assert!(!entries.in_doubt("a"));
}

#[test]
fn an_event_settles_an_unknown_create() {
    let mut entries = listed(&[]);
    entries.doubt(&"a".into(), None);
    assert!(entries.in_doubt("a"));
    entries.applied(report("a", 1, 6));
    assert!(!entries.in_doubt("a"));
}

#[test]
fn an_event_does_not_settle_a_patch_that_may_still_take_effect() {
    let mut entries = listed(&[]);
    entries.init();
    wrote(&mut entries, "a", 1, 6);
    let seen = Box::new(ObjectMeta { resource_version: Some("6".to_owned()), ..ObjectMeta::default() });
    let patch = RepeatableWrite::Patch { seen, patch: serde_json::Value::Null };
    entries.doubt(&"a".into(), Some(UnansweredWrite::new(patch, Instant::now())));
    // The list lacks the object, which may be gone or newer than the list.
    entries.init_done();
    entries.applied(report("a", 1, 6));
    assert!(entries.in_doubt("a") && entries.unanswered("a").is_some());
    let ticket = entries.ticket("a");
    entries.settle(&"a".into(), &ticket, Instant::now(), Some(report("a", 1, 7)));
    assert!(!entries.in_doubt("a"));
}

#[test]
fn a_reconciliation_that_began_before_the_doubt_does_not_settle_it() {
    let mut entries = listed(&[("a", 1, 5)]);
    let ticket = entries.ticket("a");
    entries.doubt(&"a".into(), None);
    entries.settle(&"a".into(), &ticket, Instant::now(), Some(report("a", 1, 5)));
    assert!(entries.in_doubt("a"));
}

#[test]
fn a_late_not_found_does_not_remove_a_successor() {
    let mut entries = listed(&[("a", 1, 5)]);
    let ticket = entries.ticket("a");
    entries.removed(&"a".into(), &"1".into());
    wrote(&mut entries, "a", 2, 9);
    entries.settle(&"a".into(), &ticket, Instant::now(), None);
    assert_eq!(shown(&entries), [("a".to_owned(), (2, 9))]);
}

#[test]
fn a_malformed_object_keeps_its_last_readable_state_and_a_new_one_has_none() {
    let mut entries = listed(&[("a", 1, 5)]);
    let change = &entries.applied(invalid("a", 1, 6))[0];
    assert_eq!((change.old.as_deref(), change.new.as_deref()), (Some(&(1, 5)), Some(&(1, 5))));
    assert_eq!(entries.invalid().count(), 1);
    entries.applied(invalid("a", 2, 8));
    assert!(shown(&entries).is_empty());
    entries.applied(report("a", 2, 9));
    assert_eq!((entries.invalid().count(), shown(&entries).len()), (0, 1));
}

#[test]
fn listing_invalid_objects_walks_past_those_alone() {
    let names: Vec<_> = (0..100).map(|number| format!("n{number:03}")).collect();
    let mut entries = listed(&names.iter().map(|name| (name.as_str(), 1, 5)).collect::<Vec<_>>());
    assert_eq!(entries.invalid().size_hint(), (0, Some(0)));
    entries.applied(invalid("n050", 1, 6));
    assert_eq!(entries.invalid().size_hint(), (1, Some(1)));
}

// ---- the model

#[derive(Clone, Debug)]
enum Op {
    Foreign {
        name: usize,
        delete: bool,
    },
    /// We create or patch; with `lost`, no answer comes.
    Write {
        name: usize,
        lost: bool,
    },
    /// We delete the incarnation that the store shows.
    Delete {
        name: usize,
        lost: bool,
    },
    Get {
        name: usize,
    },
    Answer(usize),
    /// The watch or list delivers its next event.
    Watch,
    /// The watch breaks and starts with a new list.
    Break,
}

fn op() -> impl Strategy<Value = Op> {
    let name = 0..NAMES.len();
    prop_oneof![
        3 => (name.clone(), any::<bool>()).prop_map(|(name, delete)| Op::Foreign { name, delete }),
        4 => (name.clone(), prop::bool::weighted(0.2)).prop_map(|(name, lost)| Op::Write { name, lost }),
        2 => (name.clone(), prop::bool::weighted(0.2)).prop_map(|(name, lost)| Op::Delete { name, lost }),
        1 => name.prop_map(|name| Op::Get { name }),
        5 => (0..8usize).prop_map(Op::Answer),
        8 => Just(Op::Watch),
        1 => Just(Op::Break),
    ]
}

enum Answer {
    Wrote(u64, u64),
    Removed(u64),
    Lost,
    Refused,
    Got(Option<(u64, u64)>),
}

struct Event {
    version: u64,
    name: &'static str,
    uid: u64,
    deleted: bool,
}

/// A version, and the objects of that version that are not delivered yet.
type Snapshot = (u64, Vec<(&'static str, u64, u64)>);

enum Stream {
    Listing { snapshot: Option<Snapshot> },
    Watching { position: u64 },
}

struct World {
    version: u64,
    objects: BTreeMap<&'static str, (u64, u64)>,
    log: Vec<Event>,
    stream: Stream,
    outstanding: Vec<(&'static str, Ticket, Answer)>,
    entries: Entries<Content>,
    newest_shown: BTreeMap<String, u64>,
    /// Own writes with an answer: name, incarnation, version.
    written: Vec<(&'static str, u64, u64)>,
    removed: BTreeSet<u64>,
}

impl World {
    fn new() -> Self {
        let mut entries = entries();
        entries.init();
        Self {
            version: 0,
            objects: BTreeMap::new(),
            log: Vec::new(),
            stream: Stream::Listing { snapshot: None },
            outstanding: Vec::new(),
            entries,
            newest_shown: BTreeMap::new(),
            written: Vec::new(),
            removed: BTreeSet::new(),
        }
    }

    /// The server creates or changes `name`; an incarnation is named after the version of its creation.
    fn put(&mut self, name: &'static str) -> (u64, u64) {
        self.version += 1;
        let uid = self.objects.get(name).map_or(self.version, |(uid, _)| *uid);
        self.objects.insert(name, (uid, self.version));
        self.log.push(Event { version: self.version, name, uid, deleted: false });
        (uid, self.version)
    }

    fn remove(&mut self, name: &'static str) {
        if let Some((uid, _)) = self.objects.remove(name) {
            self.version += 1;
            self.log.push(Event { version: self.version, name, uid, deleted: true });
        }
    }

    fn act(&mut self, op: &Op) {
        match *op {
            Op::Foreign { name, delete: true } => self.remove(NAMES[name]),
            Op::Foreign { name, delete: false } => {
                self.put(NAMES[name]);
            }
            Op::Write { name, lost } => self.write(NAMES[name], lost),
            Op::Delete { name, lost } => self.delete(NAMES[name], lost),
            Op::Get { name } => self.get(NAMES[name]),
            Op::Answer(which) if !self.outstanding.is_empty() => self.answer(which % self.outstanding.len()),
            Op::Answer(_) => {}
            Op::Watch => self.deliver(),
            Op::Break => {
                self.stream = Stream::Listing { snapshot: None };
                self.entries.init();
            }
        }
    }

    fn write(&mut self, name: &'static str, lost: bool) {
        let ticket = self.entries.ticket(name);
        // A patch of an object that is gone is "not found", which shows that the incarnation we saw is gone.
        let answer = match (&ticket.uid, self.objects.get(name)) {
            (Some(uid), None) => Answer::Removed(uid.parse().unwrap()),
            (None, Some(_)) => Answer::Refused, // AlreadyExists
            _ => {
                let (uid, version) = self.put(name);
                Answer::Wrote(uid, version)
            }
        };
        self.outstanding.push((name, ticket, if lost { Answer::Lost } else { answer }));
    }

    fn delete(&mut self, name: &'static str, lost: bool) {
        let ticket = self.entries.ticket(name);
        let Some(uid) = ticket.uid.clone() else { return };
        let uid: u64 = uid.parse().unwrap();
        let answer = match self.objects.get(name) {
            Some((current, _)) if *current != uid => Answer::Refused,
            _ => Answer::Removed(uid),
        };
        if matches!(answer, Answer::Removed(_)) {
            self.remove(name);
        }
        self.outstanding.push((name, ticket, if lost { Answer::Lost } else { answer }));
    }

    fn get(&mut self, name: &'static str) {
        let ticket = self.entries.ticket(name);
        self.outstanding.push((name, ticket, Answer::Got(self.objects.get(name).copied())));
    }

    fn answer(&mut self, which: usize) {
        let (name, ticket, answer) = self.outstanding.remove(which);
        match answer {
            Answer::Wrote(uid, version) => {
                self.entries.wrote(&ticket, report(name, uid, version));
                self.written.push((name, uid, version));
            }
            Answer::Removed(uid) => {
                self.entries.removed(&name.into(), &uid.to_string().into());
                self.removed.insert(uid);
            }
            Answer::Lost => self.entries.doubt(&name.into(), None),
            Answer::Refused => {}
            Answer::Got(found) => {
                let found = found.map(|(uid, version)| report(name, uid, version));
                self.entries.settle(&name.into(), &ticket, Instant::now(), found);
            }
        }
    }

    fn deliver(&mut self) {
        match &mut self.stream {
            Stream::Listing { snapshot: None } => {
                let objects = self.objects.iter().map(|(name, (uid, version))| (*name, *uid, *version)).collect();
                self.stream = Stream::Listing { snapshot: Some((self.version, objects)) };
            }
            Stream::Listing { snapshot: Some((version, objects)) } => {
                if let Some((name, uid, version)) = objects.pop() {
                    self.entries.listed(report(name, uid, version));
                } else {
                    self.stream = Stream::Watching { position: *version };
                    self.entries.init_done();
                }
            }
            Stream::Watching { position } => {
                let Some(event) = self.log.iter().find(|event| event.version > *position) else { return };
                *position = event.version;
                let report = report(event.name, event.uid, event.version);
                if event.deleted {
                    self.entries.deleted(&report)
                } else {
                    self.entries.applied(report)
                };
            }
        }
    }

    fn is_quiet(&self) -> bool {
        matches!(self.stream, Stream::Watching { position } if position == self.version)
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        for (name, (uid, version)) in shown(&self.entries) {
            let known = self.log.iter().any(|e| e.name == name && e.uid == uid && e.version == version && !e.deleted);
            prop_assert!(known, "invented {name} {uid} {version}");
            let newest = self.newest_shown.entry(name.clone()).or_default();
            prop_assert!(version >= *newest, "{name} went back from {newest} to {version}");
            *newest = version;
            // Answers to several own calls may cross each other and a list; what we then cannot know is in doubt.
            let returned = self.removed.contains(&uid) && !self.entries.in_doubt(&name);
            prop_assert!(!returned, "{name}: deleted incarnation {uid} is shown again");
        }
        for (name, uid, version) in &self.written {
            if self.objects.get(name).is_some_and(|(current, _)| current == uid) {
                let seen = self.entries.get(name).map(|object| object.1);
                prop_assert!(seen >= Some(*version), "own write {name} {version} forgotten, shown: {seen:?}");
            }
        }
        Ok(())
    }

    /// Everything outstanding arrives, and doubtful objects are read again: then the store must agree with the server.
    fn come_to_rest(&mut self) -> Result<(), TestCaseError> {
        while !self.outstanding.is_empty() {
            self.answer(0);
            self.check()?;
        }
        while !self.is_quiet() {
            self.deliver();
            self.check()?;
        }
        let doubts: Vec<_> = NAMES.into_iter().filter(|name| self.entries.in_doubt(name)).collect();
        for name in doubts {
            self.get(name);
            self.answer(0);
            self.check()?;
        }
        let truth: Vec<_> = self.objects.iter().map(|(name, object)| ((*name).to_owned(), *object)).collect();
        prop_assert_eq!(shown(&self.entries), truth);
        prop_assert_eq!(self.entries.doubts().count(), 0);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// The store never goes back to an older object, never forgets or invents an own write, and agrees with the server
    /// in the end.
    #[test]
    fn the_store_goes_forward_and_arrives_at_the_truth(ops in prop::collection::vec(op(), 1..60)) {
        let mut world = World::new();
        for op in &ops {
            world.act(op);
            world.check()?;
        }
        world.come_to_rest()?;
    }
}
