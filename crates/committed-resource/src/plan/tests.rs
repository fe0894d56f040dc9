use std::collections::BTreeMap;
use std::future::Future;

use berth_cluster::{FlavorGroupsError, ObjectKey, Partial, RouteError};
use berth_core::commitment::{Spec, State};
use berth_core::host::ConditionStatus;
use berth_core::slot::Slot;
use berth_core::testing::{self, amber, at, gib, spec};
use berth_core::{ClusterName, Cores, Resources};
use berth_crds::CommitmentState;
use berth_crds::conditions::commitment::Reason;
use berth_scheduler::{DryRunPlacement, FilterName, HostCapacity, HostVerdict, Placed, Request, Shortage};
use parking_lot::Mutex;

use super::*;
use crate::block_reason::UnreadableHost;
use crate::facts::{Holding, NameLookup, Ready, Served, Site};

pub(crate) fn now() -> Timestamp {
    at(0)
}

pub(crate) fn facts(amount: &str, slots: Vec<Slot>) -> CommitmentFacts {
    CommitmentFacts {
        name: "commitment-uuid-1".to_owned(),
        cluster: ClusterName::home(),
        generation: 1,
        created: now(),
        deleting: false,
        has_finalizer: !slots.is_empty(),
        spec: spec(amount),
        accepted: None,
        ready: None,
        paused: None,
        belongs_to: None,
        belongs_unread: None,
        served_instead: None,
        holdings: [(ClusterName::home(), holding(slots))].into(),
        site: Ok(site("home")),
        accepted_site: Ok(site("home")),
        forgotten: [].into(),
        taken: NameLookup(std::sync::Arc::new(|_| false)),
        groups: Ok(std::sync::Arc::new([amber()].into_iter().collect())),
        outdated: None,
        free_capacity: BTreeMap::new(),
        vms: Vec::new(),
        disruption_limited: None,
        stopped_end: None,
        shortage: None,
        in_the_way: None,
        change: None,
        undecided: None,
        capacity: crate::facts::Capacity::NoObject,
    }
}

fn holding(slots: Vec<Slot>) -> Holding {
    Holding { slots, read: Ok(berth_cluster::testing::completeness_proof(&ClusterName::home())), shared: false }
}

fn away(cluster: &str, slots: Vec<Slot>) -> (ClusterName, Holding) {
    let read = Ok(berth_cluster::testing::completeness_proof(&cluster.into()));
    (cluster.into(), Holding { slots, read, shared: false })
}

pub(crate) fn site(cluster: &str) -> Site {
    Site { cluster: cluster.into(), hosts_unknown: None, has_hosts: true, host_unreadable: None }
}

pub(crate) fn partial(why: &str) -> Partial {
    Partial { kind: "Reservation".to_owned(), cluster: ClusterName::home(), object: None, why: why.to_owned() }
}

pub(crate) fn no_groups() -> FlavorGroupsError {
    FlavorGroupsError::NotReady
}

/// Not all slots of the cluster can be decoded.
pub(crate) fn unread(mut facts: CommitmentFacts, cluster: &str, why: &str) -> CommitmentFacts {
    let (cluster, new) = away(cluster, vec![]);
    facts.holdings.entry(cluster).or_insert(new).read = Err(partial(why));
    facts
}

pub(crate) fn slot(number: u64, memory: u64, cpu: i64, host: Option<&str>) -> Slot {
    let flavor = match memory {
        60.. => "amber_xl",
        30.. => "amber_l",
        _ => "amber_s",
    };
    testing::slot(number, flavor, (memory, cpu), host.unwrap_or("-"), &[])
}

pub(crate) fn ready_condition(status: ConditionStatus, reason: Reason, message: &str, seconds_ago: i64) -> Ready {
    Ready { status, reason: Some(reason), message: message.to_owned(), observed_generation: 1, since: at(-seconds_ago) }
}

pub(crate) fn shortage() -> Shortage {
    let filter = |step, short| FilterName { step, short };
    Shortage {
        hosts: 24,
        removed: vec![(filter("filter_correct_az", "zone"), 16), (filter("filter_has_enough_capacity", "capacity"), 8)],
        ..Shortage::default()
    }
}

