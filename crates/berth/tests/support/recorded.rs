//! Objects of a region as an older system wrote them (`tests/recorded`), and which writes to them are expected: every
//! difference has a name, or is forbidden.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::labels;
use serde_json::Value;

const FILES: [&str; 5] = [
    include_str!("../recorded/flavor-groups.yaml"),
    include_str!("../recorded/hosts.yaml"),
    include_str!("../recorded/zone-a.yaml"),
    include_str!("../recorded/zone-b.yaml"),
    include_str!("../recorded/oddities.yaml"),
];

/// Which recorded objects are written, and why. Objects that are not listed are left alone.
const WRITTEN: &[(&[&str], &[&str])] = &[
    // They get a finalizer, and no condition changes.
    (&["finalizer"], &["01", "04", "05", "07", "0a", "0f", "15", "16", "1f", "20", "22", "ab", "legacy-import-7"]),
    // The slot was written after the last update of its observed status.
    (&["echo"], &["01-2"]),
    // The capacity that they waited for is there; one was accepted without a copy of its spec.
    (&["accepted", "finalizer", "said"], &["02", "03", "06", "10", "11"]),
    (&["echo", "in force", "placed", "said"], &["02-2"]),
    // Their hosts were written already; one has a VM there.
    (&["echo", "in force", "said"], &["10-0"]),
    (&["confirmed", "echo", "in force", "said"], &["03-1"]),
    (&["label"], &["06-0"]),
    // `confirmed` is a state and no valid reason.
    (&["said"], &["0c"]),
    // It follows its VM.
    (&["arrived", "confirmed", "said"], &["11-0"]),
    // It still waits, and its message has the numbers as soon as it is tried again.
    (&["said"], &[WAITING]),
    // The same for its commitment.
    (&["finalizer", "said"], &["14"]),
    // Another object has its UUID.
    (&["said"], &[NOT_SERVED]),
    // They have all cores of their flavor, and a part of its memory.
    (&["cores"], &["03-2", "04-2", "16-3"]),
    // Its commitment ends before it starts.
    (&["start"], &["1f-0"]),
    // The end time of its commitment was removed.
    (&["creator", "end"], &["legacy-import-7-0"]),
];

const PREFIX: &str = "commitment-6b0f3a52-9d41-4c7e-8a15-0000000000";

/// The kinds of writes to each of the recorded objects.
pub fn written() -> BTreeMap<String, BTreeSet<&'static str>> {
    let each = WRITTEN.iter().flat_map(|(kinds, names)| names.iter().map(move |name| (name, kinds)));
    each.map(|(name, kinds)| (long(name), kinds.iter().copied().collect())).collect()
}

pub fn long(name: &str) -> String {
    let is_short = name.split('-').next().is_some_and(|first| first.len() == 2);
    if is_short { format!("{PREFIX}{name}") } else { name.to_owned() }
}

/// The one commitment that is not served: another object with its UUID has the canonical name.
pub const NOT_SERVED: &str = "copy-of-21";

const WAITING: &str = "14-1";

/// The slot that waits for free capacity; its message is refreshed after the retry interval.
pub fn waiting() -> String {
    long(WAITING)
}

/// The name of the recorded flavor groups.
pub const FLAVOR_GROUPS: &str = "flavor-groups";

/// All recorded objects, hosts before what is on them.
pub fn objects() -> Vec<Value> {
    let documents = FILES.iter().flat_map(|file| file.split("\n---\n").skip(1));
    documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

/// The text of an object at a path; empty without one.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The kinds of writes between two states of an object, or the first forbidden difference.
pub fn explained(before: &Value, after: &Value) -> Result<BTreeSet<&'static str>, String> {
    let [old, new] = [leaves(before), leaves(after)];
    let pointers: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differing = pointers.into_iter().filter(|pointer| old.get(*pointer) != new.get(*pointer));
    differing
        .filter(|pointer| !belongs_to_the_server(pointer))
        .map(|pointer| {
            let change = Change { pointer, old: old.get(pointer), new: new.get(pointer), after };
            explanation(text(before, "/kind"), &change).ok_or_else(|| {
                format!("{} {pointer}: {:?} became {:?}", name(before), old.get(pointer), new.get(pointer))
            })
        })
        .collect()
}

/// One leaf of an object that has changed.
struct Change<'a> {
    pointer: &'a str,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    after: &'a Value,
}

impl Change<'_> {
    fn is_below(&self, path: &str) -> bool {
        self.pointer.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

fn explanation(kind: &str, change: &Change<'_>) -> Option<&'static str> {
    match kind {
        "CommittedResource" => of_commitment(change),
        "Reservation" => of_slot(change),
        _ => None,
    }
}

fn of_commitment(change: &Change<'_>) -> Option<&'static str> {
    let added = change.old.is_none();
    if change.is_below("/metadata/finalizers") {
        return (added && change.new.is_some_and(|new| new == labels::RELEASE_SLOTS)).then_some("finalizer");
    }
    let reported = ["/status/conditions", "/status/statusSummary", "/status/lastReconcileAt"];
    if reported.iter().any(|path| change.is_below(path)) {
        return Some("said");
    }
    let accepted = ["/status/acceptedSpec", "/status/acceptedAt"].iter().any(|path| change.is_below(path));
    accepted.then_some("accepted")
}

fn of_slot(change: &Change<'_>) -> Option<&'static str> {
    let (added, gone) = (change.old.is_none(), change.new.is_none());
    let label = format!("/metadata/labels/{}", escaped(labels::TYPE));
    match change.pointer {
        pointer if pointer == label => added.then_some("label"),
        "/spec/startTime" => gone.then_some("start"),
        "/spec/endTime" => gone.then_some("end"),
        "/spec/resources/cpu" => Some("cores"),
        "/spec/targetHost" => added.then_some("placed"),
        "/status/host" if added => Some("in force"),
        "/status/host" => (text(change.after, "/spec/targetHost") == change.new?.as_str()?).then_some("arrived"),
        "/spec/committedResourceReservation/creator" => Some("creator"),
        "/spec/committedResourceReservation/parentGeneration"
        | "/status/committedResourceReservation/observedParentGeneration" => Some("echo"),
        _ if change.is_below("/status/conditions") => Some("said"),
        _ if change.is_below("/status/committedResourceReservation/allocations") => (!gone).then_some("confirmed"),
        _ => None,
    }
}

fn belongs_to_the_server(pointer: &str) -> bool {
    ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"]
        .iter()
        .any(|field| pointer.strip_prefix("/metadata/").is_some_and(|rest| rest.split('/').next() == Some(*field)))
}

fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    collect(value, String::new(), &mut all);
    all
}

fn collect(value: &Value, pointer: String, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| collect(value, format!("{pointer}/{}", escaped(key)), all));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| collect(value, format!("{pointer}/{index}"), all));
        }
        Value::Null => {}
        leaf => drop(all.insert(pointer, leaf.clone())),
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
