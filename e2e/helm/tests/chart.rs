//! The chart passes its own checks, and docs/upgrade.md names values that it has.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeSet;

use berth_helm::rendering::{DOCUMENTED, Rendering};
use berth_helm::{Tools, check, checkout, program};
use serde_json::{Value, json};

/// The values of the manager in the chart `helm/library/cortex` of the system that Berth replaces, and of its bundle for Nova.
const FORMER_VALUES: &str = include_str!("former-values.txt");

#[test]
fn the_chart_is_as_its_sources_say_and_renders_with_all_sets_of_values() {
    check::run(&Tools::obtain().unwrap(), None).unwrap();
}

#[test]
fn an_older_cluster_is_refused() {
    let mut helm = Tools::obtain().unwrap().command("helm");
    let old = program::text(helm.arg("template").arg(checkout::chart()).args(["--kube-version", "1.30.9"]));
    let error = old.unwrap_err().to_string();
    assert!(error.contains("chart requires kubeVersion: >=1.31.0"), "{error}");
}

/// The values of `ci/reference-names.yaml` are those of the former charts as docs/upgrade.md maps them.
#[test]
fn the_former_values_give_objects_with_the_former_names_and_ports() {
    let set = checkout::chart().join("ci/reference-names.yaml");
    let rendering = Rendering::of(&Tools::obtain().unwrap(), &set, DOCUMENTED).unwrap();
    let named = |kind: &str, name: &str| {
        let found = rendering.documents.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let manager = "cortex-nova-scheduling-controller-manager";
    for (service, port) in [
        ("cortex-nova-scheduler", 8080),
        ("cortex-nova-metrics", 2112),
        ("cortex-placement-shim-service", 8080),
        ("cortex-placement-shim-metrics-service", 2112),
    ] {
        assert_eq!(named("Service", service)["spec"]["ports"][0]["port"], port, "{service}");
    }
    for name in [manager, "cortex-placement-shim"] {
        named("ServiceAccount", name);
        named("ConfigMap", &format!("{name}-config"));
        named("Secret", &format!("{name}-secrets"));
    }
    let deployment = &named("Deployment", manager)["spec"];
    let pod = &deployment["template"]["spec"];
    assert_eq!(deployment["replicas"], 1);
    assert_eq!(pod["terminationGracePeriodSeconds"], 15);
    assert_eq!(pod["containers"][0]["image"], "registry.example.org/berth:1.0");
    assert_eq!(pod["containers"][0]["resources"]["limits"], json!({ "cpu": "500m", "memory": "2048Mi" }));
    let configuration = named("ConfigMap", &format!("{manager}-config"))["data"]["conf.json"].as_str().unwrap();
    let configuration: Value = serde_json::from_str(configuration).unwrap();
    assert_eq!(configuration["leaderElectionID"], "cortex-nova-scheduling");
    assert_eq!(configuration["userAgent"], json!({ "component": "berth", "version": env!("CARGO_PKG_VERSION") }));
}

/// The words in backticks of the first two columns of the table of values.
fn mapped() -> Vec<(Vec<String>, Vec<String>)> {
    let page = checkout::read(&checkout::root().join("docs/upgrade.md")).unwrap();
    let (_, table) = page.split_once("| Its value | Value of `charts/berth` | Remarks |\n").expect("there is a table");
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').collect::<Vec<_>>()).map(|cells| (words(cells[1]), words(cells[2]))).collect()
}

#[test]
fn each_value_of_the_former_charts_has_one_row() {
    let rows: Vec<_> = mapped().into_iter().flat_map(|(former, _)| former).collect();
    let mapped: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(rows.len(), mapped.len());
    assert_eq!(mapped, FORMER_VALUES.lines().collect());
}

#[test]
fn the_values_that_replace_them_exist() {
    let text = checkout::read(&checkout::chart().join("values.yaml")).unwrap();
    let values: Value = serde_saphyr::from_str(&text).unwrap();
    for value in mapped().into_iter().flat_map(|(_, ours)| ours) {
        // The keys of the configuration are not listed in the values.
        let path = if value.starts_with("config.") { "config" } else { &value };
        let found = path.split('.').try_fold(&values, |values, name| values.get(name));
        assert!(found.is_some(), "{value}");
    }
}