/// A scheduler with free capacity for this many slots, and optionally none for restoring.
#[derive(Default)]
pub(crate) struct FreeSlots {
    slots: usize,
    refuses_pins: bool,
    later: bool,
    log: Mutex<Vec<String>>,
}

impl FreeSlots {
    pub(crate) fn of(slots: usize) -> Self {
        Self { slots, ..Self::default() }
    }

    fn note(&self, what: String) {
        self.log.lock().push(what);
    }
}

impl Scheduler for FreeSlots {
    async fn place_all(&self, proof: &CommitmentRequest) -> Result<Placement, SchedulerError> {
        self.note(format!("place {} release {} shrink {}", proof.slots.len(), proof.release.len(), proof.shrink.len()));
        if self.later {
            return Ok(Placement::Later);
        }
        let hosts: Vec<_> = (0..proof.slots.len()).map(|n| (n < self.slots).then(|| format!("h{n}").into())).collect();
        let shortage = hosts.contains(&None).then(shortage);
        Ok(Placement::Decided { hosts, shortage, used: Vec::new() })
    }

    fn dry_run(
        &self,
        _: &[CommitmentRequest],
    ) -> impl Future<Output = Result<Vec<DryRunPlacement>, SchedulerError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    fn place(&self, _: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send {
        std::future::ready(Ok(Placed::Nowhere(shortage())))
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        self.note(format!("pin {} on {}", pin.key.name, pin.host));
        Ok(!self.refuses_pins)
    }

    fn probe(&self, _: &Request, _: &str) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    fn probe_unranked(
        &self,
        _: &Request,
        _: &str,
    ) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    fn host_capacities(&self) -> Vec<HostCapacity> {
        Vec::new()
    }

    fn free_capacity(&self, _: &HostName) -> Option<Resources> {
        None
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.note(format!("applied {}", keys.len()));
    }

    fn in_doubt(&self, _: &SlotKey) {}

    fn settled(&self, _: &SlotKey) {}

    fn withdraw(&self, _: &SlotKey) {}

    fn verdict(&self, _: &SlotKey) -> HostVerdict {
        HostVerdict::Ok
    }

    fn waiting(&self, _: &SlotKey) -> Option<Shortage> {
        None
    }
}

/// The stub never waits.
pub(crate) fn decided(facts: &mut CommitmentFacts, free: &FreeSlots) -> CommitmentDecision {
    let limits = Limits::default();
    let placing = Placing::default();
    let decide = std::pin::pin!(decide(facts, limits, Ok(now()), free, &placing));
    match decide.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(decided) => decided.unwrap(),
        std::task::Poll::Pending => panic!("the stub does not wait"),
    }
}

fn planned(facts: &CommitmentFacts) -> CommitmentPlan {
    plan(facts, Limits::default(), Ok(now()))
}

fn names(plan: &CommitmentPlan) -> (usize, usize, usize) {
    (plan.slots.release.len() + plan.leave.len(), plan.slots.update.len(), plan.slots.create.len())
}

#[test]
fn the_finalizer_comes_with_the_first_slot() {
    let plan = planned(&facts("150Gi", vec![]));
    assert_eq!((plan.verdict.clone(), plan.finalizer, names(&plan)), (Verdict::Reserve, Finalizer::Add, (0, 0, 3)));
    let nothing = planned(&facts("0", vec![]));
    assert_eq!((nothing.finalizer, nothing.is_empty()), (Finalizer::Leave, true));
}

#[test]
fn a_served_commitment_with_slots_gets_the_finalizer_that_it_lacks() {
    let facts = CommitmentFacts { has_finalizer: false, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((plan.finalizer, plan.slots.is_empty()), (Finalizer::Add, true));
}

#[test]
fn deletion_releases_all_slots_and_then_the_finalizer() {
    let facts = CommitmentFacts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((1, 0, 0), Finalizer::Remove));
}

