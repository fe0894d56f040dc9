use std::collections::BTreeMap;

use berth_core::flavor::FlavorGroups;
use berth_core::host::{Capabilities, ConditionStatus, Host};
use berth_core::{Bytes, ClusterName, Cores, Resources};
use berth_crds::{ProjectQuota, ProjectQuotaSpec, names};
use berth_scheduler::{
    BudgetChange, BuiltIn, Call, CommittedRam, GroupQuota, Intent, Options, QuotaDecision, Request, ResourceQuota,
    Settings, TieBreak,
};
use berth_telemetry::config::ReservationController;
use berth_testkit::{Fault, Verb, path_of};
use insta::assert_snapshot;
use serde_json::json;

use super::report::{DryRun, report};
use super::{shortened, text};
use crate::args::RequestSource;
use crate::commands::scene::Scene;

fn host(number: u64, zone: &str, gib: u64) -> Host {
    let size = Resources::new(Bytes::from_mib(gib * 1024), Cores::new(120));
    Host {
        name: format!("node{number}").as_str().into(),
        cluster: ClusterName::home(),
        zone: zone.into(),
        capacity: size.into(),
        effective_capacity: size.into(),
        conditions: BTreeMap::from([("Ready".to_owned(), ConditionStatus::True)]),
        capabilities: Capabilities { hypervisor_type: "kvm".to_owned(), ..Capabilities::default() },
        ..Host::default()
    }
}

fn scheduler() -> BuiltIn {
    let scheduler = BuiltIn::new(Settings { tie_break: TieBreak::Name, ..Settings::default() }, Box::new(|_| {}));
    for host in [host(1, "az-a", 1920), host(2, "az-a", 3840), host(3, "az-a", 64), host(4, "az-b", 1920)] {
        scheduler.host_changed(&host.name.clone(), Some(host));
    }
    for change in budgets() {
        scheduler.budget_changed(change);
    }
    scheduler
}

fn budgets() -> [BudgetChange; 2] {
    let limit = |quota, used| ResourceQuota { quota, used };
    let quota = GroupQuota { ram: limit(Some(2400), 480), cores: limit(Some(40), 20), instances: limit(None, 1) };
    let commitment = CommittedRam {
        project: "p1".into(),
        zone: "az-a".into(),
        group: "mem_v4".into(),
        amount_gib: 960,
        used_gib: 720,
        start: None,
        end: None,
    };
    [
        BudgetChange::Quota("p1".into(), "az-a".into(), Some([("mem_v4".into(), quota)].into())),
        BudgetChange::Commitment((ClusterName::home(), "commitment-1".into()), Some(commitment)),
    ]
}

fn source(zone: &str, intent: Option<&str>) -> RequestSource {
    RequestSource {
        request: None,
        flavor: Some("mem_c30_m480".to_owned()),
        zone: Some(zone.to_owned()),
        project: Some("p1".to_owned()),
        intent: intent.map(str::to_owned),
        pipeline: None,
    }
}

fn short(source: &RequestSource, configured: &ReservationController) -> Request {
    let specs = json!({ "capabilities:hypervisor_type": "QEMU", "quota:hw_version": "mem_v4" });
    let flavor = json!({ "name": "mem_c30_m480", "vcpus": 30, "memoryMB": 480 * 1024, "extraSpecs": specs });
    let raw = json!({ "features": [{ "name": "mem_v4", "flavors": [flavor] }] });
    let groups = FlavorGroups::parse(&raw).unwrap().groups;
    let group = groups.iter().next().unwrap();
    shortened(source, group, &group.flavors[0], configured)
}

fn run(request: &Request) -> DryRun {
    let explanation = scheduler().explain(request).unwrap();
    let answer = scheduler().run(request).unwrap().hosts;
    report(request, &answer, explanation, &scheduler().claims_in(&request.zone), &[])
}

fn configured() -> ReservationController {
    berth_telemetry::config::Configuration::default().reservation_controller
}

