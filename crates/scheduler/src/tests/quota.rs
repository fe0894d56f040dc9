//! The filter of quota: its decisions with their numbers, what counts, and when it removes hosts.

use std::sync::Arc;
use std::time::Duration;

use berth_core::quota::Amounts;
use berth_core::{GroupName, Zone};
use jiff::Timestamp;
use proptest::prelude::*;

use super::answers::at;
use super::*;
use crate::budget::CountedVms;
use crate::quota_check::{check, needed};
use crate::{
    BudgetChange, Call, CommittedRam, GroupQuota, Options, Param, Pipelines, Promises, QuotaDecision, QuotaFigures,
    QuotaResource, QuotaVerdict, ResourceFigures, ResourceQuota,
};

const FILTER: &str = "filter_quota_enforcement";

/// A request of project p in zone az for a flavor of group g1.
fn asks(memory_mib: u64, vcpus: u32) -> Request {
    let request = request(vcpus, memory_mib, &[("quota:hw_version", "g1")]);
    Request { project: "p".into(), zone: "az".into(), ..request }
}

fn limit(quota: impl Into<Option<i64>>, used: i64) -> ResourceQuota {
    ResourceQuota { quota: quota.into(), used }
}

/// 100 GiB of which 20 are used, 50 cores of which 44 are used.
fn usual() -> GroupQuota {
    GroupQuota { ram: limit(100, 20), cores: limit(50, 44), instances: limit(None, 0) }
}

fn quota(quota: GroupQuota) -> BudgetChange {
    BudgetChange::Quota("p".into(), "az".into(), Some([("g1".into(), quota)].into()))
}

fn committed(name: &str, amount_gib: i64, used_gib: i64) -> BudgetChange {
    commitment(name, ram(amount_gib, used_gib))
}

fn commitment(name: &str, ram: CommittedRam) -> BudgetChange {
    BudgetChange::Commitment((ClusterName::home(), name.into()), Some(ram))
}

fn ram(amount_gib: i64, used_gib: i64) -> CommittedRam {
    let (project, zone, group) = ("p".into(), "az".into(), "g1".into());
    CommittedRam { project, zone, group, amount_gib, used_gib, start: None, end: None }
}

/// Hosts h1 and h2 in zone az, with these budgets.
fn cloud(budgets: impl IntoIterator<Item = BudgetChange>) -> Fleet {
    let mut fleet = fleet(&["h1", "h2"].map(|name| host(name, gib(200, 2000))), &[]);
    budgets.into_iter().for_each(|change| fleet.budgets.change(change));
    fleet
}

fn step(enforce: bool) -> StepSpec {
    let param = Param { key: "enforce".to_owned(), bool_value: Some(enforce), ..Param::default() };
    StepSpec::new(FILTER).with(param)
}

/// What the filter decides, and the hosts that it keeps.
fn enforced(request: &Request, fleet: &Fleet) -> (QuotaVerdict, usize) {
    let decision = run(&pipeline(&[step(true)], &[]), request, fleet).unwrap();
    (decision.quota.unwrap(), decision.hosts.len())
}

fn decides(request: &Request, fleet: &Fleet) -> (QuotaDecision, Option<QuotaResource>) {
    let (verdict, hosts) = enforced(request, fleet);
    assert_eq!(hosts == 0, verdict.decision == QuotaDecision::Reject, "{verdict:?}");
    (verdict.decision, verdict.resource)
}

fn rejected(resource: QuotaResource) -> (QuotaDecision, Option<QuotaResource>) {
    (QuotaDecision::Reject, Some(resource))
}

const PAYG: (QuotaDecision, Option<QuotaResource>) = (QuotaDecision::AcceptPayg, None);
const BY_COMMITMENT: (QuotaDecision, Option<QuotaResource>) = (QuotaDecision::AcceptCr, Some(QuotaResource::Ram));

