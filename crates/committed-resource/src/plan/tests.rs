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
use berth_scheduler::{FilterName, Placed, Request, Shortage, Verdict};
use parking_lot::Mutex;

use super::*;
use crate::facts::{Holding, Ready, Served, Site, Taken};

pub(crate) fn now() -> Timestamp {
    at(0)
}

pub(crate) fn facts(amount: &str, slots: Vec<Slot>) -> Facts {
    Facts {
        name: "commitment-uuid-1".to_owned(),
        cluster: ClusterName::home(),
        generation: 1,
        created: now(),
        deleting: false,
        has_finalizer: !slots.is_empty(),
        spec: spec(amount),
        accepted: None,
        ready: None,
        frozen: None,
        belongs_to: None,
        belongs_unread: None,
        served_instead: None,
        holdings: [(ClusterName::home(), holding(slots))].into(),
        site: Ok(site("home")),
        accepted_site: Ok(site("home")),
        forgotten: [].into(),
        taken: Taken(std::sync::Arc::new(|_| false)),
        groups: Ok(std::sync::Arc::new([amber()].into_iter().collect())),
        outdated: None,
        room: BTreeMap::new(),
        shortage: None,
        capacity: crate::facts::Capacity::NoObject,
    }
}

/// All slots of the cluster `home`.
fn holding(slots: Vec<Slot>) -> Holding {
    Holding { slots, read: Ok(berth_cluster::testing::whole(&ClusterName::home())), shared: false }
}

/// Slots of another cluster.
fn away(cluster: &str, slots: Vec<Slot>) -> (ClusterName, Holding) {
    let read = Ok(berth_cluster::testing::whole(&cluster.into()));
    (cluster.into(), Holding { slots, read, shared: false })
}

pub(crate) fn site(cluster: &str) -> Site {
    Site { cluster: cluster.into(), hosts_unknown: None, host_unreadable: None }
}

/// Something is not completely known.
pub(crate) fn partial(why: &str) -> Partial {
    Partial { kind: "Reservation".to_owned(), cluster: ClusterName::home(), object: None, why: why.to_owned() }
}

pub(crate) fn no_groups() -> FlavorGroupsError {
    FlavorGroupsError::NotReady
}

