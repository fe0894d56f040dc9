//! What both databases have in common.

use berth_core::flavor::Flavor;
use berth_vm_source::{FailureKind, VmRow, VmSnapshot};
use jiff::Timestamp;

use crate::on_every_table;
use crate::world::World;

on_every_table!(
    a_row_is_read_with_all_its_columns,
    every_status_is_read_and_rows_without_host_or_flavor_are_left_out_of_the_snapshot,
    null_is_the_empty_text,
    times_that_cannot_be_read_are_none,
    of_flavors_with_one_name_the_smallest_id_counts,
    extra_specs_that_are_no_map_of_texts_are_empty,
    numbers_out_of_range_are_the_nearest,
    only_the_named_servers_are_read,
    added_columns_change_nothing,
    renamed_columns_and_missing_tables_are_reported,
    empty_tables_are_read_as_such,
);

const COLUMNS: &str = "INSERT INTO openstack_servers_v4 (id, name, status, tenant_id, created, \
     os_ext_az_availability_zone, os_ext_srv_attr_host, flavor_name, os_type) VALUES";
const FLAVOR_COLUMNS: &str = "INSERT INTO openstack_flavors_v2 (id, name, vcpus, ram, disk, extra_specs) VALUES";

async fn add(world: &mut World, values: &str) {
    world.run(&format!("{COLUMNS} {values}")).await;
}

async fn add_flavors(world: &mut World, values: &str) {
    world.run(&format!("{FLAVOR_COLUMNS} {values}")).await;
}

async fn flavors(world: &mut World) -> Vec<Flavor> {
    world.read().await.unwrap().flavors
}

async fn a_row_is_read_with_all_its_columns(mut world: World) {
    add(&mut world, "('vm-a', 'db-1', 'ACTIVE', 'p', '2026-02-01T08:00:00Z', 'az-1', 'node1', 'g_k_c4_m16', 'win')")
        .await;
    let row = VmRow {
        id: "vm-a".into(),
        name: "db-1".into(),
        project: "p".into(),
        status: "ACTIVE".into(),
        created: Some("2026-02-01T08:00:00Z".parse().unwrap()),
        zone: "az-1".into(),
        host: "node1".into(),
        flavor: "g_k_c4_m16".into(),
        os_type: "win".into(),
    };
    assert_eq!(world.rows().await, [row]);
}