#[test]
fn a_commitment_with_enough_ram_accepts_and_else_the_quota_decides() {
    let fleet = cloud([quota(usual()), committed("c1", 40, 10)]);
    assert_eq!(decides(&asks(30_720, 4), &fleet), BY_COMMITMENT, "30 of 30 GiB");
    assert_eq!(decides(&asks(30_720, 8), &fleet), BY_COMMITMENT, "cores are not checked then");
    assert_eq!(decides(&asks(32_768, 4), &fleet), PAYG, "32 of 40 GiB, 4 of 6 cores");
    assert_eq!(decides(&asks(32_768, 8), &fleet), rejected(QuotaResource::Cores), "8 of 6 cores");
    // A flavor counts as it is declared: 64 GiB, not 65.
    assert_eq!(decides(&asks(65_537, 1), &fleet), rejected(QuotaResource::Ram), "64 of 40 GiB");
    let evacuated = with_intent(asks(65_536, 1), Intent::Evacuate);
    assert_eq!(decides(&evacuated, &fleet), (QuotaDecision::AcceptSkippedIntentMigration, None));
}

#[test]
fn ram_counts_as_the_flavor_is_declared() {
    let fleet = cloud([quota(GroupQuota { ram: limit(32, 0), ..GroupQuota::default() })]);
    assert_eq!(decides(&asks(32 * 1024 - 16, 1), &fleet), PAYG);
    assert_eq!(decides(&asks(33 * 1024 - 16, 1), &fleet), rejected(QuotaResource::Ram));
    let two = Request { instances: 2, ..asks(16 * 1024 - 16, 1) };
    assert_eq!(decides(&two, &fleet), PAYG, "2 times 16 GiB");
    assert_eq!(decides(&Request { instances: 3, ..two }, &fleet), rejected(QuotaResource::Ram));
}

#[test]
fn the_verdict_has_the_numbers() {
    let fleet = cloud([quota(usual()), committed("c1", 40, 10)]);
    let (verdict, _) = enforced(&asks(32_768, 8), &fleet);
    let figures = |quota, committed, used, needed| ResourceFigures { quota, committed, used, claimed: 0, needed };
    let expected = QuotaFigures {
        ram: figures(Some(100), 40, 20, 32),
        cores: figures(Some(50), 0, 44, 8),
        instances: figures(None, 0, 0, 1),
        headroom: Some(30),
    };
    assert_eq!(verdict.figures, Some(expected));
    assert_eq!((verdict.zone.as_str(), verdict.group.as_str(), verdict.enforce), ("az", "g1", true));
}

#[test]
fn without_enforce_no_host_is_removed() {
    let fleet = cloud([quota(usual())]);
    for step in [StepSpec::new(FILTER), step(false)] {
        let decision = run(&pipeline(&[step], &[]), &asks(128 * 1024, 1), &fleet).unwrap();
        let verdict = decision.quota.unwrap();
        assert_eq!((verdict.decision, verdict.removes_hosts()), (QuotaDecision::Reject, false));
        assert_eq!(decision.hosts.len(), 2);
        assert!(decision.removed.removed.is_empty());
    }
    let decision = run(&pipeline(&[step(true)], &[]), &asks(128 * 1024, 1), &fleet).unwrap();
    assert_eq!(decision.removed.to_string(), "2 hosts; quota 2");
}

#[test]
fn compiled_in_pipelines_only_count() {
    let scheduler = built_in(&[host("h1", gib(200, 2000))]);
    scheduler.budget_changed(quota(usual()));
    let decision = scheduler.run(&asks(128 * 1024, 1)).unwrap();
    assert_eq!(decision.hosts.len(), 1);
    assert_eq!(decision.quota.unwrap().decision, QuotaDecision::Reject);
    let explanation = scheduler.explain(&asks(128 * 1024, 1)).unwrap();
    assert_eq!(explanation.quota.unwrap().resource, Some(QuotaResource::Ram));
}