/// The slots of the cluster cannot be read completely.
pub(crate) fn unread(mut facts: Facts, cluster: &str, why: &str) -> Facts {
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

pub(crate) fn said(status: ConditionStatus, reason: Reason, message: &str, seconds_ago: i64) -> Ready {
    Ready { status, reason: Some(reason), message: message.to_owned(), observed_generation: 1, since: at(-seconds_ago) }
}

pub(crate) fn shortage() -> Shortage {
    let filter = |step, short| FilterName { step, short };
    Shortage {
        hosts: 24,
        removed: vec![(filter("filter_correct_az", "zone"), 16), (filter("filter_has_enough_capacity", "capacity"), 8)],
        unreadable: vec![],
    }
}

/// A scheduler with room for so many slots, and none for restoring when it is told so.
#[derive(Default)]
pub(crate) struct Room {
    slots: usize,
    refuses_pins: bool,
    later: bool,
    log: Mutex<Vec<String>>,
}

impl Room {
    pub(crate) fn of(slots: usize) -> Self {
        Self { slots, ..Self::default() }
    }

    fn note(&self, what: String) {
        self.log.lock().push(what);
    }
}

impl Scheduler for Room {
    async fn place_all(&self, whole: &WholeRequest) -> Result<Placement, SchedulerError> {
        self.note(format!("place {} release {} shrink {}", whole.slots.len(), whole.release.len(), whole.shrink.len()));
        if self.later {
            return Ok(Placement::Later);
        }
        let hosts: Vec<_> = (0..whole.slots.len()).map(|n| (n < self.slots).then(|| format!("h{n}").into())).collect();
        let shortage = hosts.contains(&None).then(shortage);
        Ok(Placement::Decided { hosts, shortage })
    }

    fn place(&self, _: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send {
        std::future::ready(Ok(Placed::Nowhere(shortage())))
    }

    async fn pin(&self, pin: &Pin) -> Result<bool, SchedulerError> {
        self.note(format!("pin {} on {}", pin.key.name, pin.host));
        Ok(!self.refuses_pins)
    }

    fn probe(&self, _: &Request) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    fn room(&self, _: &HostName) -> Option<Resources> {
        None
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.note(format!("applied {}", keys.len()));
    }

    fn in_doubt(&self, _: &SlotKey) {}

    fn settled(&self, _: &SlotKey) {}

    fn withdraw(&self, _: &SlotKey) {}

    fn verdict(&self, _: &SlotKey) -> Verdict {
        Verdict::Ok
    }

    fn waiting(&self, _: &SlotKey) -> Option<Shortage> {
        None
    }
}

/// The stub never waits.
pub(crate) fn decided(facts: &mut Facts, room: &Room) -> Decided {
    let limits = Limits::default();
    let placing = Placing::default();
    let decide = std::pin::pin!(decide(facts, limits, now(), room, &placing));
    match decide.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(decided) => decided.unwrap(),
        std::task::Poll::Pending => panic!("the stub does not wait"),
    }
}

fn planned(facts: &Facts) -> Plan {
    plan(facts, Limits::default(), now())
}

fn names(plan: &Plan) -> (usize, usize, usize) {
    (plan.slots.release.len() + plan.leave.len(), plan.slots.update.len(), plan.slots.create.len())
}

#[test]
fn d1_the_finalizer_comes_with_the_first_slot() {
    let plan = planned(&facts("150Gi", vec![]));
    assert_eq!((plan.course.clone(), plan.finalizer, names(&plan)), (Course::Reserve, Finalizer::Add, (0, 0, 3)));
    let nothing = planned(&facts("0", vec![]));
    assert_eq!((nothing.finalizer, nothing.is_empty()), (Finalizer::Leave, true));
}

#[test]
fn u50_a_served_commitment_with_slots_gets_the_finalizer_that_it_lacks() {
    let facts = Facts { has_finalizer: false, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((plan.finalizer, plan.slots.is_empty()), (Finalizer::Add, true));
}

#[test]
fn d1_deletion_releases_all_slots_and_then_the_finalizer() {
    let facts = Facts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((1, 0, 0), Finalizer::Remove));
}

#[test]
fn d1_deletion_waits_for_a_cluster_that_cannot_be_read() {
    let here = Facts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&unread(here.clone(), "remote", "its watch fails"));
    assert_eq!((plan.course.clone(), plan.finalizer), (Course::Deleting, Finalizer::Leave));
    assert_eq!(plan.leave.iter().map(|leave| leave.name.as_str()).collect::<Vec<_>>(), ["commitment-uuid-1-0"]);
    let unreadable = planned(&unread(here, "home", "its watch fails"));
    assert!(unreadable.is_empty(), "its slots stay as well");
}

#[test]
fn d1_a_cluster_that_was_given_up_does_not_keep_the_finalizer() {
    let here = Facts { deleting: true, ..facts("60Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let facts = Facts { forgotten: [ClusterName::home()].into(), ..unread(here, "home", "its watch fails") };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((0, 0, 0), Finalizer::Remove));
    let another = Facts { forgotten: ["other".into()].into(), ..facts };
    assert_eq!(planned(&another).finalizer, Finalizer::Leave);
}

#[test]
fn d1_a_duplicate_loses_only_its_finalizer() {
    let other = ObjectKey::new(ClusterName::home(), "commitment-other");
    let served = |protects| Some(Served { key: other.clone(), protects });
    let slots = vec![slot(0, 60, 15, Some("h"))];
    let facts = Facts { deleting: true, served_instead: served(true), ..facts("60Gi", slots) };
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.finalizer), ((0, 0, 0), Finalizer::Remove));
    let unprotected = Facts { served_instead: served(false), ..facts.clone() };
    assert_eq!(
        planned(&unprotected).finalizer,
        Finalizer::Leave,
        "the slots would belong to nobody who waits for them"
    );
    let bare = Facts { holdings: BTreeMap::new(), ..unprotected };
    assert_eq!(planned(&bare).finalizer, Finalizer::Remove);
    let plan = planned(&Facts { deleting: false, ..facts });
    assert_eq!((plan.course.clone(), plan.is_empty()), (Course::Duplicate(other), true));
}

#[test]
fn d1_a_commitment_in_the_wrong_cluster_keeps_its_slots_and_moves_nothing() {
    let facts = Facts { belongs_to: Some("b".into()), ..facts("120Gi", vec![slot(0, 60, 15, Some("h"))]) };
    let plan = planned(&facts);
    assert_eq!((plan.course.clone(), plan.is_empty()), (Course::WrongCluster("b".into()), true));
    let deleted = planned(&Facts { deleting: true, ..facts.clone() });
    assert_eq!((names(&deleted), deleted.finalizer), ((1, 0, 0), Finalizer::Remove), "its deletion releases them");
    let mut expired = facts;
    expired.spec.state = State::Expired;
    assert_eq!(names(&planned(&expired)), (1, 0, 0), "and so does its end");
}