#[test]
fn deletion_waits_for_a_cluster_that_cannot_be_read() {
    let here = CommitmentFacts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&unread(here.clone(), "remote", "its watch fails"));
    assert_eq!((plan.verdict.clone(), plan.finalizer), (Verdict::Deleting, Finalizer::Leave));
    assert_eq!(plan.leave.iter().map(|leave| leave.name.as_str()).collect::<Vec<_>>(), ["commitment-uuid-1-0"]);
    let unreadable = planned(&unread(here, "home", "its watch fails"));
    assert!(unreadable.is_empty(), "its slots stay as well");
}

#[test]
fn a_cluster_that_was_given_up_does_not_keep_the_finalizer() {
    let here = CommitmentFacts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let facts = CommitmentFacts { forgotten: [ClusterName::home()].into(), ..unread(here, "home", "its watch fails") };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((0, 0, 0), Finalizer::Remove));
    let another = CommitmentFacts { forgotten: ["other".into()].into(), ..facts };
    assert_eq!(planned(&another).finalizer, Finalizer::Leave);
}

#[test]
fn a_duplicate_loses_only_its_finalizer() {
    let other = ObjectKey::new(ClusterName::home(), "commitment-other");
    let served = |protects| Some(Served { key: other.clone(), protects });
    let slots = vec![slot(0, 60, 15, Some("h"))];
    let facts = CommitmentFacts { deleting: true, served_instead: served(true), ..facts("60Gi", slots) };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((0, 0, 0), Finalizer::Remove));
    let unprotected = CommitmentFacts { served_instead: served(false), ..facts.clone() };
    assert_eq!(planned(&unprotected).finalizer, Finalizer::Leave, "no waiting commitment could use the slots");
    let bare = CommitmentFacts { holdings: BTreeMap::new(), ..unprotected };
    assert_eq!(planned(&bare).finalizer, Finalizer::Remove);
    let plan = planned(&CommitmentFacts { deleting: false, ..facts });
    assert_eq!((plan.verdict.clone(), plan.is_empty()), (Verdict::Duplicate(other), true));
}

#[test]
fn a_commitment_in_the_wrong_cluster_keeps_its_slots_and_moves_nothing() {
    let facts = CommitmentFacts { belongs_to: Some("b".into()), ..facts("120Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((plan.verdict.clone(), plan.is_empty()), (Verdict::WrongCluster("b".into()), true));
    let deleted = planned(&CommitmentFacts { deleting: true, ..facts.clone() });
    assert_eq!((names(&deleted), deleted.finalizer), ((1, 0, 0), Finalizer::Remove), "its deletion releases the slots");
    let mut expired = facts;
    expired.spec.state = State::Expired;
    assert_eq!(names(&planned(&expired)), (1, 0, 0), "and so does its end");
}

#[test]
fn a_duplicate_stays_one_while_the_other_object_is_unknown() {
    let why = "its first list is not complete yet";
    let misplaced =
        CommitmentFacts { belongs_to: Some("b".into()), belongs_unread: Some(partial(why)), ..facts("60Gi", vec![]) };
    assert_eq!(planned(&misplaced).verdict, Verdict::WrongCluster("b".into()), "no other condition was ever reported");
    let ready = Some(ready_condition(ConditionStatus::False, Reason::DuplicateUuid, "", 0));
    let mut duplicate =
        CommitmentFacts { ready, holdings: [away("b", vec![slot(0, 60, 15, Some("h"))])].into(), ..misplaced };
    assert_eq!(planned(&duplicate).verdict, Verdict::Unreadable(partial(why).into()));
    duplicate.spec.state = State::Expired;
    assert!(planned(&duplicate).is_empty());
    duplicate.belongs_unread = None;
    assert_eq!(planned(&duplicate).verdict, Verdict::Over(State::Expired), "the other object is gone");
}

#[test]
fn a_zone_in_another_cluster_is_filled_before_the_former_one_is_given_up() {
    let mut facts = CommitmentFacts { has_finalizer: true, ..facts("60Gi", vec![]) };
    facts.holdings.extend([away("b", vec![slot(0, 60, 15, Some("h"))])]);
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.cluster()), ((0, 0, 1), ClusterName::home()), "first the new slots");

    facts.holdings.extend([(ClusterName::home(), holding(vec![slot(1, 60, 15, Some("h2"))]))]);
    assert!(planned(&facts).is_empty(), "the new slots are not ready yet");
    facts.ready = Some(ready_condition(ConditionStatus::True, Reason::Accepted, "", 0));
    let plan = planned(&facts);
    let left: Vec<_> = plan.leave.iter().map(|leave| (leave.proof.cluster().as_str(), leave.name.as_str())).collect();
    assert_eq!((left, names(&plan)), (vec![("b", "commitment-uuid-1-0")], (1, 0, 0)));

    assert!(planned(&unread(facts.clone(), "b", "its watch fails")).is_empty());
    facts.holdings.get_mut(&ClusterName::from("b")).unwrap().shared = true;
    assert!(planned(&facts).is_empty(), "another object of that cluster has the UUID");
}

