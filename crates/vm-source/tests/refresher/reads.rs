//! When what is read.

use crate::world::{World, at, seconds, synced_at};

#[tokio::test(start_paused = true)]
async fn tables_are_read_when_they_were_copied_and_every_ten_minutes() {
    let world = World::begin();
    assert_eq!(at(&world.reads(5).await), [(0, "all")]);
    world.describe(synced_at(5));
    assert_eq!(at(&world.reads(40).await), [(30, "all")], "30 s after the former");
    world.describe(synced_at(44));
    assert_eq!(at(&world.reads(1300).await), [(60, "all"), (660, "all"), (1260, "all")]);
}

#[tokio::test(start_paused = true)]
async fn the_age_counts_from_the_older_of_the_read_and_the_copy() {
    let world = World::with(|world| world.describe(synced_at(-100)));
    world.pass(1).await;
    assert_eq!(world.source.snapshot().unwrap().as_of, seconds(-100));
    assert!(world.has_metric("berth_vm_source_age_seconds 101"));
    world.describe(synced_at(1_000_000));
    world.pass(60).await;
    assert_eq!(world.source.snapshot().unwrap().as_of, seconds(30), "a copy in the future counts as now");
}

#[tokio::test(start_paused = true)]
async fn an_old_copy_is_read_and_not_used() {
    let world = World::with(|world| world.describe(synced_at(-3700)));
    world.pass(1).await;
    assert_eq!(world.vms(), ["a"]);
    assert_eq!(
        world.unavailable(),
        "failed to list VMs from source: the data is 3701 s old: the tables were last copied then"
    );
    world.describe(synced_at(20));
    world.pass(60).await;
    assert!(world.source.snapshot().is_ok());
}

#[tokio::test(start_paused = true)]
async fn vms_that_hosts_list_are_read_by_themselves_every_10_seconds_at_most() {
    let world = World::begin();
    world.pass(1).await;
    assert!(world.has_metric("berth_vm_source_vms 1") && world.has_metric("berth_vm_source_lacking_vms 0"));
    world.reads(14).await;
    world.add_other("b");
    world.list("az-1", ["a", "b", "ghost"].map(str::to_owned));
    assert_eq!(at(&world.reads(1).await), [(15, "b ghost")]);
    assert_eq!(world.vms(), ["a", "b"]);
    assert!(world.has_metric("berth_vm_source_vms 2") && world.has_metric("berth_vm_source_lacking_vms 1"));
    assert_eq!(world.source.snapshot().unwrap().as_of, seconds(-1), "the others are no newer");
    world.add_other("c");
    world.list("az-1", ["c".to_owned()]);
    assert_eq!(at(&world.reads(20).await), [(25, "c ghost"), (35, "ghost")]);
    assert_eq!(world.vms(), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn many_lacking_vms_are_read_in_batches() {
    let world = World::with(|world| world.list("az-1", (0..2500).map(|number| format!("{number:04}"))));
    assert_eq!(
        at(&world.reads(35).await),
        [(0, "all"), (0, "1000 servers"), (10, "1000 servers"), (20, "1000 servers"), (30, "1000 servers")]
    );
}

#[tokio::test(start_paused = true)]
async fn vms_that_no_host_lists_are_counted_by_zone() {
    let world = World::with(|world| {
        world.servers(&["a", "b", "c"]);
        world.list("az-1", ["a".to_owned()]);
        world.list("az-2", ["d".to_owned()]);
    });
    world.pass(1).await;
    assert!(world.has_metric("berth_vms_unlisted{zone=\"az-1\"} 2"));
    assert!(world.has_metric("berth_vms_unlisted{zone=\"az-2\"} 0"));
    world.forget_hosts();
    world.list("az-1", ["b".to_owned()]);
    world.pass(30).await;
    assert!(world.has_metric("berth_vms_unlisted{zone=\"az-1\"} 2"), "not all hosts are known");
}
