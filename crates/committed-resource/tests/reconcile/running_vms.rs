//! Slots get the VMs that run already: a commitment grows over them, and slots adopt those that run beside them. Each
//! scenario without a fault, with a process that ends before and after every write, and with seeds for the order of
//! reconciliations and for faults.

use berth_crds::{CommittedResource, Reservation, names};
use berth_testkit::{Server, seeds, vms};
use serde_json::json;

use crate::scenario::*;
use crate::support::*;

/// Three tests for each scenario.
macro_rules! scenarios {
    ($($name:ident)*) => { $(
        mod $name {
            #[tokio::test(start_paused = true)]
            async fn ends_as_expected_without_a_fault() {
                super::$name().run_without_a_fault().await;
            }

            #[tokio::test(start_paused = true)]
            async fn a_process_may_end_before_and_after_every_write() {
                super::$name().end_at_every_write(stringify!($name)).await;
            }

            #[tokio::test(start_paused = true)]
            async fn any_order_and_any_fault_ends_as_expected() {
                super::$name().run_seeds().await;
            }
        }
    )* };
}

scenarios! {
    commitment_grows_over_payg
    commitment_that_does_not_fit_takes_over_nothing
    two_commitments_grow_over_the_same_vms
    adopt
    adopt_while_full
    vm_becomes_known_before_its_host_lists_it
}

/// Hosts and VMs of the slots of a commitment, whatever their numbers.
fn places(server: &Server, uuid: &str) -> Vec<String> {
    let mut places: Vec<_> =
        described(server, uuid).iter().filter_map(|slot| Some(slot.split_once(' ')?.1.to_owned())).collect();
    places.sort();
    places
}

fn grow(server: &Server, slots: u64) {
    let patch = json!({ "spec": { "amount": seeds::slots(slots) } });
    server.edit::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
}

fn run(server: &Server, host: &str, vms: &[&str]) {
    vms::run(server, host, vms).unwrap();
}

/// All hosts are full of VMs, and one is of another project. The first slot is around a VM already.
fn commitment_grows_over_payg() -> Scenario {
    Scenario {
        hosts: &[("node1", 2), ("node2", 1)],
        commitments: || vec![seeds::waiting_commitment(UUID, 1)],
        before: |server| {
            run(server, "node1", &["foreign-1", "vm-1"]);
            run(server, "node2", &["half-1", "half-2"]);
        },
        act: |server| grow(server, 2),
        check: |server| {
            assert_eq!(reason(server, UUID), "Accepted");
            assert_eq!(places(server, UUID), ["node1 [vm-1]", "node2 [half-1]", "node2 [half-2]"]);
        },
    }
}

fn commitment_that_does_not_fit_takes_over_nothing() -> Scenario {
    Scenario {
        commitments: || vec![seeds::rejectable(UUID, 1)],
        act: |server| grow(server, 3),
        check: |server| {
            assert_eq!(reason(server, UUID), "Rejected");
            assert_eq!(described(server, UUID), ["0 node1 [vm-1]"]);
        },
        ..commitment_grows_over_payg()
    }
}

/// Each VM gets one slot, whoever is first.
fn two_commitments_grow_over_the_same_vms() -> Scenario {
    Scenario {
        hosts: &[("node1", 2)],
        commitments: Vec::new,
        before: |server| run(server, "node1", &["vm-1", "vm-2"]),
        act: |server| {
            for uuid in [UUID, "uuid-2"] {
                server.create(&seeds::waiting_commitment(uuid, 1)).unwrap();
            }
        },
        check: |server| {
            let mut all = [described(server, UUID), described(server, "uuid-2")].concat();
            all.sort();
            assert_eq!(all, ["0 node1 [vm-1]", "0 node1 [vm-2]"]);
        },
    }
}

/// VMs start beside the slots of their project, on a host with room for both.
fn adopt() -> Scenario {
    Scenario {
        hosts: &[("node1", 5)],
        commitments: || vec![seeds::waiting_commitment(UUID, 2)],
        before: |_| {},
        act: |server| run(server, "node1", &["foreign-1", "half-1", "half-2", "vm-1"]),
        check: |server| assert_eq!(described(server, UUID), ["0 node1 [vm-1]", "1 node1 [half-1, half-2]"]),
    }
}

/// The same on a host that is full: the VMs over-book it until they are in the slots.
fn adopt_while_full() -> Scenario {
    Scenario { hosts: &[("node1", 2)], act: |server| run(server, "node1", &["half-1", "half-2", "vm-1"]), ..adopt() }
}

/// It first runs elsewhere, outside of the zone's slots.
fn vm_becomes_known_before_its_host_lists_it() -> Scenario {
    Scenario {
        hosts: &[("node1", 1), ("node2", 1)],
        commitments: || vec![seeds::waiting_commitment(UUID, 1)],
        before: |server| run(server, "node2", &["vm-1"]),
        act: |server| {
            run(server, "node2", &[]);
            run(server, "node1", &["vm-1"]);
        },
        check: |server| assert_eq!(described(server, UUID), ["0 node1 [vm-1]"]),
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_snapshot_of_vms_hosts_are_found_as_always() {
    let scenario = commitment_grows_over_payg();
    let stage = scenario.begin().await;
    stage.forget_vms();
    stage.act(&scenario);
    stage.process.settle().await;
    assert_eq!(described(&stage.server, UUID), ["0 node1 [vm-1]", "1 - []"]);
    assert_eq!(reason(&stage.server, UUID), "Reserving");
}

#[tokio::test(start_paused = true)]
async fn a_reservation_that_cannot_be_read_may_hold_the_vms_and_nothing_is_taken_over() {
    let scenario = commitment_grows_over_payg();
    let stage = scenario.begin().await;
    let mut other = serde_json::to_value(berth_crds::testing::slot("other", 0)).unwrap();
    other["spec"]["startTime"] = json!("never");
    stage.server.create_raw(other).unwrap();
    stage.act(&scenario);
    stage.process.settle().await;
    stage.server.delete::<Reservation>("commitment-other-0").unwrap();
    assert_eq!(described(&stage.server, UUID), ["0 node1 [vm-1]", "1 - []"]);
}
