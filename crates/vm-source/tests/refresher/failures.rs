//! A read that fails leaves the former snapshot, and each kind of failure is reported once.

use berth_vm_source::FailureKind;

use crate::world::{World, at, copied, flavor, hanging, silent, synced_at};

#[tokio::test(start_paused = true)]
async fn the_former_snapshot_stays_until_it_is_too_old() {
    let mut world = World::begin();
    world.pass(1).await;
    world.failures.mark_unchanged();
    world.fail(Some(hanging));
    world.describe(synced_at(1));
    world.pass(3500).await;
    assert!(world.source.snapshot().is_ok());
    assert!(world.failures.has_changed().unwrap(), "it is reported");
    let failure = world.failures.borrow_and_update().clone().unwrap();
    assert_eq!((failure.kind, failure.kind.reason()), (FailureKind::Timeout, "DatabaseTooSlow"));
    world.pass(200).await;
    assert_eq!(world.vms(), ["a"]);
    assert_eq!(
        world.unavailable(),
        "failed to list VMs from source: the data is 3702 s old: failed to get servers: no answer within 30 s; check the \
         load of the database and its locks"
    );
    assert!(!world.failures.has_changed().unwrap(), "once");
    world.fail(None);
    world.describe(synced_at(3700));
    world.pass(60).await;
    assert!(world.source.snapshot().is_ok());
    assert_eq!(*world.failures.borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn each_kind_is_reported_once_until_a_read_succeeds() {
    let mut world = World::with(|world| world.fail(Some(silent)));
    world.pass(10).await;
    assert_eq!(world.failures.borrow_and_update().as_ref().map(|failure| failure.kind), Some(FailureKind::Timeout));
    world.servers(&[]);
    world.fail(None);
    world.pass(120).await;
    let emptied = world.failures.borrow_and_update().clone().unwrap();
    assert_eq!((emptied.kind, emptied.kind.reason()), (FailureKind::TableEmptied, "DatabaseTableEmptied"));
    world.fail(Some(silent));
    world.pass(120).await;
    assert!(!world.failures.has_changed().unwrap(), "both kinds are known");
}

#[tokio::test(start_paused = true)]
async fn attempts_to_connect_back_off_and_failing_queries_are_repeated_slowly() {
    let world = World::with(|world| world.fail(Some(silent)));
    assert_eq!(at(&world.reads(20).await), [(0, "all"), (1, "all"), (3, "all"), (7, "all"), (15, "all")]);
    world.fail(Some(hanging));
    let log = world.reads(200).await;
    assert!(log.windows(2).all(|two| two[1].0 - two[0].0 >= 30), "{log:?}");
    assert!(log.len() >= 3, "{log:?}");
    assert!(world.has_metric(&format!("berth_vm_source_failed_reads_total{{reason=\"timeout\"}} {}", 5 + log.len())));
    assert!(world.has_metric("berth_vm_source_failed_reads_total{reason=\"table_emptied\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn an_emptied_table_is_no_empty_cloud() {
    let world = World::begin();
    world.pass(1).await;
    world.servers(&[]);
    world.describe(copied(2, 4211));
    world.pass(120).await;
    assert_eq!(world.vms(), ["a"]);
    let failure = world.failures.borrow().clone().unwrap();
    assert_eq!(
        failure.text,
        "failed to get servers: the table is empty, but the datasource has copied 4211 servers; check the writer of the \
         table"
    );
    world.describe(copied(130, 0));
    world.pass(120).await;
    assert_eq!(world.vms(), Vec::<String>::new(), "it is said to be empty");
    assert!(world.source.snapshot().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_emptied_table_of_flavors_is_no_cloud_without_vms() {
    let world = World::begin();
    world.pass(1).await;
    world.flavors(vec![]);
    world.describe(synced_at(2));
    world.pass(120).await;
    assert_eq!(world.vms(), ["a"]);
    assert_eq!(world.failures.borrow().as_ref().map(|failure| failure.kind), Some(FailureKind::TableEmptied));
    world.flavors(vec![flavor()]);
    world.pass(120).await;
    assert_eq!(*world.failures.borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn a_failing_read_of_single_servers_is_a_failure() {
    let world = World::begin();
    world.pass(1).await;
    world.fail(Some(silent));
    world.list("az-1", ["b".to_owned()]);
    world.reads(12).await;
    let log = world.reads(30).await;
    assert!(log.iter().all(|(_, what)| what == "all"), "everything is read again, after a delay: {log:?}");
    world.fail(None);
    world.pass(120).await;
    assert_eq!(*world.failures.borrow(), None);
    assert!(world.source.snapshot().is_ok());
}
