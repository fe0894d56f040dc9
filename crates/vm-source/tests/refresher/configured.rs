//! Whether there is a database at all.

use berth_vm_source::{FailureKind, FoundDatasource};

use crate::world::{World, at, synced_at};

#[tokio::test(start_paused = true)]
async fn without_a_datasource_there_is_no_source_until_there_is_one() {
    let world = World::with(|world| {
        world.require(false);
        world.describe(FoundDatasource::Absent);
    });
    world.pass(1000).await;
    assert_eq!(world.unavailable(), "vm source not configured");
    assert!(world.has_metric("berth_vm_source_configured 0") && world.failures.borrow().is_none());
    world.reads(0).await;
    world.describe(synced_at(999));
    assert_eq!(at(&world.reads(1).await), [(1000, "all")]);
    assert!(world.source.snapshot().is_ok() && world.has_metric("berth_vm_source_configured 1"));

    world.describe(FoundDatasource::Absent);
    world.pass(40).await;
    assert!(world.source.snapshot().is_ok(), "what was read is used until it is old");
    assert_eq!(world.failures.borrow().as_ref().map(|failure| failure.kind), Some(FailureKind::Datasource));
    world.pass(3700).await;
    assert!(world.unavailable().contains("\"nova-servers\" not found"), "{}", world.unavailable());
}

#[tokio::test(start_paused = true)]
async fn a_datasource_that_the_configuration_names_must_exist() {
    let world = World::with(|world| world.describe(FoundDatasource::Absent));
    world.pass(10).await;
    assert_eq!(
        world.unavailable(),
        "failed to list VMs from source: failed to connect to datasource nova-servers: failed to get datasource \
         nova-servers: datasources.cortex.cloud \"nova-servers\" not found"
    );
    assert!(world.has_metric("berth_vm_source_configured 1"));
    world.describe(synced_at(10));
    assert_eq!(at(&world.reads(1).await), [(10, "all")], "it does not wait for the next attempt");
    assert!(world.source.snapshot().is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_first_list_of_datasources_is_awaited_for_a_while() {
    let unknown = || FoundDatasource::Unknown("no answer".to_owned());
    let world = World::with(|world| {
        world.require(false);
        world.describe(unknown());
    });
    world.pass(20).await;
    assert_eq!(world.unavailable(), "failed to list VMs from source: no read has ended yet");
    assert!(world.failures.borrow().is_none());
    world.pass(20).await;
    assert!(
        world.unavailable().ends_with("failed to get datasource nova-servers: no answer"),
        "{}",
        world.unavailable()
    );
    world.describe(synced_at(0));
    world.pass(1).await;
    assert!(world.source.snapshot().is_ok());
}
