use std::collections::BTreeMap;

use berth_core::flavor::FlavorGroups;
use berth_core::host::{Amounts, Capabilities, ConditionStatus, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey};
use berth_scheduler::{BuiltIn, PipelineChoice, Settings};
use berth_scheduler_api::explain::Subject;
use clap::Parser as _;
use insta::assert_snapshot;
use serde_json::json;

use super::facts::ExplainedHost;
use super::feasibility::Question;
use super::report::{HostReportView, report};
use super::{explain, text};
use crate::args::{Arguments, Command, Explain};
use crate::commands::cluster_snapshot::UnreadableCluster;
use crate::commands::leader::AskedOperator;
use crate::commands::scene::{Scene, unasked};

fn gib(gib: u64, cpu: i64) -> Resources {
    Resources::new(Bytes::from_mib(gib * 1024), Cores::new(cpu))
}

fn node() -> Host {
    Host {
        name: "node1".into(),
        cluster: ClusterName::home(),
        zone: "az-a".into(),
        capacity: gib(1920, 120).into(),
        effective_capacity: gib(1920, 120).into(),
        allocation: gib(480, 30).into(),
        instances: [("vm-1".into(), true), ("vm-2".into(), false)].into(),
        conditions: BTreeMap::from([("Ready".to_owned(), ConditionStatus::True)]),
        capabilities: Capabilities { hypervisor_type: "kvm".to_owned(), ..Capabilities::default() },
        ..Host::default()
    }
}

fn slot(name: &str, vms: &[&str]) -> Reservation {
    let vms = vms.iter().map(|vm| ((*vm).into(), gib(480, 30))).collect();
    Reservation {
        key: SlotKey::new(ClusterName::home(), name),
        kind: ReservationKind::Committed(vms),
        project: "p1".into(),
        group: "mem_v4".into(),
        zone: "az-a".into(),
        size: gib(480, 30),
        target_host: Some("node1".into()),
        status_host: Some("node1".into()),
        ready: true,
    }
}

fn groups() -> FlavorGroups {
    let flavor = |name: &str, vcpus: u64, gib: u64, specs: &[(&str, &str)]| {
        let mut specs: BTreeMap<&str, &str> = specs.iter().copied().collect();
        specs.insert("capabilities:hypervisor_type", "QEMU");
        json!({ "name": name, "vcpus": vcpus, "memoryMB": gib * 1024, "extraSpecs": specs })
    };
    let memory = [
        flavor("mem_c120_m1920", 120, 1920, &[]),
        flavor("mem_c30_m480", 30, 480, &[]),
        flavor("mem_hana", 30, 480, &[("trait:CUSTOM_HANA", "required")]),
    ];
    let general = [flavor("gp_c16_m64", 16, 64, &[])];
    let raw = json!({ "features": [{ "name": "mem_v4", "flavors": memory }, { "name": "gp", "flavors": general }] });
    FlavorGroups::parse(&raw).unwrap().groups
}

/// The text about node1 with what an operator has said.
pub(in crate::commands) async fn shown(scene: &Scene, asked: AskedOperator) -> String {
    let arguments = match Arguments::try_parse_from(["berth", "explain", "host", "node1"]).unwrap().command {
        Command::Explain(Explain::Host(arguments)) => arguments,
        other => panic!("{other:?}"),
    };
    let ask = async |subject: &Subject| {
        assert_eq!(subject.to_string(), "host node1");
        asked
    };
    text(&explain(&scene.snapshot().await, &arguments, ask).await.unwrap())
}

fn account(
    host: Host,
    reservations: &[Reservation],
    message: &[(&str, &str)],
    missing: &[UnreadableCluster],
) -> HostReportView {
    let scheduler = BuiltIn::new(Settings::default(), Box::new(|_| {}));
    let name: HostName = host.name.clone();
    scheduler.host_changed(&name, Some(host));
    for reservation in reservations {
        scheduler.reservation_changed(&reservation.key, Some(reservation.clone()));
    }
    let message = message.iter().map(|(name, text)| (SlotKey::new(ClusterName::home(), *name), (*text).to_owned()));
    let facts = ExplainedHost {
        host: scheduler.host_report(&name).unwrap(),
        physical: Amounts::from(gib(1024, 60)),
        ready_messages: message.collect(),
    };
    let choice = PipelineChoice::default();
    let question = Question::about(&facts.host, None, &choice);
    let fits = question.ask(&groups(), |request| scheduler.refusal(&name, request));
    report(&facts, &question, Ok(fits), unasked(), missing)
}