#[test]
fn unset_and_negative_quota_is_unlimited() {
    for unlimited in [limit(None, 1 << 40), limit(-1, 1 << 40)] {
        let fleet = cloud([quota(GroupQuota { ram: unlimited, cores: unlimited, instances: unlimited })]);
        assert_eq!(decides(&asks(1 << 40, 1 << 20), &fleet), PAYG);
    }
    let fleet = cloud([quota(GroupQuota { instances: limit(0, 0), ..GroupQuota::default() })]);
    assert_eq!(decides(&asks(1024, 1), &fleet), rejected(QuotaResource::Instances));
    let other = request(1, 1 << 30, &[("quota:hw_version", "g2")]);
    let other = Request { project: "p".into(), zone: "az".into(), ..other };
    assert_eq!(decides(&other, &fleet), PAYG, "a group without a quota");
}

#[test]
fn what_is_not_known_removes_no_host() {
    let nothing = cloud([]);
    assert_eq!(decides(&asks(1 << 40, 1), &nothing), (QuotaDecision::AcceptNoQuota, None));
    let elsewhere = BudgetChange::Quota("p".into(), "az-b".into(), Some([("g1".into(), usual())].into()));
    assert_eq!(decides(&asks(1 << 40, 1), &cloud([elsewhere])), (QuotaDecision::AcceptNoQuota, None));
    let fleet = cloud([quota(GroupQuota { ram: limit(0, 0), ..GroupQuota::default() })]);
    let missing = (QuotaDecision::AcceptSkippedMissingData, None);
    for request in [
        Request { project: "".into(), ..asks(1024, 1) },
        Request { zone: "".into(), ..asks(1024, 1) },
        Request { project: "p".into(), zone: "az".into(), ..request(1, 1024, &[]) },
        Request { project: "p".into(), zone: "az".into(), ..request(1, 1024, &[("quota:hw_version", "")]) },
    ] {
        assert_eq!(decides(&request, &fleet), missing);
    }
    assert_eq!(decides(&asks(1024, 1), &fleet), rejected(QuotaResource::Ram));
}

#[test]
fn only_new_vms_and_resizes_are_checked() {
    use QuotaDecision::{AcceptSkipped, AcceptSkippedIntentInternal, AcceptSkippedIntentMigration, Reject};
    let fleet = cloud([quota(GroupQuota { ram: limit(0, 0), ..GroupQuota::default() })]);
    for (intent, decision) in [
        (Intent::Create, Reject),
        (Intent::Resize, Reject),
        (Intent::Rebuild, AcceptSkippedIntentMigration),
        (Intent::LiveMigration, AcceptSkippedIntentMigration),
        (Intent::Evacuate, AcceptSkippedIntentMigration),
        (Intent::ReserveForFailover, AcceptSkippedIntentInternal),
        (Intent::ReuseFailoverReservation, AcceptSkippedIntentInternal),
        (Intent::ReserveForCommittedResource, AcceptSkippedIntentInternal),
        (Intent::CapacityProbe, AcceptSkipped),
    ] {
        let (verdict, _) = enforced(&with_intent(asks(1024, 1), intent), &fleet);
        assert_eq!(verdict.decision, decision, "{intent}");
        let names = (verdict.zone.as_str(), verdict.group.as_str());
        assert_eq!(names, if decision == Reject { ("az", "g1") } else { ("", "") }, "{intent}");
    }
}

#[test]
fn names_that_only_the_request_has_are_left_out() {
    let names = |request: &Request, fleet: &Fleet| {
        let verdict = enforced(request, fleet).0;
        (verdict.zone.to_string(), verdict.group.to_string())
    };
    let fleet = cloud([quota(usual())]);
    assert_eq!(names(&Request { zone: "made-up".into(), ..asks(1024, 1) }, &fleet), (String::new(), "g1".to_owned()));
    let made_up = request(1, 1024, &[("quota:hw_version", "made-up")]);
    let made_up = Request { zone: "az".into(), ..made_up };
    assert_eq!(names(&made_up, &fleet), ("az".to_owned(), String::new()), "without a project");
    let mut fleet = cloud([committed("c1", 40, 10)]);
    assert_eq!(names(&asks(1024, 1), &fleet).1, "g1", "a commitment names it");
    fleet.budgets.change(BudgetChange::Commitment((ClusterName::home(), "c1".into()), None));
    assert_eq!(names(&asks(1024, 1), &fleet).1, "", "nothing names it any more");
    fleet.budgets.change(quota(usual()));
    fleet.budgets.change(quota(usual()));
    assert_eq!(names(&asks(1024, 1), &fleet).1, "g1", "a quota that was written twice names it");
    fleet.budgets.change(BudgetChange::Quota("p".into(), "az".into(), None));
    assert_eq!(names(&asks(1024, 1), &fleet).1, "");
    fleet.budgets.change(BudgetChange::Quota("p".into(), "az".into(), None));
    assert_eq!(decides(&asks(1024, 1), &fleet), (QuotaDecision::AcceptNoQuota, None));
}

