//! Nova asks where VMs may go, and bookings take capacity. Runs the real binary on a real API server.

use berth_crds::testing;
use futures::future::{join, join_all};
use jiff::Timestamp;
use serde_json::json;

use crate::support::desk::Desk;
use crate::support::http;
use crate::support::nova::{
    ask, booked, hosts_are_known, of_another_project, of_project, only_asks, slots_with, starts, wants,
};
use crate::support::objects::{SLOT_GIB, ZONE, host, non_rejectable, rejectable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

async fn with_hosts(hosts: &[(&str, u64)]) -> World {
    let hosts: Vec<_> = hosts.iter().map(|(name, slots)| host(name, *slots)).collect();
    let world = World::with_hosts(&hosts).await;
    hosts_are_known(&world).await;
    world
}

/// More than any host here has capacity for.
const MOST_SLOTS: u64 = 100;

/// The number of VMs of a slot's size of another project that a host has free capacity for.
async fn free(world: &World, host: &str) -> u64 {
    for free in 0..MOST_SLOTS {
        let mut question = only_asks(of_another_project(wants("nobody", &[host])));
        let flavor = &mut question["spec"]["nova_object.data"]["flavor"]["nova_object.data"];
        flavor["memory_mb"] = json!((free + 1) * SLOT_GIB * 1024);
        if !ask(world.operator().api(), &question).await.iter().any(|answered| answered == host) {
            return free;
        }
    }
    panic!("{host} admits VMs of any size");
}

/// Waits until a host has this much free capacity.
async fn has_capacity(world: &World, host: &str, wanted: u64) {
    world
        .until_reported(&format!("{host} has capacity for {wanted}"), async |world, _| {
            let free = free(world, host).await;
            so(free == wanted, || format!("it has capacity for {free}"))
        })
        .await;
}

#[tokio::test]
async fn a_vm_of_a_project_with_a_commitment_goes_to_the_host_of_its_slot_and_into_it() {
    let world = with_hosts(&[("node1", 4), ("node2", 4)]).await;
    world.create(&rejectable("owner-1", 1)).await;
    let slot = world.accepted("owner-1").await.slots_of("owner-1")[0].clone();
    let (here, slot) = (slot.spec.target_host.unwrap(), slot.metadata.name.unwrap());
    let other = if here == "node1" { "node2" } else { "node1" };
    let api = world.operator().api();

    let metrics = world.operator().metrics().await;
    assert!(metrics.contains("berth_auth_disabled{api=\"scheduler\"} 1"), "{metrics}");
    let unknown_host = only_asks(of_another_project(wants("vm-0", &["node1", "node2"])));
    assert_eq!(ask(api, &unknown_host).await, [other, &here], "the emptier host is best for all other projects");
    assert_eq!(ask(api, &wants("vm-1", &["node1", "node2"])).await, [&*here, other]);
    assert_eq!(booked(&world, "vm-1").await, slot);
    // Its capacity is that of the slot, before it starts and afterwards.
    assert_eq!(free(&world, &here).await, 3);
    starts(&world, "vm-1", &here).await;
    has_capacity(&world, &here, 3).await;
    world.rest().await;
    assert_eq!([free(&world, &here).await, free(&world, other).await], [3, 4]);
    world.end().await;
}

#[tokio::test]
async fn what_nova_was_promised_is_listed_by_the_commands() {
    let world = with_hosts(&[("node1", 2)]).await;
    let request = of_another_project(wants("vm-1", &["node1"]));
    assert_eq!(ask(world.operator().api(), &request).await, ["node1"]);
    let desk = Desk::of(world.people());
    let host = ["explain", "host", "node1"];
    let request = ["schedule", "--flavor", testing::FLAVOR, "--zone", ZONE];
    for command in [&host[..], &request] {
        let text = desk.shown(command).await;
        let (_, claims) = text.split_once("\nClaimed for VMs that have not appeared yet\n").expect(&text);
        let claim: Vec<&str> = claims.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(claim[..7], ["vm-1", "another-project", "node1", "480", "GiB,", "30", "cores"], "{text}");
        assert!(claim[7].parse::<Timestamp>().unwrap() > Timestamp::now(), "{text}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_repeated_request_books_once_and_keeps_once() {
    let world = with_hosts(&[("node1", 3)]).await;
    world.create(&rejectable("twice-1", 2)).await;
    world.accepted("twice-1").await;
    let api = world.operator().api();
    for _ in 0..3 {
        assert_eq!(ask(api, &wants("vm-1", &["node1"])).await, ["node1"]);
    }
    // A request that comes when the slot shows the VM already books nothing.
    let slot = booked(&world, "vm-1").await;
    world.until_metric("berth_bookings_total", &["outcome=\"written\""], 1).await;

    // A VM of another project takes the last free capacity beside both slots; more than one does not fit.
    for _ in 0..3 {
        assert_eq!(ask(api, &of_another_project(wants("vm-2", &["node1"]))).await, ["node1"]);
    }
    assert_eq!(ask(api, &of_another_project(wants("vm-3", &["node1"]))).await, [""; 0]);
    // The other slot is still available to its project.
    assert_eq!(ask(api, &wants("vm-4", &["node1"])).await, ["node1"]);
    assert_ne!(booked(&world, "vm-4").await, slot);
    for vm in ["vm-1", "vm-2", "vm-4"] {
        starts(&world, vm, "node1").await;
    }
    world.rest().await;
    assert_eq!(free(&world, "node1").await, 0);
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, "berth_bookings_total", &["outcome=\"written\""]), 2, "vm-1 and vm-4, once each");
    world.end().await;
}

#[tokio::test]
async fn a_project_that_claims_more_than_half_of_a_zone_gets_no_hosts_and_nova_no_error() {
    let world = with_hosts(&[("node1", 2), ("node2", 2)]).await;
    let api = world.operator().api();
    let of = |project: &str, vm: &str| of_project(wants(vm, &["node1", "node2"]), project);
    for vm in ["vm-1", "vm-2"] {
        assert_ne!(ask(api, &of("hostile", vm)).await, [""; 0]);
    }
    assert_eq!(ask(api, &of("hostile", "vm-3")).await, [""; 0]);
    assert_ne!(ask(api, &of("honest", "vm-4")).await, [""; 0]);
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, "berth_claims_refused_total", &["reason=\"share\""]), 1);
    let log = world.operator().log();
    assert!(log.contains("the claims of the project would take more than half"), "{log}");
    world.end().await;
}