#[test]
fn u14_a_duplicate_stays_one_while_nobody_knows_of_the_other() {
    let why = "its first list is not complete yet";
    let misplaced = Facts { belongs_to: Some("b".into()), belongs_unread: Some(partial(why)), ..facts("60Gi", vec![]) };
    assert_eq!(planned(&misplaced).course, Course::WrongCluster("b".into()), "nothing else was ever said");
    let ready = Some(said(ConditionStatus::False, Reason::DuplicateUuid, "", 0));
    let mut duplicate = Facts { ready, holdings: [away("b", vec![slot(0, 60, 15, Some("h"))])].into(), ..misplaced };
    assert_eq!(planned(&duplicate).course, Course::Unreadable(partial(why).into()));
    duplicate.spec.state = State::Expired;
    assert!(planned(&duplicate).is_empty());
    duplicate.belongs_unread = None;
    assert_eq!(planned(&duplicate).course, Course::Over(State::Expired), "the other one is gone");
}

#[test]
fn a_zone_in_another_cluster_is_filled_before_the_former_one_is_given_up() {
    let mut facts = Facts { has_finalizer: true, ..facts("60Gi", vec![]) };
    facts.holdings.extend([away("b", vec![slot(0, 60, 15, Some("h"))])]);
    let plan = planned(&facts);
    assert_eq!((names(&plan), plan.cluster()), ((0, 0, 1), ClusterName::home()), "first the new slots");

    facts.holdings.extend([(ClusterName::home(), holding(vec![slot(1, 60, 15, Some("h2"))]))]);
    assert!(planned(&facts).is_empty(), "they are not in force yet");
    facts.ready = Some(said(ConditionStatus::True, Reason::Accepted, "", 0));
    let plan = planned(&facts);
    let left: Vec<_> = plan.leave.iter().map(|leave| (leave.whole.cluster().as_str(), leave.name.as_str())).collect();
    assert_eq!((left, names(&plan)), (vec![("b", "commitment-uuid-1-0")], (1, 0, 0)));

    assert!(planned(&unread(facts.clone(), "b", "its watch fails")).is_empty(), "U47");
    facts.holdings.get_mut(&ClusterName::from("b")).unwrap().shared = true;
    assert!(planned(&facts).is_empty(), "another object of that cluster has the UUID");
}

#[test]
fn u14_what_is_left_to_a_duplicate_in_another_cluster_is_released_only_by_a_deletion() {
    let mut facts = facts("60Gi", vec![slot(0, 60, 15, Some("h"))]);
    let (cluster, mut other) = away("b", vec![slot(1, 60, 15, Some("h"))]);
    other.shared = true;
    facts.holdings.insert(cluster, other);
    facts.spec.state = State::Expired;
    assert_eq!(names(&planned(&facts)), (1, 0, 0));
    facts.spec.state = State::Confirmed;
    facts.ready = Some(said(ConditionStatus::False, Reason::Rejected, "", 0));
    assert_eq!(names(&planned(&facts)), (1, 0, 0));
    facts.deleting = true;
    assert_eq!(names(&planned(&facts)), (2, 0, 0));
}

#[test]
fn u47_a_cluster_that_the_plan_does_not_need_does_not_hinder_it() {
    let facts = unread(facts("60Gi", vec![]), "b", "its watch fails");
    assert_eq!(names(&planned(&facts)), (0, 0, 1));
    let error = RouteError::NotConfigured { gvk: "x".to_owned() };
    let nowhere = Facts { site: Err(error.clone()), ..facts };
    assert_eq!(planned(&nowhere).course, Course::Hindered(error.into()));
}

#[test]
fn document_20_section_6_what_is_over_or_planned_holds_nothing() {
    let slots = vec![slot(0, 60, 15, Some("h"))];
    for (state, course) in [
        (State::Planned, Course::Planned),
        (State::Superseded, Course::Over(State::Superseded)),
        (State::Expired, Course::Over(State::Expired)),
    ] {
        let mut facts = facts("60Gi", slots.clone());
        facts.spec.state = state;
        let plan = planned(&facts);
        assert_eq!((plan.course.clone(), names(&plan)), (course, (1, 0, 0)));
    }
}