#[test]
fn a_commitment_that_moves_pays_only_at_its_new_place() {
    let mut fleet = cloud([committed("c1", 40, 0)]);
    assert_eq!(decides(&asks(1024, 1), &fleet), BY_COMMITMENT);
    fleet.budgets.change(commitment("c1", CommittedRam { zone: "az-b".into(), ..ram(40, 0) }));
    assert_eq!(decides(&asks(1024, 1), &fleet), (QuotaDecision::AcceptNoQuota, None));
    fleet.budgets.change(commitment("c1", CommittedRam { project: "p2".into(), ..ram(40, 0) }));
    assert_eq!(decides(&Request { project: "p2".into(), ..asks(1024, 1) }, &fleet), BY_COMMITMENT);
}

#[test]
fn a_commitment_pays_between_its_start_and_its_end() {
    let second = |second| Timestamp::from_second(second).unwrap();
    let timed = CommittedRam { start: Some(second(100)), end: Some(second(200)), ..ram(40, 0) };
    let (fleet, filter) = (cloud([commitment("c1", timed)]), pipeline(&[step(true)], &[]));
    let decides = |time| {
        let overlay = fleet.view.overlay();
        let facts = (&fleet, &overlay, time);
        let decision = engine::run(&filter, &asks(1024, 1), facts, Scope::Request, TieBreak::Name, None).unwrap();
        decision.quota.unwrap().decision
    };
    for (time, expected) in [
        (Some(second(99)), QuotaDecision::AcceptNoQuota),
        (Some(second(100)), QuotaDecision::AcceptCr),
        (Some(second(200)), QuotaDecision::AcceptCr),
        (Some(second(201)), QuotaDecision::AcceptNoQuota),
        (None, QuotaDecision::AcceptCr),
    ] {
        assert_eq!(decides(time), expected, "{time:?}");
    }
}

#[test]
fn one_commitment_must_have_room_for_all_instances() {
    let fleet = cloud([committed("c1", 40, 10), committed("c2", 20, 0)]);
    assert_eq!(enforced(&asks(1024, 1), &fleet).0.figures.unwrap().headroom, Some(30));
    assert_eq!(decides(&Request { instances: 2, ..asks(15 * 1024, 1) }, &fleet), BY_COMMITMENT);
    assert_eq!(decides(&Request { instances: 2, ..asks(16 * 1024, 1) }, &fleet), (QuotaDecision::AcceptNoQuota, None));
}

// Claims and VMs that the usage does not count yet.

fn answering(budgets: impl IntoIterator<Item = BudgetChange>) -> Watched {
    let mut pipelines = Pipelines::shipped();
    let name = crate::shipped::GENERAL_PURPOSE.to_owned();
    let enforcing =
        PipelineSpec { name, filters: vec![step(true)], ignore_preselection: true, ..PipelineSpec::default() };
    pipelines.insert(Pipeline::load(&enforcing).pipeline.unwrap());
    let settings = Settings { tie_break: TieBreak::Name, pipelines, ..Settings::default() };
    let scheduler = Watched::new(settings);
    scheduler.host_changed(&"h1".into(), Some(host("h1", gib(200, 2000))));
    budgets.into_iter().for_each(|change| scheduler.budget_changed(change));
    scheduler
}

fn new_vm(name: &str, memory_gib: u64, vcpus: u32) -> Request {
    Request { instance: name.into(), ..asks(memory_gib * 1024, vcpus) }
}

