//! What reports it when a right is missing: one row for each verb of each rule.

use self::Report::{Counted, InDoubt, Logged, Unanswered, Writes};
use self::Stage::{
    Background, Changes, Commitments, Deletions, Doubts, Lists, Maps, Placements, SlotStates, Slots, Watches,
};

/// Rights that are removed at the same time, because they do not depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The watches end, and begin again.
    Watches,
    /// The past of the watches is gone.
    Lists,
    /// Writes are not answered.
    Doubts,
    Commitments,
    Slots,
    Placements,
    SlotStates,
    Changes,
    Maps,
    Deletions,
    /// One after the other, beside the other stages.
    Background,
}

/// Stages in the order in which they are played: a watch that has failed lately tells nothing new.
pub const STAGES: [Stage; 10] =
    [Watches, Commitments, Slots, Placements, SlotStates, Changes, Maps, Deletions, Doubts, Lists];

/// What reports it.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// `berth_writes_total` of this kind and verb counts writes that were not possible.
    Writes(&'static str, &'static str),
    /// A counter rises: a metric and its label.
    Counted(&'static str, &'static str),
    /// `berth_writes_in_doubt` of this kind is not 0, or a line of the log says that it could not be read.
    InDoubt(&'static str),
    /// A line of the log has these words.
    Logged(&'static str, &'static str),
    /// Callers of `/metrics` are answered with 503.
    Unanswered,
}

/// A verb of a rule.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub role: &'static str,
    pub resource: &'static str,
    /// The objects that the rule is limited to.
    pub name: &'static str,
    pub verb: &'static str,
    pub stage: Stage,
    pub report: Report,
}

const fn row(resource: &'static str, verb: &'static str, stage: Stage, report: Report) -> Row {
    Row { role: "berth", resource, name: "", verb, stage, report }
}

const fn of(role: &'static str, name: &'static str, row: Row) -> Row {
    Row { role, name, ..row }
}

const fn watch(resource: &'static str) -> Row {
    row(resource, "watch", Watches, Logged("cannot watch resource", resource))
}

const fn list(resource: &'static str) -> Row {
    row(resource, "list", Lists, Logged("cannot list resource", resource))
}

const fn get(resource: &'static str, kind: &'static str) -> Row {
    row(resource, "get", Doubts, InDoubt(kind))
}

const MAPS: &str = "berth-configmaps";
const INFO: &str = "berth-liquid-info";
const CLAIMS: &str = "berth-claims";
const LEASES: &str = "berth-leader-election";
const EVENTS: &str = "berth-events";
const CHANGE: &str = "CommitmentChange";
const COMMITMENT: &str = "CommittedResource";
const CAPACITY: &str = "FlavorGroupCapacity";
const QUOTA: &str = "ProjectQuota";
const SLOT: &str = "Reservation";
const NOT_PUBLISHED: &str = "service info not published";
const NOT_KEPT: &str = "claims not kept";
const NO_ELECTION: &str = "leader election failed";

pub const ROWS: &[Row] = &[
    row("tokenreviews", "create", Commitments, Unanswered),
    row("subjectaccessreviews", "create", Slots, Unanswered),
    watch("commitmentchanges"),
    list("commitmentchanges"),
    get("commitmentchanges", CHANGE),
    row("commitmentchanges", "create", Commitments, Writes(CHANGE, "create")),
    row("commitmentchanges", "patch", Changes, Writes(CHANGE, "patch")),
    row("commitmentchanges", "delete", Deletions, Writes(CHANGE, "delete")),
    row("commitmentchanges/status", "patch", Placements, Writes(CHANGE, "patch_status")),
    watch("committedresources"),
    list("committedresources"),
    get("committedresources", COMMITMENT),
    row("committedresources", "create", Slots, Writes(COMMITMENT, "create")),
    row("committedresources", "patch", Commitments, Writes(COMMITMENT, "patch")),
    row("committedresources", "delete", SlotStates, Writes(COMMITMENT, "delete")),
    row("committedresources/status", "patch", Maps, Writes(COMMITMENT, "patch_status")),
    watch("datasources"),
    list("datasources"),
    watch("flavorgroupcapacities"),
    list("flavorgroupcapacities"),
    get("flavorgroupcapacities", CAPACITY),
    row("flavorgroupcapacities", "create", Slots, Writes(CAPACITY, "create")),
    row("flavorgroupcapacities", "delete", Deletions, Writes(CAPACITY, "delete")),
    row("flavorgroupcapacities/status", "patch", Commitments, Writes(CAPACITY, "patch_status")),
    row("histories", "list", Background, Logged("histories not read", "cannot list resource")),
    row("histories", "delete", Background, Writes("History", "delete")),
    row("histories", "get", SlotStates, Counted("berth_histories_total", "outcome=\"failed\"")),
    row("histories", "create", Commitments, Writes("History", "create")),
    row("histories/status", "patch", Slots, Writes("History", "patch_status")),
    watch("knowledges"),
    list("knowledges"),
    watch("pipelines"),
    list("pipelines"),
    row("pipelines/status", "patch", Commitments, Writes("Pipeline", "patch_status")),
    watch("projectquotas"),
    list("projectquotas"),
    get("projectquotas", QUOTA),
    row("projectquotas", "create", Commitments, Writes(QUOTA, "create")),
    row("projectquotas", "patch", Slots, Writes(QUOTA, "patch")),
    row("projectquotas", "delete", Placements, Writes(QUOTA, "delete")),
    row("projectquotas/status", "patch", SlotStates, Writes(QUOTA, "patch_status")),
    watch("reservations"),
    list("reservations"),
    get("reservations", SLOT),
    row("reservations", "create", Slots, Writes(SLOT, "create")),
    row("reservations", "patch", Placements, Writes(SLOT, "patch")),
    row("reservations", "delete", Deletions, Writes(SLOT, "delete")),
    row("reservations/status", "patch", SlotStates, Writes(SLOT, "patch_status")),
    watch("hypervisors"),
    list("hypervisors"),
    of(EVENTS, "", row("events", "create", Placements, Counted("berth_events_dropped_total", "cause=\"failed\""))),
    of(EVENTS, "", row("events", "patch", Changes, Counted("berth_events_dropped_total", "cause=\"failed\""))),
    of(LEASES, "", row("leases", "get", Placements, Logged(NO_ELECTION, "cannot get resource"))),
    of(LEASES, "", row("leases", "create", Commitments, Logged(NO_ELECTION, "cannot create resource"))),
    of(LEASES, "", row("leases", "update", Slots, Logged(NO_ELECTION, "cannot update resource"))),
    of(MAPS, "", row("configmaps", "create", Slots, Logged(NOT_PUBLISHED, "cannot create resource"))),
    of(MAPS, CLAIMS, row("configmaps", "get", Maps, Logged(NOT_KEPT, "cannot get resource"))),
    of(MAPS, CLAIMS, row("configmaps", "update", SlotStates, Logged(NOT_KEPT, "cannot update resource"))),
    of(MAPS, INFO, watch("configmaps")),
    of(MAPS, INFO, list("configmaps")),
    of(MAPS, INFO, row("configmaps", "get", Changes, Logged(NOT_PUBLISHED, "cannot get resource"))),
    of(MAPS, INFO, row("configmaps", "update", Placements, Logged(NOT_PUBLISHED, "cannot update resource"))),
];