#[test]
fn u38_expiry_is_not_taken_back_by_a_clock() {
    let expired = said(ConditionStatus::False, Reason::Inactive(CommitmentState::Expired), "", 0);
    let facts = Facts { ready: Some(expired), ..facts("60Gi", vec![]) };
    assert_eq!(planned(&facts).course, Course::Over(State::Expired));
    assert_eq!(planned(&Facts { generation: 2, ..facts }).course, Course::Reserve, "a new spec is a new commitment");
}

#[test]
fn u47_nothing_is_done_on_a_partial_read() {
    for amount in ["0", "60Gi", "600Gi"] {
        let facts = facts(amount, vec![slot(0, 60, 15, Some("h"))]);
        let plan = planned(&unread(facts, "home", "its watch fails"));
        assert!(plan.is_empty() && matches!(plan.course, Course::Unreadable(_)), "{amount}");
    }
}

#[test]
fn u37_what_rejects() {
    let may_reject = |facts: Facts| Facts { spec: Spec { allow_rejection: true, ..facts.spec.clone() }, ..facts };
    let refused = |facts: &Facts| match planned(facts).course {
        Course::Refused { text, retry, .. } => (text, retry),
        other => panic!("{other:?}"),
    };
    let unknown = Facts { spec: Spec { group: "none".into(), ..spec("60Gi") }, ..facts("60Gi", vec![]) };
    let text = "flavor group not found: none; spec.flavorGroupName must be one of: amber".to_owned();
    assert_eq!(refused(&unknown), (text.clone(), true));
    assert_eq!(refused(&may_reject(unknown.clone())), (text, false));
    let invalid = Facts { spec: Spec { uuid: "x".into(), ..spec("60Gi") }, ..facts("60Gi", vec![]) };
    assert!(!refused(&invalid).1, "an invalid spec is rejected even where rejection is not allowed");
    for (groups, outdated) in [(Err(no_groups()), None), (Ok(std::sync::Arc::default()), Some(no_groups()))] {
        let unreadable = may_reject(Facts { groups, outdated, ..facts("60Gi", vec![]) });
        assert_eq!(planned(&unreadable).course, Course::Hindered(no_groups().into()));
    }
}

#[test]
fn unreadable_flavor_groups_hinder_only_what_needs_one() {
    let complete = vec![slot(0, 60, 15, Some("h"))];
    let with = |amount: &str| Facts { groups: Err(no_groups()), ..facts(amount, complete.clone()) };
    assert_eq!(planned(&with("60Gi")).course, Course::Reserve);
    assert_eq!(names(&planned(&with("40Gi"))), (0, 1, 0), "U44: shrinking needs nothing");
    assert_eq!(planned(&with("90Gi")).course, Course::Hindered(no_groups().into()));
}

#[test]
fn u37_hosts_that_are_not_followed_hinder_only_what_needs_one() {
    let with = |amount: &str| Facts {
        site: Ok(Site { hosts_unknown: Some(partial("")), ..site("home") }),
        ..facts(amount, vec![slot(0, 60, 15, Some("h"))])
    };
    assert_eq!(planned(&with("60Gi")).course, Course::Reserve);
    assert!(matches!(planned(&with("90Gi")).course, Course::Hindered(_)));
}

#[test]
fn u12_acceptance_sticks() {
    let mut facts = facts("60Gi", vec![]);
    facts.spec.allow_rejection = true;
    assert!(facts.may_reject());
    facts.accepted = Some(spec("60Gi"));
    assert!(!facts.may_reject());
    facts.accepted = Some(spec("59Gi"));
    assert!(facts.may_reject());
}

#[test]
fn document_20_section_8_3_a_rejected_spec_leaves_what_was_accepted() {
    let rejected = Some(said(ConditionStatus::False, Reason::Rejected, "insufficient capacity", 0));
    let slots = vec![slot(0, 30, 10, Some("h")), slot(1, 60, 15, None)];
    let facts = Facts { ready: rejected, accepted: Some(spec("30Gi")), ..facts("90Gi", slots) };
    let plan = planned(&facts);
    assert_eq!(plan.course, Course::RolledBack);
    assert_eq!(plan.slots.release[0].name.as_str(), "commitment-uuid-1-1");
    assert_eq!(names(&plan), (1, 0, 0));
    let without = planned(&Facts { accepted: None, ..facts.clone() });
    assert_eq!(names(&without), (2, 0, 0), "nothing was accepted before");
    let unreadable = planned(&Facts { groups: Err(no_groups()), ..facts });
    assert_eq!(unreadable.slots, plan.slots, "document 20 section 19 no. 4: what was accepted stays");
}