async fn every_status_is_read_and_rows_without_host_or_flavor_are_left_out_of_the_snapshot(mut world: World) {
    add_flavors(&mut world, r#"('1', 'm1', 4, 16368, 64, '{"quota:hw_version":"2101","hw_video:ram_max_mb":"16"}')"#)
        .await;
    add(
        &mut world,
        "('a', '', 'ACTIVE', 'p', '', 'az-1', 'h', 'm1', ''), ('b', '', 'ERROR', 'p', '', 'az-1', 'h', 'm1', ''), \
         ('c', '', 'SHUTOFF', 'p', '', 'az-1', 'h', 'm1', ''), ('d', '', 'ACTIVE', 'p', '', 'az-1', '', 'm1', ''), \
         ('e', '', 'ACTIVE', 'p', '', 'az-1', 'h', 'other', '')",
    )
    .await;
    let contents = world.read().await.unwrap();
    assert_eq!(contents.rows.len(), 5);
    let snapshot = VmSnapshot::new(contents.rows, contents.flavors, Timestamp::UNIX_EPOCH);
    let shown: Vec<_> = snapshot.vms().iter().map(|vm| (vm.id.as_str(), &*vm.status, &*vm.os_type)).collect();
    assert_eq!(shown, [("a", "ACTIVE", "unknown"), ("b", "ERROR", "unknown"), ("c", "SHUTOFF", "unknown")]);
    let flavor = &snapshot.vms()[0].flavor;
    assert_eq!((flavor.memory_mib, flavor.vcpus, flavor.disk_gib), (16368, 4, 64));
    assert_eq!(flavor.extra_specs["quota:hw_version"], "2101");
}

async fn null_is_the_empty_text(mut world: World) {
    add(&mut world, "('a', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)").await;
    add_flavors(&mut world, "('1', NULL, NULL, NULL, NULL, NULL)").await;
    assert_eq!(world.rows().await, [VmRow { id: "a".into(), os_type: "unknown".into(), ..VmRow::default() }]);
    let empty = Flavor { name: "".into(), vcpus: 0, memory_mib: 0, disk_gib: 0, extra_specs: [].into() };
    assert_eq!(flavors(&mut world).await, [empty]);
}

async fn times_that_cannot_be_read_are_none(mut world: World) {
    let texts = [
        ("2026-02-01T08:00:00Z", Some("2026-02-01T08:00:00Z")),
        ("2026-02-01T09:00:00.5+01:00", Some("2026-02-01T08:00:00.5Z")),
        ("2026-02-01 08:00:00+00", Some("2026-02-01T08:00:00Z")),
        ("9999-12-31T23:59:59Z", Some("9999-12-30T22:00:00.999999999Z")),
        ("2026-02-01", None),
        ("2026-02-01T08:00:00", None),
        ("2026-13-01T08:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ];
    for (index, (text, _)) in texts.iter().enumerate() {
        add(&mut world, &format!("('{index}', '', '', '', '{text}', '', '', '', '')")).await;
    }
    for (row, (text, time)) in world.rows().await.iter().zip(texts) {
        assert_eq!(row.created, time.map(|time| time.parse().unwrap()), "{text:?}");
    }
}

async fn of_flavors_with_one_name_the_smallest_id_counts(mut world: World) {
    add_flavors(&mut world, "('3', 'm1', 3, 3, 0, ''), ('10', 'm1', 10, 10, 0, ''), ('2', 'm1', 2, 2, 0, '')").await;
    assert_eq!(flavors(&mut world).await.iter().map(|flavor| flavor.vcpus).collect::<Vec<_>>(), [10]);
}

async fn extra_specs_that_are_no_map_of_texts_are_empty(mut world: World) {
    let texts = [r#"{"a":"b"}"#, "{}", "", r#"{"a":1}"#, "[]", "null", r#"{"a":"b""#, "\u{1F600}"];
    for (index, text) in texts.iter().enumerate() {
        add_flavors(&mut world, &format!("('{index}', '{index}', 1, 1, 1, '{text}')")).await;
    }
    let specs: Vec<usize> = flavors(&mut world).await.iter().map(|flavor| flavor.extra_specs.len()).collect();
    assert_eq!(specs, [1, 0, 0, 0, 0, 0, 0, 0]);
}

async fn numbers_out_of_range_are_the_nearest(mut world: World) {
    add_flavors(
        &mut world,
        "('1', 'a', -1, -9223372036854775808, -1, ''), ('2', 'b', 9223372036854775807, 9223372036854775807, 1, '')",
    )
    .await;
    let sizes: Vec<_> =
        flavors(&mut world).await.iter().map(|flavor| (flavor.vcpus, flavor.memory_mib, flavor.disk_gib)).collect();
    assert_eq!(sizes, [(0, 0, 0), (u32::MAX, i64::MAX.unsigned_abs(), 1)]);
}

async fn only_the_named_servers_are_read(mut world: World) {
    for id in ["a", "b", "c'", "d\"\\"] {
        let values = format!("({}, '', '', '', '', '', '', '', '')", crate::world::quoted(id));
        add(&mut world, &values).await;
    }
    assert_eq!(world.rows_of(&["a", "c'", "d\"\\", "missing"]).await, ["a", "c'", "d\"\\"]);
    assert_eq!(world.rows_of(&["missing"]).await, Vec::<String>::new());
    assert_eq!(world.rows_of(&[]).await, Vec::<String>::new());
}

async fn added_columns_change_nothing(mut world: World) {
    world.run("ALTER TABLE openstack_servers_v4 ADD COLUMN more text").await;
    add(&mut world, "('a', '', '', '', '', '', '', '', '')").await;
    assert_eq!(world.rows().await.len(), 1);
}

async fn renamed_columns_and_missing_tables_are_reported(mut world: World) {
    world.run("ALTER TABLE openstack_flavors_v2 RENAME COLUMN ram TO memory").await;
    let (kind, text) = world.failure().await;
    assert_eq!(kind, FailureKind::Schema, "{text}");
    assert!(text.starts_with("failed to get flavors: a table or a column is not as expected;"), "{text}");
    assert!(text.contains("ram"), "{text}");
    world.run("ALTER TABLE openstack_flavors_v2 RENAME COLUMN memory TO ram").await;
    assert!(world.read().await.is_ok(), "it is read again when the column is back");
    world.run("DROP TABLE openstack_servers_v4").await;
    let (kind, text) = world.failure().await;
    assert_eq!(kind, FailureKind::Schema, "{text}");
    assert!(text.starts_with("failed to get servers: ") && text.contains("openstack_servers_v4"), "{text}");
}

async fn empty_tables_are_read_as_such(mut world: World) {
    assert_eq!(world.read().await.unwrap(), berth_vm_source::TableContents::default());
}