#[test]
fn what_is_left_to_a_duplicate_in_another_cluster_is_released_only_by_a_deletion() {
    let mut facts = facts("60Gi", vec![slot(0, 60, 15, Some("h"))]);
    let (cluster, mut other) = away("b", vec![slot(1, 60, 15, Some("h"))]);
    other.shared = true;
    facts.holdings.insert(cluster, other);
    facts.spec.state = State::Expired;
    assert_eq!(names(&planned(&facts)), (1, 0, 0));
    facts.spec.state = State::Confirmed;
    facts.spec.allow_rejection = true;
    facts.ready = Some(ready_condition(ConditionStatus::False, Reason::Rejected, "", 0));
    assert_eq!(names(&planned(&facts)), (1, 0, 0));
    facts.deleting = true;
    assert_eq!(names(&planned(&facts)), (2, 0, 0));
}

#[test]
fn a_cluster_that_the_plan_does_not_need_does_not_hinder_it() {
    let facts = unread(facts("60Gi", vec![]), "b", "its watch fails");
    assert_eq!(names(&planned(&facts)), (0, 0, 1));
    let error = RouteError::NotConfigured { gvk: "x".to_owned() };
    let nowhere = CommitmentFacts { site: Err(error.clone()), ..facts };
    assert_eq!(planned(&nowhere).verdict, Verdict::Blocked(error.into()));
}

#[test]
fn what_is_over_or_planned_holds_nothing() {
    let slots = vec![slot(0, 60, 15, Some("h"))];
    for (state, verdict) in [
        (State::Planned, Verdict::Planned),
        (State::Superseded, Verdict::Over(State::Superseded)),
        (State::Expired, Verdict::Over(State::Expired)),
    ] {
        let mut facts = facts("60Gi", slots.clone());
        facts.spec.state = state;
        let plan = planned(&facts);
        assert_eq!((plan.verdict.clone(), names(&plan)), (verdict, (1, 0, 0)));
    }
}