#[test]
fn hosts_with_their_weights_and_the_others_by_filter() {
    let run = run(&short(&source("az-a", None), &configured()));
    assert_snapshot!(text(&run, 20, false), @r"
    Dry run, nothing was changed
      Pipeline  kvm-general-purpose-load-balancing
      Intent    none, as Nova creates a VM
      Wanted    1 x mem_c30_m480 (480 GiB, 30 cores)
      For       az-a, p1

    Hosts, best first (4 hosts; zone 1, capacity 1)
      #  HOST   WEIGHT  kvm_prefer_smaller_hosts  kvm_binpack  kvm_committed_resource_reservation
      1  node1  0.8613                   +0.7616      +0.0000                             +0.0997
      2  node2  0.0997                   +0.0000      +0.0000                             +0.0997

    Removed, by filter
          1  filter_correct_az (zone)
          1  filter_has_enough_capacity (capacity)
      (--all names them)

    Quota: rejected, not enough cores left; without enforce all hosts stay (reject)
                      QUOTA  COMMITTED  USED  CLAIMED  NEEDED
      RAM in GiB       2400        960   480        0     480
      cores              40          0    20        0      30
      instances   unlimited          0     1        0       1
      One commitment has 240 GiB left, others at most as much.

    Not included: decisions of the operator that are not written yet.
    ");
}

#[test]
fn claims_are_counted_and_listed_with_vm_project_size_and_end() {
    let (scheduler, request) = (scheduler(), short(&source("az-a", None), &configured()));
    for vm in ["vm-1", "vm-2"] {
        let asked =
            Request { instance: vm.into(), project: "p2".into(), options: Options::default(), ..request.clone() };
        let time = "2026-03-01T12:00:00Z".parse().unwrap();
        let now = std::time::Duration::ZERO;
        let call = Call::new(&asked, (now, time));
        assert_eq!(scheduler.answer(&call).unwrap().hosts[0].as_str(), "node1");
    }
    let (answer, explanation) = (scheduler.run(&request).unwrap().hosts, scheduler.explain(&request).unwrap());
    let run = report(&request, &answer, explanation, &scheduler.claims_in(&request.zone), &[]);
    let text = text(&run, 20, false);
    let (_, claims) = text.split_once("Claimed").unwrap();
    assert_snapshot!(format!("Claimed{claims}"), @"
    Claimed for VMs that have not appeared yet
      VM    PROJECT  HOST   SIZE               UNTIL                 SLOT
      vm-1  p2       node1  480 GiB, 30 cores  2026-03-01T12:10:01Z  -
      vm-2  p2       node1  480 GiB, 30 cores  2026-03-01T12:10:01Z  -

    Not included: decisions of the operator that are not written yet.
    ");
    assert!(scheduler.claims_in(&"az-b".into()).is_empty(), "another zone");
}

#[tokio::test(start_paused = true)]
async fn quota_is_read_for_the_decision_and_a_missing_right_is_reported() {
    let scene = Scene::new(&[("node1", 4)]);
    let spec = ProjectQuotaSpec {
        project_id: "p1".to_owned(),
        availability_zone: "az-a".to_owned(),
        quota: [("hw_version_mem_v4_ram".to_owned(), 479)].into(),
        ..ProjectQuotaSpec::default()
    };
    scene.home.create(&ProjectQuota::new(&names::project_quota("p1", "az-a"), spec)).unwrap();
    let (snapshot, request) = (scene.snapshot().await, short(&source("az-a", None), &configured()));
    let decision = || snapshot.memory.scheduler.explain(&request).unwrap().quota.unwrap().decision;
    assert_eq!(decision(), QuotaDecision::AcceptNoQuota, "other commands do not read it");
    snapshot.read_budgets().await.unwrap();
    assert_eq!(decision(), QuotaDecision::Reject);
    scene.home.fail(Verb::List, &path_of::<ProjectQuota>(""), 1, Fault::Forbidden);
    let error = snapshot.read_budgets().await.unwrap_err();
    assert_eq!(decision(), QuotaDecision::Reject, "what was read before stays");
    let mut run = run(&request);
    run.forget_quota(&error);
    let shown = text(&run, 20, false);
    assert!(shown.contains("\nQuota: unknown: cluster home: ProjectQuota objects cannot be read: "), "{shown}");
    run.quota_unknown = None;
    run.forget_quota(&error);
    assert!(!text(&run, 20, false).contains("Quota"), "the pipeline does not have the filter");
}

#[test]
fn each_decision_about_quota_has_its_words() {
    let mut run = run(&short(&source("az-a", None), &configured()));
    let mut texts = std::collections::BTreeSet::new();
    for decision in QuotaDecision::ALL {
        run.quota.as_mut().unwrap().decision = *decision;
        texts.insert(text(&run, 20, false));
    }
    assert_eq!(texts.len(), QuotaDecision::ALL.len());
    run.quota.as_mut().unwrap().enforce = true;
    assert!(text(&run, 20, false).contains("\nQuota: rejected, not enough cores left; no host is left (reject)\n"));
    run.quota = None;
    assert!(!text(&run, 20, false).contains("Quota"), "the pipeline does not have the filter");
}

#[test]
fn a_limit_reports_how_many_more_there_are() {
    let run = run(&short(&source("az-a", None), &configured()));
    let text = text(&run, 1, false);
    assert!(text.contains("... and 1 more (--all)"), "{text}");
}

#[test]
fn no_host_is_reported_with_the_counts_of_conditions_and_all_names_each() {
    let mut request = short(&source("az-c", Some("capacity_probe")), &configured());
    request.options.max_candidates = 1;
    assert_snapshot!(text(&run(&request), usize::MAX, true), @r"
    Dry run, nothing was changed
      Pipeline  kvm-general-purpose-load-balancing
      Intent    capacity_probe
      Wanted    1 x mem_c30_m480 (480 GiB, 30 cores)
      For       az-c, p1

    No host: 4 hosts; zone 4

    Removed, by filter
          4  filter_correct_az (zone)
             node1
             node2
             node3
             node4

    Quota: not checked, the request only asks for capacity (accept_skipped)

    Not included: decisions of the operator that are not written yet.
    ");
}

#[test]
fn a_slot_is_asked_for_as_its_controller_does() {
    let mut configured = configured();
    configured.flavor_group_pipelines = [("*".to_owned(), "kvm-hana-bin-packing".to_owned())].into();
    let slot = short(&source("az-a", Some("reserve_for_committed_resource")), &configured);
    assert_eq!(slot.intent(), Some(Intent::ReserveForCommittedResource));
    assert_eq!((slot.pipeline.as_str(), slot.options.lock_reservations), ("kvm-hana-bin-packing", true));
    let vm = short(&source("az-a", None), &configured);
    assert_eq!((vm.intent(), vm.pipeline.as_str(), vm.options.lock_reservations), (None, "", false));
    for request in [slot, vm] {
        let options = request.options;
        assert!(options.read_only && options.explain && options.skip_history, "a dry run, whatever was requested");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn the_members_of_the_json_form() {
    let mut run = run(&short(&source("az-a", None), &configured()));
    run.ranked.truncate(1);
    for added in &mut run.ranked[0].weighers {
        (added.activation, added.added) = (0.5, 0.25);
    }
    run.ranked[0].weight = 0.75;
    assert_snapshot!(serde_json::to_string_pretty(&run).unwrap(), @r#"
    {
      "missing": [],
      "pipeline": "kvm-general-purpose-load-balancing",
      "intent": null,
      "wanted": {
        "instances": 1,
        "flavor": "mem_c30_m480",
        "size": {
          "memory": 515396075520,
          "cpu": 30
        },
        "zone": "az-a",
        "project": "p1"
      },
      "summary": "4 hosts; zone 1, capacity 1",
      "answer": [
        "node1",
        "node2"
      ],
      "ranked": [
        {
          "host": "node1",
          "weight": 0.75,
          "firstTier": false,
          "answered": true,
          "weighers": [
            {
              "step": "kvm_prefer_smaller_hosts",
              "activation": 0.5,
              "added": 0.25
            },
            {
              "step": "kvm_binpack",
              "activation": 0.5,
              "added": 0.25
            },
            {
              "step": "kvm_committed_resource_reservation",
              "activation": 0.5,
              "added": 0.25
            }
          ]
        }
      ],
      "removed": [
        {
          "filter": "filter_correct_az",
          "short": "zone",
          "count": 1,
          "hosts": [
            "node4"
          ]
        },
        {
          "filter": "filter_has_enough_capacity",
          "short": "capacity",
          "count": 1,
          "hosts": [
            "node3"
          ]
        }
      ],
      "failed": null,
      "quota": {
        "enforce": false,
        "decision": "reject",
        "resource": "cores",
        "zone": "az-a",
        "group": "mem_v4",
        "figures": {
          "ram": {
            "quota": 2400,
            "committed": 960,
            "used": 480,
            "claimed": 0,
            "needed": 480
          },
          "cores": {
            "quota": 40,
            "committed": 0,
            "used": 20,
            "claimed": 0,
            "needed": 30
          },
          "instances": {
            "quota": null,
            "committed": 0,
            "used": 1,
            "claimed": 0,
            "needed": 1
          },
          "headroom": 240
        }
      },
      "quotaUnknown": null,
      "claims": []
    }
    "#);
}
