//! The property of `vm_rows`, for the fuzzer and for a test of `berth-vm-source`: any text in any column is a row, and
//! the snapshot has each server with a host and a known flavor once.
//!
//! A line of the input is a row: `server` or `flavor` and the columns, separated by tabs.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::ProjectId;
use berth_vm_source::{FlavorColumns, ServerColumns, ServerRows, VmSnapshot, flavors_of};
use jiff::Timestamp;

/// The number of VMs in the snapshot of these rows.
pub fn vms(input: &[u8]) -> usize {
    let text = String::from_utf8_lossy(input);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let column = |line: &[&'_ str], index: usize| line.get(index).copied().unwrap_or_default().to_owned();
    let (mut servers, mut flavors) = (ServerRows::default(), Vec::new());
    // The project of the server with each UUID that the snapshot must have: the first one.
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for line in lines.iter().filter(|line| line[0] == "flavor") {
        flavors.push(flavor(|index| column(line, index)));
    }
    let known: BTreeSet<String> = flavors.iter().map(|flavor| flavor.name.clone()).collect();
    for line in lines.iter().filter(|line| line[0] == "server") {
        let texts: [String; 9] = std::array::from_fn(|index| column(line, index + 1));
        let columns = server(&texts);
        servers.add(&columns).expect("the input is small");
        if !columns.host.is_empty() && known.contains(columns.flavor) {
            let project = expected.entry(columns.id.to_owned()).or_insert_with(|| columns.project.to_owned());
            if columns.project < project.as_str() {
                columns.project.clone_into(project);
            }
        }
    }
    let snapshot = VmSnapshot::new(servers.finish(), flavors_of(flavors), Timestamp::UNIX_EPOCH);
    check(&snapshot, &expected);
    snapshot.vms().len()
}

fn check(snapshot: &VmSnapshot, expected: &BTreeMap<String, String>) {
    assert_eq!(snapshot.vms().len(), expected.len());
    assert!(snapshot.vms().is_sorted_by_key(|vm| (&vm.project, &vm.id)));
    for (id, project) in expected {
        let vm = snapshot.vm(&id.as_str().into()).expect("it has a host and a known flavor");
        assert_eq!(vm.project.as_str(), project);
        assert!(!vm.os_type.is_empty() && snapshot.flavor(&vm.flavor.name).is_some());
        assert!(snapshot.of_project(&ProjectId::from(project.as_str())).contains(vm));
    }
}

fn server(texts: &[String; 9]) -> ServerColumns<'_> {
    let [id, name, status, project, created, zone, host, flavor, os_type] = texts;
    ServerColumns { id, name, status, project, created, zone, host, flavor, os_type }
}

fn flavor(column: impl Fn(usize) -> String) -> FlavorColumns {
    let number = |index| column(index).parse().unwrap_or_default();
    FlavorColumns {
        id: column(1),
        name: column(2),
        vcpus: number(3),
        ram: number(4),
        disk: number(5),
        extra_specs: column(6),
    }
}