#[test]
fn a_rejection_that_was_written_by_hand_is_not_believed() {
    let forged = || Some(ready_condition(ConditionStatus::False, Reason::Rejected, "", 0));
    let mut facts = CommitmentFacts { ready: forged(), ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    assert_eq!(planned(&facts).verdict, Verdict::Reserve, "it may not be rejected");
    facts.spec.allow_rejection = true;
    facts.accepted = Some(spec("60Gi"));
    assert_eq!(planned(&facts).verdict, Verdict::Reserve, "it was accepted");
    facts.accepted = Some(spec("30Gi"));
    assert_eq!(planned(&facts).verdict, Verdict::RolledBack);
}

#[test]
fn nothing_is_done_on_a_partial_read() {
    for amount in ["0", "60Gi", "600Gi"] {
        let facts = facts(amount, vec![slot(0, 60, 15, Some("h"))]);
        let plan = planned(&unread(facts, "home", "its watch fails"));
        assert!(plan.is_empty() && matches!(plan.verdict, Verdict::Unreadable(_)), "{amount}");
    }
}

#[test]
fn only_a_complete_decision_rejects() {
    let may_reject = |facts: CommitmentFacts| CommitmentFacts {
        spec: Spec { allow_rejection: true, ..facts.spec.clone() },
        ..facts
    };
    let refused = |facts: &CommitmentFacts| match planned(facts).verdict {
        Verdict::Refused { text, retry, .. } => (text, retry),
        other => panic!("{other:?}"),
    };
    let unknown = CommitmentFacts { spec: Spec { group: "none".into(), ..spec("60Gi") }, ..facts("60Gi", vec![]) };
    let text = "flavor group not found: none; spec.flavorGroupName must be one of: amber".to_owned();
    assert_eq!(refused(&unknown), (text.clone(), true));
    assert_eq!(refused(&may_reject(unknown.clone())), (text, false));
    let invalid = CommitmentFacts { spec: Spec { uuid: "x".into(), ..spec("60Gi") }, ..facts("60Gi", vec![]) };
    assert!(!refused(&invalid).1, "an invalid spec is rejected even where rejection is not allowed");
    for (groups, outdated) in [(Err(no_groups()), None), (Ok(std::sync::Arc::default()), Some(no_groups()))] {
        let unreadable = may_reject(CommitmentFacts { groups, outdated, ..facts("60Gi", vec![]) });
        assert_eq!(planned(&unreadable).verdict, Verdict::Blocked(no_groups().into()));
    }
}

#[test]
fn unreadable_flavor_groups_hinder_only_what_needs_one() {
    let complete = vec![slot(0, 60, 15, Some("h"))];
    let with = |amount: &str| CommitmentFacts { groups: Err(no_groups()), ..facts(amount, complete.clone()) };
    assert_eq!(planned(&with("60Gi")).verdict, Verdict::Reserve);
    assert_eq!(names(&planned(&with("40Gi"))), (0, 1, 0), "shrinking needs no flavor group");
    assert_eq!(planned(&with("90Gi")).verdict, Verdict::Blocked(no_groups().into()));
}

#[test]
fn outdated_flavor_groups_keep_what_exists_and_nothing_grows() {
    let with = |amount: &str, accepted: Option<&str>| CommitmentFacts {
        outdated: Some(no_groups()),
        accepted: accepted.map(spec),
        ..facts(amount, vec![slot(0, 60, 15, Some("h"))])
    };
    let blocked = Verdict::Blocked(no_groups().into());
    assert_eq!(planned(&with("90Gi", None)).verdict, blocked, "it is new");
    assert_eq!(planned(&with("90Gi", Some("60Gi"))).verdict, blocked, "it grows");
    assert_eq!(names(&planned(&with("90Gi", Some("90Gi")))), (0, 0, 1), "it has lost a slot");
    assert_eq!(names(&planned(&with("40Gi", Some("90Gi")))), (0, 1, 0));
    assert_eq!(planned(&with("60Gi", None)).verdict, Verdict::Reserve, "it is complete");
}

#[test]
fn hosts_that_are_not_synced_hinder_only_what_needs_one() {
    let with = |amount: &str| CommitmentFacts {
        site: Ok(Site { hosts_unknown: Some(partial("")), ..site("home") }),
        ..facts(amount, vec![slot(0, 60, 15, Some("h"))])
    };
    assert_eq!(planned(&with("60Gi")).verdict, Verdict::Reserve);
    assert!(matches!(planned(&with("90Gi")).verdict, Verdict::Blocked(_)));
}

/// A typo in the zone of a commitment must not cost it its slots.
#[test]
fn a_zone_without_hosts_releases_nothing() {
    let held = || vec![slot(0, 60, 15, Some("h"))];
    let nowhere = || Ok(Site { has_hosts: false, ..site("home") });
    let mut moved = CommitmentFacts { accepted: Some(spec("60Gi")), site: nowhere(), ..facts("60Gi", held()) };
    moved.spec.zone = "az-typo".into();
    let text = "no host is in zone az-typo: correct spec.availabilityZone, or label hosts with it";
    let refused = |retry| Verdict::Refused { text: text.to_owned(), retry, limit: None };
    let plan = planned(&moved);
    assert_eq!((plan.verdict.clone(), plan.is_empty()), (refused(true), true));
    moved.spec.allow_rejection = true;
    assert_eq!(planned(&moved).verdict, refused(false));
    let host_unreadable = Some(UnreadableHost { name: "node-7".to_owned(), error: "x".to_owned() });
    moved.site = Ok(Site { host_unreadable, has_hosts: false, ..site("home") });
    assert_eq!(planned(&moved).verdict, refused(true), "it may be in that zone");
    for (amount, planned_slots) in [("60Gi", (0, 0, 0)), ("40Gi", (0, 1, 0)), ("0", (1, 0, 0))] {
        let complete = CommitmentFacts { site: nowhere(), ..facts(amount, held()) };
        let plan = planned(&complete);
        assert_eq!((plan.verdict.clone(), names(&plan)), (Verdict::Reserve, planned_slots), "{amount}");
    }
    let new = CommitmentFacts { site: nowhere(), ..facts("60Gi", vec![]) };
    assert_eq!(names(&planned(&new)), (0, 0, 1), "it holds nothing that it could lose");
}

#[test]
fn an_accepted_commitment_stays_accepted() {
    let mut facts = facts("60Gi", vec![]);
    facts.spec.allow_rejection = true;
    assert!(facts.may_reject());
    facts.accepted = Some(spec("60Gi"));
    assert!(!facts.may_reject());
    facts.accepted = Some(spec("59Gi"));
    assert!(facts.may_reject());
}

#[test]
fn rejected_spec_leaves_what_was_accepted() {
    let rejected = Some(ready_condition(ConditionStatus::False, Reason::Rejected, "insufficient capacity", 0));
    let slots = vec![slot(0, 30, 10, Some("h")), slot(1, 60, 15, None)];
    let mut facts = CommitmentFacts { ready: rejected, accepted: Some(spec("30Gi")), ..facts("90Gi", slots) };
    facts.spec.allow_rejection = true;
    let plan = planned(&facts);
    assert_eq!(plan.verdict, Verdict::RolledBack);
    assert_eq!(plan.slots.release[0].name.as_str(), "commitment-uuid-1-1");
    assert_eq!(names(&plan), (1, 0, 0));
    let without = planned(&CommitmentFacts { accepted: None, ..facts.clone() });
    assert_eq!(names(&without), (2, 0, 0), "nothing was accepted before");
    let unreadable = planned(&CommitmentFacts { groups: Err(no_groups()), ..facts });
    assert_eq!(unreadable.slots, plan.slots, "the accepted slots stay");
}

#[test]
fn the_slot_limit_holds_only_where_rejection_is_allowed() {
    let limits = Limits { max_new_slots: Some(2) };
    let mut facts = facts("150Gi", vec![]);
    assert_eq!(plan(&facts, limits, Ok(now())).verdict, Verdict::Reserve);
    facts.spec.allow_rejection = true;
    let text = "commitment would create 3 new reservation slots, exceeds limit of 2".to_owned();
    let limit = Some(("amber".into(), "az-a".into()));
    assert_eq!(plan(&facts, limits, Ok(now())).verdict, Verdict::Refused { text, retry: false, limit });
}

#[test]
fn a_roll_back_that_does_not_fit_is_not_refused_but_keeps_what_fits() {
    let ready = Some(ready_condition(ConditionStatus::False, Reason::Rejected, "insufficient capacity", 0));
    let mut facts = CommitmentFacts { ready, accepted: Some(spec("60Gi")), ..facts("90Gi", vec![]) };
    facts.spec.allow_rejection = true;
    let decided = decided(&mut facts, &FreeSlots::of(0));
    assert_eq!(decided.plan.verdict, Verdict::RolledBack);
    assert!(decided.shortage.is_some() && !decided.is_refused(&facts));
}

#[test]
fn a_whole_that_fits_gets_hosts() {
    let mut facts = facts("150Gi", vec![]);
    let decided = decided(&mut facts, &FreeSlots::of(3));
    assert_eq!(decided.hosts.iter().flatten().count(), 3);
    assert_eq!((decided.assumed.len(), decided.is_refused(&facts)), (3, false));
}

#[test]
fn a_whole_that_does_not_fit_is_refused_where_rejection_is_allowed() {
    let mut facts = facts("150Gi", vec![slot(0, 60, 15, Some("h"))]);
    let partly = decided(&mut facts, &FreeSlots::of(1));
    assert!(!partly.is_refused(&facts), "slots that fit are created with a host, the rest without");
    facts.spec.allow_rejection = true;
    let refused = decided(&mut facts, &FreeSlots::of(1));
    assert!(refused.is_refused(&facts));
    assert_eq!((refused.could_be_placed(&facts), refused.plan.slots.total()), (2, 3));
}

#[test]
fn an_external_scheduler_places_later() {
    let mut facts = facts("150Gi", vec![]);
    facts.spec.allow_rejection = true;
    let decided = decided(&mut facts, &FreeSlots { later: true, ..FreeSlots::default() });
    assert_eq!((decided.hosts.len(), decided.is_refused(&facts)), (3, false));
}

#[test]
fn what_the_plan_releases_counts_as_free() {
    let mut moved = slot(0, 60, 15, Some("h"));
    moved.zone = "az-b".into();
    let mut facts = facts("60Gi", vec![moved]);
    let free = FreeSlots::of(1);
    decided(&mut facts, &free);
    assert_eq!(*free.log.lock(), ["place 1 release 1 shrink 0"]);
}

#[test]
fn pure_shrinking_asks_for_no_host() {
    let mut facts = facts("100Gi", vec![slot(0, 60, 15, Some("h1")), slot(1, 60, 15, Some("h2"))]);
    facts.spec.allow_rejection = true;
    let free = FreeSlots::of(0);
    let decided = decided(&mut facts, &free);
    assert_eq!(names(&decided.plan), (0, 1, 0));
    assert!(!decided.is_refused(&facts) && free.log.lock().is_empty());
}

#[test]
fn a_refused_restoring_is_planned_again_without_that_slot() {
    let mut small = slot(0, 40, 10, Some("h1"));
    small.flavor = "amber_xl".into();
    let mut facts = facts("60Gi", vec![small]);
    facts.free_capacity = [("h1".into(), Resources::new(gib(100), Cores::new(100)))].into();
    let free = FreeSlots { refuses_pins: true, ..FreeSlots::of(9) };
    let decided = decided(&mut facts, &free);
    assert_eq!(names(&decided.plan), (0, 0, 2), "12 and 8 GiB instead of restoring");
    let log = free.log.lock();
    assert_eq!(*log, ["pin commitment-uuid-1-0 on h1", "applied 1", "place 2 release 0 shrink 0"]);
}

#[test]
fn planning_again_plans_nothing() {
    let slots = vec![slot(0, 60, 15, Some("h1")), slot(1, 60, 15, Some("h2")), slot(2, 30, 10, Some("h1"))];
    assert!(planned(&facts("150Gi", slots)).is_empty());
}

#[test]
fn requests_carry_rank_size_and_request_id() {
    let mut facts = facts("105Gi", vec![]);
    let plan = planned(&facts);
    let placing = Placing { pipeline: "p".to_owned(), domain_name: None, request_id: "req-1".to_owned() };
    let proof = whole_request(&facts, &plan, &placing);
    let last = &proof.slots[3];
    assert_eq!((last.rank.number, last.rank.created_unix), (3, now().as_second()));
    assert_eq!(last.size, Resources::new(gib(3), Cores::new(1)));
    assert_eq!((last.request_id.as_str(), last.pipeline.as_str()), ("req-1", "p"));
    assert!(!proof.all_or_nothing);
    facts.spec.allow_rejection = true;
    assert!(whole_request(&facts, &plan, &placing).all_or_nothing);
}

mod around_vms;
mod clock;
mod old_data;