/// What a request for 1 GiB would see, without claiming.
fn claimed(scheduler: &BuiltIn) -> (i64, i64, i64) {
    let figures = scheduler.explain(&new_vm("other", 1, 1)).unwrap().quota.unwrap().figures.unwrap();
    (figures.ram.claimed, figures.cores.claimed, figures.instances.claimed)
}

fn answers(scheduler: &BuiltIn, seconds: u64, request: &Request) -> QuotaDecision {
    scheduler.answer(&at(seconds, request)).unwrap().decision.quota.unwrap().decision
}

#[test]
fn claims_of_the_same_place_count_as_used() {
    let limit = GroupQuota { ram: limit(64, 0), ..GroupQuota::default() };
    let scheduler = answering([quota(limit)]);
    assert_eq!(answers(&scheduler, 0, &new_vm("vm1", 32, 4)), QuotaDecision::AcceptPayg);
    assert_eq!(claimed(&scheduler), (32, 4, 1));
    assert_eq!(answers(&scheduler, 0, &new_vm("vm1", 32, 4)), QuotaDecision::AcceptPayg, "its own claim");
    let others = [
        Request { project: "p2".into(), ..new_vm("vm2", 32, 4) },
        Request { flavor: flavor(4, 32 * 1024, &[("quota:hw_version", "g2")]), ..new_vm("vm3", 32, 4) },
        with_intent(new_vm("vm4", 32, 4), Intent::Evacuate),
        with_intent(new_vm("vm5", 32, 4), Intent::LiveMigration),
    ];
    for request in others {
        answers(&scheduler, 0, &request);
    }
    assert_eq!(claimed(&scheduler), (32, 4, 1), "another project, another group, VMs that exist");
    assert_eq!(answers(&scheduler, 0, &new_vm("vm6", 33, 1)), QuotaDecision::Reject);
    let read_only = Request { options: Options::read_only(), ..new_vm("vm7", 32, 4) };
    assert_eq!(answers(&scheduler, 0, &read_only), QuotaDecision::AcceptPayg);
}

#[test]
fn claims_fill_commitments_first_the_oldest_before_others() {
    let young = CommittedRam { start: Some(Timestamp::from_second(9).unwrap()), ..ram(32, 0) };
    let scheduler = answering([quota(usual()), commitment("a", young), committed("b", 16, 0)]);
    let headroom = || scheduler.explain(&new_vm("other", 1, 1)).unwrap().quota.unwrap().figures.unwrap().headroom;
    answers(&scheduler, 10, &new_vm("vm1", 12, 2));
    assert_eq!((claimed(&scheduler), headroom()), ((0, 2, 1), Some(32)), "cores are not committed");
    answers(&scheduler, 10, &new_vm("vm2", 12, 2));
    assert_eq!((claimed(&scheduler), headroom()), ((0, 4, 2), Some(20)));
    answers(&scheduler, 10, &new_vm("vm3", 24, 1));
    assert_eq!((claimed(&scheduler), headroom()), ((24, 5, 3), Some(20)), "no commitment has room for it");
}

/// VMs of 32 GiB and 4 cores in g1.
#[derive(Debug)]
struct Counted(&'static [&'static str]);

impl CountedVms for Counted {
    fn amounts(&self, vm: &VmId, group: &GroupName) -> Option<Amounts> {
        let counts = self.0.contains(&vm.as_str()) && group.as_str() == "g1";
        counts.then_some(Amounts { ram_gib: 32, cores: 4, instances: 1 })
    }
}

#[test]
fn a_vm_that_the_usage_counts_is_not_counted_by_its_claim_again() {
    let scheduler = answering([quota(usual())]);
    answers(&scheduler, 0, &new_vm("vm1", 32, 4));
    scheduler.counted_vms_changed(Arc::new(Counted(&["vm2"])));
    assert_eq!(claimed(&scheduler), (32, 4, 1));
    scheduler.counted_vms_changed(Arc::new(Counted(&["vm1"])));
    assert_eq!(claimed(&scheduler), (0, 0, 0));
    // A resize claims its whole new size, of which the former one is counted already.
    answers(&scheduler, 0, &with_intent(new_vm("vm1", 48, 4), Intent::Resize));
    assert_eq!(claimed(&scheduler), (16, 0, 0));
}