#[tokio::test]
async fn requests_at_the_same_time_never_share_capacity() {
    let world = with_hosts(&[("node1", 1), ("node2", 1)]).await;
    let api = world.operator().api();
    let vms: Vec<String> = (0..6).map(|number| format!("vm-{number}")).collect();
    // Each VM is of a project of its own: the claims of one project take at most half of a zone.
    let own_project = |vm: &str| of_project(wants(vm, &["node1", "node2"]), vm);
    let requests: Vec<_> = vms.iter().map(|vm| own_project(vm)).collect();
    let answers = join_all(requests.iter().map(|request| ask(api, request))).await;
    let mut first: Vec<_> = vms.iter().zip(&answers).filter_map(|(vm, hosts)| Some((hosts.first()?, vm))).collect();
    first.sort();
    let hosts: Vec<_> = first.iter().map(|(host, _)| host.as_str()).collect();
    assert_eq!(hosts, ["node1", "node2"], "each host once, and none for the others: {answers:?}");
    // A repeated request gets the same answer.
    let (host, vm) = first[0];
    assert_eq!(ask(api, &own_project(vm)).await.first(), Some(host));
    for (host, vm) in first {
        starts(&world, vm, host).await;
    }
    let full = only_asks(wants("vm-9", &["node1", "node2"]));
    assert_eq!(ask(api, &full).await, [""; 0]);
    world.end().await;
}

#[tokio::test]
async fn a_commitment_does_not_get_the_capacity_that_nova_was_given_just_before() {
    let world = with_hosts(&[("node1", 1)]).await;
    let (api, request) = (world.operator().api(), wants("vm-1", &["node1"]));
    assert_eq!(ask(api, &request).await, ["node1"]);
    world.create(&non_rejectable("late-1", 1)).await;
    world.reported("late-1", "Reserving", "insufficient capacity: 0/1").await;
    assert_eq!(
        http::sum(&world.operator().metrics().await, "berth_bookings_total", &[]),
        0,
        "there was no slot for the VM"
    );
    world.create(&host("node2", 1)).await;
    assert_eq!(world.accepted("late-1").await.hosts_of("late-1"), ["node2"]);
    starts(&world, "vm-1", "node1").await;
    world.end().await;
}

#[tokio::test]
async fn a_claim_of_nova_ends_when_its_vm_is_seen_elsewhere() {
    let world = with_hosts(&[("node1", 2), ("node2", 2)]).await;
    let given = ask(world.operator().api(), &of_another_project(wants("vm-1", &["node1", "node2"]))).await;
    let [first, second] = &given[..] else { panic!("{given:?}") };
    assert_eq!([free(&world, first).await, free(&world, second).await], [1, 2]);
    // Nova takes the second host of the answer, as it may.
    starts(&world, "vm-1", second).await;
    has_capacity(&world, first, 2).await;
    has_capacity(&world, second, 1).await;
    world.end().await;
}

