use std::collections::BTreeMap;

use berth_core::flavor::FlavorGroups;
use berth_core::host::{Capabilities, ConditionStatus, Host};
use berth_core::{Bytes, ClusterName, Cores, Resources};
use berth_scheduler::{BuiltIn, Call, Intent, Options, Request, Settings, TieBreak};
use berth_telemetry::config::ReservationController;
use insta::assert_snapshot;
use serde_json::json;

use super::report::{DryRun, report};
use super::{shortened, text};
use crate::args::RequestSource;

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
    scheduler
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
        let call = Call { request: &asked, now, time, chance: 0, guest: None, explain: false, stopwatch: None };
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
      "claims": []
    }
    "#);
}