#[test]
fn a_vm_that_its_host_lists_counts_until_the_usage_has_it() {
    let listing = |vms: &[&str]| Host {
        instances: vms.iter().map(|vm| ((*vm).into(), true)).collect(),
        ..host("h1", gib(200, 2000))
    };
    let limit = GroupQuota { ram: limit(64, 0), ..GroupQuota::default() };
    let scheduler = answering([quota(limit)]);
    scheduler.counted_vms_changed(Arc::new(Counted(&[])));
    answers(&scheduler, 0, &new_vm("vm1", 32, 4));
    scheduler.host_changed(&"h1".into(), Some(listing(&["vm1"])));
    assert_eq!(scheduler.claimed(), 0, "its capacity is not claimed any more");
    assert_eq!(claimed(&scheduler), (32, 4, 1));
    assert_eq!(answers(&scheduler, 0, &new_vm("vm2", 33, 1)), QuotaDecision::Reject);
    scheduler.counted_vms_changed(Arc::new(Counted(&["vm1"])));
    assert_eq!(claimed(&scheduler), (0, 0, 0));

    answers(&scheduler, 0, &new_vm("vm3", 32, 4));
    scheduler.host_changed(&"h1".into(), Some(listing(&["vm1", "vm3"])));
    scheduler.expire(Duration::from_secs(599));
    assert_eq!(claimed(&scheduler), (32, 4, 1));
    scheduler.expire(Duration::from_secs(600));
    assert_eq!(claimed(&scheduler), (0, 0, 0), "it is not waited for any longer than for a claim");
}

/// A process that takes over sees the VM on its host before it reads the claim.
#[test]
fn a_vm_whose_claim_is_restored_after_its_host_lists_it_counts_until_the_usage_has_it() {
    let former = answering([quota(usual())]);
    answers(&former, 0, &new_vm("vm1", 32, 4));
    let claims = former.held_claims();
    let listing = Host { instances: [("vm1".into(), true)].into(), ..host("h1", gib(200, 2000)) };
    for adopts in [false, true] {
        let scheduler = answering([quota(usual())]);
        scheduler.counted_vms_changed(Arc::new(Counted(&[])));
        scheduler.host_changed(&"h1".into(), Some(listing.clone()));
        if adopts {
            scheduler.adopt(&[], Promises { claims: claims.clone(), ..Promises::default() });
        } else {
            scheduler.restore_claims(claims.clone());
        }
        assert_eq!((scheduler.claimed(), claimed(&scheduler)), (0, (32, 4, 1)));
        scheduler.counted_vms_changed(Arc::new(Counted(&["vm1"])));
        assert_eq!(claimed(&scheduler), (0, 0, 0));
    }
}

/// A clock that cannot be trusted ends no commitment.
#[test]
fn without_a_trusted_time_a_commitment_that_may_have_ended_pays() {
    let ended = CommittedRam { end: Some(Timestamp::from_second(5).unwrap()), ..ram(64, 0) };
    let scheduler = answering([quota(GroupQuota { ram: limit(0, 0), ..usual() }), commitment("a", ended)]);
    let request = new_vm("vm1", 32, 4);
    let decision = |call: Call<'_>| scheduler.answer(&call).unwrap().decision.quota.unwrap().decision;
    let trusted = at(10, &request);
    assert_eq!(decision(trusted), QuotaDecision::Reject);
    assert_eq!(decision(Call { trusted_time: None, ..trusted }), QuotaDecision::AcceptCr);
}

#[test]
fn a_claim_that_ends_counts_no_more() {
    let scheduler = answering([quota(usual())]);
    answers(&scheduler, 0, &new_vm("vm1", 32, 4));
    scheduler.expire(Duration::from_secs(600));
    assert_eq!(claimed(&scheduler), (0, 0, 0));
    answers(&scheduler, 700, &new_vm("vm1", 32, 4));
    scheduler.host_changed(&"h1".into(), None);
    assert_eq!(claimed(&scheduler), (0, 0, 0), "its host is in no zone any more");
}