#[test]
fn document_20_section_8_1_the_slot_limit_holds_only_where_rejection_is_allowed() {
    let limits = Limits { max_new_slots: Some(2) };
    let mut facts = facts("150Gi", vec![]);
    assert_eq!(plan(&facts, limits, now()).course, Course::Reserve);
    facts.spec.allow_rejection = true;
    let text = "commitment would create 3 new reservation slots, exceeds limit of 2".to_owned();
    let limit = Some(("amber".into(), "az-a".into()));
    assert_eq!(plan(&facts, limits, now()).course, Course::Refused { text, retry: false, limit });
}

#[test]
fn d13_a_roll_back_that_does_not_fit_is_not_refused_but_keeps_what_fits() {
    let ready = Some(said(ConditionStatus::False, Reason::Rejected, "insufficient capacity", 0));
    let mut facts = Facts { ready, accepted: Some(spec("60Gi")), ..facts("90Gi", vec![]) };
    facts.spec.allow_rejection = true;
    let decided = decided(&mut facts, &Room::of(0));
    assert_eq!(decided.plan.course, Course::RolledBack);
    assert!(decided.shortage.is_some() && !decided.is_refused(&facts));
}

#[test]
fn d13_a_whole_that_fits_gets_hosts() {
    let mut facts = facts("150Gi", vec![]);
    let decided = decided(&mut facts, &Room::of(3));
    assert_eq!(decided.hosts.iter().flatten().count(), 3);
    assert_eq!((decided.assumed.len(), decided.is_refused(&facts)), (3, false));
}

#[test]
fn d13_a_whole_that_does_not_fit_is_refused_where_rejection_is_allowed() {
    let mut facts = facts("150Gi", vec![slot(0, 60, 15, Some("h"))]);
    let partly = decided(&mut facts, &Room::of(1));
    assert!(!partly.is_refused(&facts), "what fits is created with a host, the rest without");
    facts.spec.allow_rejection = true;
    let refused = decided(&mut facts, &Room::of(1));
    assert!(refused.is_refused(&facts));
    assert_eq!((refused.could_be_placed(&facts), refused.plan.slots.total()), (2, 3));
}

#[test]
fn d13_an_external_scheduler_places_later() {
    let mut facts = facts("150Gi", vec![]);
    facts.spec.allow_rejection = true;
    let decided = decided(&mut facts, &Room { later: true, ..Room::default() });
    assert_eq!((decided.hosts.len(), decided.is_refused(&facts)), (3, false));
}

#[test]
fn u44_what_the_plan_releases_counts_as_free() {
    let mut moved = slot(0, 60, 15, Some("h"));
    moved.zone = "az-b".into();
    let mut facts = facts("60Gi", vec![moved]);
    let room = Room::of(1);
    decided(&mut facts, &room);
    assert_eq!(*room.log.lock(), ["place 1 release 1 shrink 0"]);
}

#[test]
fn u44_pure_shrinking_asks_nobody() {
    let mut facts = facts("100Gi", vec![slot(0, 60, 15, Some("h1")), slot(1, 60, 15, Some("h2"))]);
    facts.spec.allow_rejection = true;
    let room = Room::of(0);
    let decided = decided(&mut facts, &room);
    assert_eq!(names(&decided.plan), (0, 1, 0));
    assert!(!decided.is_refused(&facts) && room.log.lock().is_empty());
}

#[test]
fn u41_a_refused_restoring_is_planned_again_without_that_slot() {
    let mut small = slot(0, 40, 10, Some("h1"));
    small.flavor = "amber_xl".into();
    let mut facts = facts("60Gi", vec![small]);
    facts.room = [("h1".into(), Resources::new(gib(100), Cores::new(100)))].into();
    let room = Room { refuses_pins: true, ..Room::of(9) };
    let decided = decided(&mut facts, &room);
    assert_eq!(names(&decided.plan), (0, 0, 2), "12 and 8 GiB instead of restoring");
    let log = room.log.lock();
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
    let whole = whole_request(&facts, &plan, &placing);
    let last = &whole.slots[3];
    assert_eq!((last.rank.number, last.rank.created_unix), (3, now().as_second()));
    assert_eq!(last.size, Resources::new(gib(3), Cores::new(1)), "U7");
    assert_eq!((last.request_id.as_str(), last.pipeline.as_str()), ("req-1", "p"));
    assert!(!whole.all_or_nothing);
    facts.spec.allow_rejection = true;
    assert!(whole_request(&facts, &plan, &placing).all_or_nothing);
}

mod old_data;