#[test]
fn a_normal_host() {
    let moving = Reservation { status_host: Some("node2".into()), ready: false, ..slot("c-1", &[]) };
    let message = [("c-1", "Migrating: moves from node2"), ("c-0", "ReservationActive")];
    assert_snapshot!(text(&account(node(), &[slot("c-0", &["vm-1"]), moving], &message, &[])), @r"
    Host node1 in zone az-a, cluster home, kvm
      In service: yes
      Conditions: Ready True
      Traits: none

                                 MEMORY  CPU
      Capacity                 1920 GiB  120  physical: 1024 GiB, 60 cores
      Used by VMs               480 GiB   30  VMs: 2, running: 1
      Blocked by reservations   480 GiB   30  besides the VMs in them: 2
      Free                      960 GiB   60

    Reservations, the largest block first (VMS: how many are here of how many are expected)
      NAME  TYPE               PROJECT  GROUP   SIZE               BLOCKS             VMS  STATE
      c-1   CommittedResource  p1       mem_v4  480 GiB, 30 cores  480 GiB, 30 cores  0/0  not ready, Migrating: moves from node2, moving from node2
      c-0   CommittedResource  p1       mem_v4  480 GiB, 30 cores  0, 0 cores         1/1  ready

    Feasible flavors, as slots of no particular project
      Group gp
        gp_c16_m64  64 GiB, 16 cores  3
      Group mem_v4
        mem_c120_m1920  1920 GiB, 120 cores  0  lacks 960 GiB of memory and 60 cores
        mem_c30_m480    480 GiB, 30 cores    2
        mem_hana        480 GiB, 30 cores    2  but refused by filter_has_requested_traits (traits)

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[test]
fn a_host_that_is_over_booked_out_of_service_and_exclusive() {
    let host = Host {
        allowed_projects: ["p9".into()].into(),
        traits: ["HW_CPU_X86_AVX2".to_owned(), "CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE".to_owned()].into(),
        conditions: BTreeMap::from([
            ("Ready".to_owned(), ConditionStatus::True),
            ("HypervisorDisabled".to_owned(), ConditionStatus::True),
        ]),
        ..node()
    };
    let slots = ["c-0", "c-1", "c-2", "c-3"].map(|name| slot(name, &[]));
    let missing =
        UnreadableCluster { cluster: "r".to_owned(), zone: Some("az-b".to_owned()), why: "no answer".to_owned() };
    assert_snapshot!(text(&account(host, &slots, &[], &[missing])), @r"
    PARTIAL: cluster r (zone az-b) is missing: no answer
    Host node1 in zone az-a, cluster home, kvm
      In service: NO, nothing is placed here: HypervisorDisabled is True: it is switched off for new VMs
      Conditions: HypervisorDisabled True, Ready True
      Traits: CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE, HW_CPU_X86_AVX2
      Only for projects: p9

                                 MEMORY  CPU
      Capacity                 1920 GiB  120  physical: 1024 GiB, 60 cores
      Used by VMs               480 GiB   30  VMs: 2, running: 1
      Blocked by reservations  1920 GiB  120  besides the VMs in them: 4
      Free                     -480 GiB  -30
      OVER-BOOKED by 480 GiB of memory and 30 cores: this host holds more than its capacity, and nothing more is placed here

    Reservations, the largest block first (VMS: how many are here of how many are expected)
      NAME  TYPE               PROJECT  GROUP   SIZE               BLOCKS             VMS  STATE
      c-0   CommittedResource  p1       mem_v4  480 GiB, 30 cores  480 GiB, 30 cores  0/0  ready
      c-1   CommittedResource  p1       mem_v4  480 GiB, 30 cores  480 GiB, 30 cores  0/0  ready
      c-2   CommittedResource  p1       mem_v4  480 GiB, 30 cores  480 GiB, 30 cores  0/0  ready
      c-3   CommittedResource  p1       mem_v4  480 GiB, 30 cores  480 GiB, 30 cores  0/0  ready

    Feasible flavors, as slots of project p9
      Group gp
        gp_c16_m64  64 GiB, 16 cores  0  lacks 544 GiB of memory and 46 cores
      Group mem_v4
        mem_c120_m1920  1920 GiB, 120 cores  0  lacks 2400 GiB of memory and 150 cores
        mem_c30_m480    480 GiB, 30 cores    0  lacks 960 GiB of memory and 60 cores
        mem_hana        480 GiB, 30 cores    0  lacks 960 GiB of memory and 60 cores

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    ");
}

#[test]
fn a_host_whose_capacity_makes_no_sense() {
    let host = Host {
        capacity: Amounts { memory: None, cpu: Some(Cores::new(120)) },
        invalid_amount: Some("status.effectiveCapacity.memory is \"-5Gi\"".to_owned()),
        ..node()
    };
    assert_snapshot!(text(&account(host, &[], &[], &[])), @r#"
    Host node1 in zone az-a, cluster home, kvm
      In service: yes
      NOT OFFERED: invalid amount: status.effectiveCapacity.memory is "-5Gi"
      Conditions: Ready True
      Traits: none

                                MEMORY  CPU
      Capacity                 unknown  120  physical: 1024 GiB, 60 cores
      Used by VMs              480 GiB   30  VMs: 2, running: 1
      Blocked by reservations        0    0  besides the VMs in them: 0
      Free                     unknown   90

    No reservation blocks anything here.

    Feasible flavors are unknown: status.effectiveCapacity.memory is "-5Gi"

    Not included, because no process holds the Lease berth: decisions that are not written yet, when slots are tried again, and since when hosts and VMs are missing.
    "#);
}

#[test]
fn a_host_that_is_switched_off_refuses_what_has_capacity() {
    let conditions = BTreeMap::from([("Terminating".to_owned(), ConditionStatus::Unknown)]);
    let account = account(Host { conditions, ..node() }, &[], &[], &[]);
    assert!(!account.in_service);
    let refused: Vec<_> =
        account.fits[1].flavors.iter().map(|fit| (fit.slots, fit.refused_by.as_ref().map(|r| r.filter))).collect();
    let status = Some("filter_status_conditions");
    assert_eq!(refused, [(Some(0), None), (Some(3), status), (Some(3), status)]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a snapshot")]
fn the_members_of_the_json_form() {
    let account = account(node(), &[slot("c-0", &["vm-1"])], &[], &[]);
    assert_snapshot!(serde_json::to_string_pretty(&account).unwrap(), @r#"
    {
      "missing": [],
      "host": "node1",
      "cluster": "home",
      "zone": "az-a",
      "hypervisorType": "kvm",
      "cpuArch": "",
      "inService": true,
      "outOfServiceBecause": [],
      "conditions": {
        "Ready": "True"
      },
      "traits": [],
      "allowedProjects": [],
      "tenants": [],
      "invalidAmount": null,
      "capacity": {
        "memory": 2061584302080,
        "cpu": 120
      },
      "physicalCapacity": {
        "memory": 1099511627776,
        "cpu": 60
      },
      "vms": {
        "count": 2,
        "running": 1,
        "used": {
          "memory": 515396075520,
          "cpu": 30
        }
      },
      "blocked": {
        "memory": 0,
        "cpu": 0
      },
      "reservations": [
        {
          "name": "c-0",
          "cluster": "home",
          "type": "CommittedResourceReservation",
          "project": "p1",
          "group": "mem_v4",
          "size": {
            "memory": 515396075520,
            "cpu": 30
          },
          "blocks": {
            "memory": 0,
            "cpu": 0
          },
          "vmsExpected": 1,
          "vmsConfirmed": 1,
          "ready": true,
          "readyMessage": null,
          "targetHost": "node1",
          "statusHost": "node1",
          "moving": null
        }
      ],
      "claims": [],
      "free": {
        "memory": 1546188226560,
        "cpu": 90
      },
      "overbooked": null,
      "triedProject": "",
      "fits": [
        {
          "group": "gp",
          "pipeline": "",
          "flavors": [
            {
              "flavor": "gp_c16_m64",
              "size": {
                "memory": 68719476736,
                "cpu": 16
              },
              "slots": 5,
              "lacks": null,
              "refusedBy": null,
              "error": null
            }
          ]
        },
        {
          "group": "mem_v4",
          "pipeline": "",
          "flavors": [
            {
              "flavor": "mem_c120_m1920",
              "size": {
                "memory": 2061584302080,
                "cpu": 120
              },
              "slots": 0,
              "lacks": {
                "memory": 515396075520,
                "cpu": 30
              },
              "refusedBy": null,
              "error": null
            },
            {
              "flavor": "mem_c30_m480",
              "size": {
                "memory": 515396075520,
                "cpu": 30
              },
              "slots": 3,
              "lacks": null,
              "refusedBy": null,
              "error": null
            },
            {
              "flavor": "mem_hana",
              "size": {
                "memory": 515396075520,
                "cpu": 30
              },
              "slots": 3,
              "lacks": null,
              "refusedBy": {
                "filter": "filter_has_requested_traits",
                "short": "traits"
              },
              "error": null
            }
          ]
        }
      ],
      "fitsUnknown": null,
      "operator": {
        "address": null,
        "failure": "no process holds the Lease berth",
        "answer": null
      }
    }
    "#);
}