// A second computation, written as plainly as possible.

#[derive(Clone, Debug)]
struct Case {
    quota: Option<[Option<i64>; 3]>,
    used: [i64; 3],
    commitments: Vec<(i64, i64, bool)>,
    claims: Vec<[i64; 3]>,
    memory_mib: u64,
    vcpus: u32,
    instances: u64,
}

/// All numbers as they are written down; commitments as (amount, used), those in force.
fn plainly(case: &Case) -> &'static str {
    let gib = i64::try_from((case.memory_mib + 16) / 1024).unwrap();
    let times = if case.instances == 0 { 1 } else { i64::try_from(case.instances).unwrap() };
    let need = [gib * times, i64::from(case.vcpus) * times, times];
    let mut committed = 0;
    let mut left = Vec::new();
    for (amount, used, is_active) in &case.commitments {
        if *is_active {
            committed += amount;
            left.push(amount - used);
        }
    }
    let mut used = case.used;
    for claim in &case.claims {
        used[1] += claim[1];
        used[2] += claim[2];
        let mut is_committed = false;
        for left in &mut left {
            if !is_committed && *left >= claim[0] {
                *left -= claim[0];
                is_committed = true;
            }
        }
        if !is_committed {
            used[0] += claim[0];
        }
    }
    for left in left {
        if left >= need[0] {
            return "accept_cr ram";
        }
    }
    let Some(quota) = case.quota else { return "accept_no_quota " };
    let deducted = [committed, 0, 0];
    for (resource, name) in ["reject ram", "reject cores", "reject instances"].into_iter().enumerate() {
        if let Some(quota) = quota[resource] {
            let is_limited = quota >= 0;
            if is_limited && quota - deducted[resource] - used[resource] < need[resource] {
                return name;
            }
        }
    }
    "accept_payg "
}

fn case() -> impl Strategy<Value = Case> {
    let limits = prop::option::of([(); 3].map(|()| prop::option::weighted(0.8, -1..120_i64)));
    let commitments = prop::collection::vec((0..60_i64, 0..60_i64, any::<bool>()), 0..4);
    let claims = prop::collection::vec([0..40_i64, 0..10_i64, 0..3_i64], 0..5);
    let request = (0..65_000_u64, 0..20_u32, 0..4_u64);
    (limits, [0..50_i64, 0..50_i64, 0..5_i64], commitments, claims, request).prop_map(
        |(quota, used, commitments, claims, (memory_mib, vcpus, instances))| Case {
            quota,
            used,
            commitments,
            claims,
            memory_mib,
            vcpus,
            instances,
        },
    )
}

proptest! {
    #[test]
    fn the_decision_is_that_of_a_plain_computation(case in case()) {
        let now = Timestamp::from_second(1000).unwrap();
        let mut fleet = Fleet::default();
        if let Some(limits) = case.quota {
            let [ram, cores, instances] = [0, 1, 2].map(|at| limit(limits[at], case.used[at]));
            fleet.budgets.change(quota(GroupQuota { ram, cores, instances }));
        }
        for (number, (amount, used, is_active)) in case.commitments.iter().enumerate() {
            let end = if *is_active { now } else { Timestamp::from_second(999).unwrap() };
            let ram = CommittedRam { end: Some(end), ..ram(*amount, *used) };
            fleet.budgets.change(commitment(&format!("c{number}"), ram));
        }
        let request = Request { instances: case.instances, ..asks(case.memory_mib, case.vcpus) };
        let claims = case.claims.iter().map(|[ram_gib, cores, instances]| Amounts {
            ram_gib: *ram_gib,
            cores: *cores,
            instances: *instances,
        });
        let budget = fleet.budgets.of(&"p".into(), &Zone::from("az"));
        let (decision, resource, _) = check(needed(&request), budget, &"g1".into(), claims, Some(now));
        let found = format!("{} {}", decision.as_str(), resource.map_or("", QuotaResource::as_str));
        prop_assert_eq!(found, plainly(&case));
    }
}
