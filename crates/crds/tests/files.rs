//! `config/crd/` holds what this crate generates.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use berth_crds::generate;

#[test]
fn the_files_are_current() {
    compare("config/crd", generate::files(false).unwrap());
}

#[test]
fn those_of_others_are_printed_on_demand_only() {
    let names = |of_others| generate::files(of_others).unwrap().into_iter().map(|file| file.name).collect::<Vec<_>>();
    let ours = [
        "commitmentchanges",
        "committedresources",
        "flavorgroupcapacities",
        "histories",
        "projectquotas",
        "reservations",
    ];
    assert_eq!(names(false), ours.map(|plural| format!("cortex.cloud_{plural}.yaml")));
    let others = names(true).into_iter().filter(|name| !names(false).contains(name)).collect::<Vec<_>>();
    let plurals =
        ["cortex.cloud_datasources", "cortex.cloud_knowledges", "cortex.cloud_pipelines", "kvm.cloud.sap_hypervisors"];
    assert_eq!(others, plurals.map(|plural| format!("{plural}.yaml")));
}

fn compare(folder: &str, files: Vec<generate::File>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let stored: BTreeMap<_, _> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    let generated: BTreeMap<_, _> = files.into_iter().map(|file| (file.name, file.text)).collect();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&stored), names(&generated), "run make crds, and delete files of removed kinds");
    for (name, text) in generated {
        assert!(stored[&name] == text, "{folder}/{name} is not current: run make crds");
    }
}

#[test]
fn a_file_reads_back_as_the_crd_it_was_made_of() {
    for crd in generate::all().into_iter().chain(generate::optional()) {
        assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&generate::yaml(&crd).unwrap()).unwrap(), {
            serde_json::to_value(&crd).unwrap()
        });
    }
}
