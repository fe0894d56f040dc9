//! Any text in any column of a row is read, and is the same row in both databases.

use berth_vm_source::{ServerColumns, ServerRows, VmRow};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::on_every_table;
use crate::world::{World, quoted};

on_every_table!(any_text_in_any_column_is_a_row);

const ROWS: usize = 400;

/// Texts without the character 0, which PostgreSQL does not store, and texts that mean something.
fn text() -> impl Strategy<Value = String> {
    let any = any::<String>().prop_map(|text| text.replace('\0', ""));
    let known = prop::sample::select(vec!["", "unknown", "2026-02-01T08:00:00Z", "az-1", "%", "\\N", "NULL", "'--"]);
    prop_oneof![3 => any, 1 => known.prop_map(str::to_owned)]
}

async fn any_text_in_any_column_is_a_row(mut world: World) {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let generated = vec(vec(text(), 8), ROWS).new_tree(&mut runner).unwrap().current();
    let (mut expected, mut values) = (ServerRows::default(), Vec::new());
    for (index, texts) in generated.iter().enumerate() {
        let id = format!("{index:04}");
        let [name, status, project, created, zone, host, flavor, os_type] = &texts[..] else { unreachable!() };
        let columns = ServerColumns { id: &id, name, status, project, created, zone, host, flavor, os_type };
        expected.add(&columns).unwrap();
        let rest: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
        values.push(format!("({}, {})", quoted(&id), rest.join(", ")));
    }
    let columns =
        "id, name, status, tenant_id, created, os_ext_az_availability_zone, os_ext_srv_attr_host, flavor_name, os_type";
    world.run(&format!("INSERT INTO openstack_servers_v4 ({columns}) VALUES {}", values.join(", "))).await;
    let expected: Vec<VmRow> = expected.finish();
    assert_eq!(world.rows().await, expected);
}