#[tokio::test]
async fn in_an_outage_of_the_api_server_nova_is_answered_and_no_capacity_is_given_twice() {
    let mut world = with_hosts(&[("node1", 2)]).await;
    world.create(&rejectable("outage-1", 1)).await;
    world.accepted("outage-1").await;
    world.rest().await;
    world.control_plane().stop_api_server().await.unwrap();
    let api = world.operator().api();
    assert_eq!(ask(api, &of_another_project(wants("vm-1", &["node1"]))).await, ["node1"]);
    assert_eq!(ask(api, &wants("vm-2", &["node1"])).await, ["node1"], "the VM is in the slot");
    assert_eq!(ask(api, &only_asks(wants("vm-3", &["node1"]))).await, [""; 0]);
    // The slot cannot be written; the answer counts all the same.
    let until_failed = until(async || {
        let metrics = world.operator().metrics().await;
        so(http::sum(&metrics, "berth_bookings_total", &["outcome=\"failed\""]) == 1, || "not yet".to_owned())
    });
    until_failed.await.unwrap();
    assert_eq!(ask(api, &only_asks(wants("vm-3", &["node1"]))).await, [""; 0]);
    world.control_plane().restart_api_server().await.unwrap();
    assert_eq!(ask(api, &wants("vm-2", &["node1"])).await, ["node1"], "a repeated request gets the same answer");
    booked(&world, "vm-2").await;
    for vm in ["vm-1", "vm-2"] {
        starts(&world, vm, "node1").await;
    }
    world.end().await;
}

#[tokio::test]
async fn nova_is_answered_hosts_of_its_request_only_unless_all_are_configured() {
    let mut world = World::without_operator().await;
    for name in ["node1", "node2"] {
        world.create(&host(name, 1)).await;
    }
    let question = only_asks(wants("vm-1", &["node2"]));
    for (keys, answered) in [(json!({}), 1), (json!({ "novaLimitHostsToRequest": false }), 2)] {
        world.use_keys(&keys);
        world.start().await;
        hosts_are_known(&world).await;
        assert_eq!(ask(world.operator().api(), &question).await.len(), answered, "{keys}");
        world.stop().await;
    }
}

#[tokio::test]
async fn nova_does_not_get_the_capacity_of_a_commitment_that_comes_at_the_same_time() {
    let world = with_hosts(&[("node1", 2)]).await;
    let api = world.operator().api();
    let unknown_hosts: Vec<_> = ["vm-1", "vm-2"].iter().map(|vm| of_another_project(wants(vm, &["node1"]))).collect();
    let (answers, _) = join(
        join_all(unknown_hosts.iter().map(|request| ask(api, request))),
        world.create(&non_rejectable("race-1", 1)),
    )
    .await;
    let given = answers.iter().filter(|hosts| !hosts.is_empty()).count();
    for (vm, _) in ["vm-1", "vm-2"].into_iter().zip(&answers).filter(|(_, hosts)| !hosts.is_empty()) {
        starts(&world, vm, "node1").await;
    }
    if given == 2 {
        world.reported("race-1", "Reserving", "insufficient capacity: 0/1").await;
    } else {
        world.accepted("race-1").await;
    }
    let seen = world.rest().await;
    assert!(seen.hosts_of("race-1").len() + given <= 2, "{seen}");
    assert_eq!(ask(api, &only_asks(of_another_project(wants("vm-3", &["node1"])))).await, [""; 0]);
    world.end().await;
}

#[tokio::test]
async fn without_the_tracking_of_vms_nothing_is_booked() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.use_keys(&json!({ "featureGates": { "committedResourceTracking": false } }));
    world.start().await;
    world.create(&rejectable("unused-1", 1)).await;
    world.accepted("unused-1").await;
    let api = world.operator().api();
    assert_eq!(ask(api, &wants("vm-1", &["node1"])).await, ["node1"]);
    // Bookings are written after the answer, so the next request must see all of the first one.
    assert_eq!(ask(api, &wants("vm-2", &["node1"])).await, ["node1"]);
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, "berth_bookings_total", &[]), 0);
    let seen = world.rest().await;
    assert!(slots_with(&seen, "vm-1").is_empty() && slots_with(&seen, "vm-2").is_empty(), "{seen}");
    world.end().await;
}
