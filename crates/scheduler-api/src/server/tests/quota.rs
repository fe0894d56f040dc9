//! What the filter of quota decides is counted once for each request, and explained to a client that asks for it.

use berth_scheduler::{BudgetChange, GroupQuota, Param, Pipeline, PipelineSpec, Pipelines, ResourceQuota, StepSpec};
use serde_json::{Value, json};

use super::setting::{Setting, body, extra_specs, read_only, setting, spec};
use crate::Backend as _;

/// A project with a quota of 4 GiB of group g1 in the zone of the hosts.
fn limited() -> Setting {
    let setting = setting();
    let ram = ResourceQuota { quota: Some(4), used: 1 };
    let quota = [("g1".into(), GroupQuota { ram, ..GroupQuota::default() })];
    let change = BudgetChange::Quota("p".into(), "az".into(), Some(quota.into()));
    setting.api.backend().scheduler().budget_changed(change);
    setting
}

fn request(vm: &str, memory_mib: u64) -> Value {
    let mut request = body("kvm-general-purpose-load-balancing");
    extra_specs(&mut request)["quota:hw_version"] = json!("g1");
    let spec = spec(&mut request);
    (spec["availability_zone"], spec["instance_uuid"]) = (json!("az"), json!(vm));
    spec["flavor"]["nova_object.data"]["memory_mb"] = json!(memory_mib);
    request
}

fn counted(setting: &Setting) -> Vec<String> {
    let text = setting.metrics.render();
    let name = "cortex_nova_filter_quota_enforcement_decisions_total";
    text.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect()
}

fn line(mode: &str, decision: &str, resource: &str, (zone, group): (&str, &str), count: u32) -> String {
    format!(
        "{{availability_zone=\"{zone}\",decision=\"{decision}\",flavor_group=\"{group}\",mode=\"{mode}\",\
         resource=\"{resource}\"}} {count}"
    )
}

#[tokio::test]
async fn requests_are_counted_by_decision_and_dry_runs_are_not() {
    let (setting, here) = (limited(), ("az", "g1"));
    setting.post(request("vm-1", 2048)).await.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
    assert_eq!(counted(&setting), [line("shadow", "accept_payg", "", here, 1)]);
    // The first VM has claimed 2 of the 3 GiB that are left. Nothing is enforced.
    let answered: Value = serde_json::from_str(&setting.post(request("vm-2", 2048)).await.text).unwrap();
    assert_eq!(answered["hosts"].as_array().unwrap().len(), 3);
    let mut dry_run = request("vm-3", 2048);
    dry_run["options"] = read_only();
    assert_eq!(setting.post(dry_run).await.status, 200);
    let incoming = crate::wire::decode(request("vm-3", 1).to_string().as_bytes()).unwrap();
    setting.api.backend().scheduler().explain(&incoming.request).unwrap();
    let mut evacuated = request("vm-1", 2048);
    spec(&mut evacuated)["scheduler_hints"] = json!({"_nova_check_type": ["evacuate"]});
    setting.post(evacuated).await;
    assert_eq!(
        counted(&setting),
        [
            line("shadow", "accept_skipped_intent_migration", "", ("", ""), 1),
            line("shadow", "accept_payg", "", here, 1),
            line("shadow", "reject", "ram", here, 1),
        ]
    );
}

#[tokio::test]
async fn made_up_names_get_no_series() {
    let setting = limited();
    for number in 0..20 {
        let mut request = request("vm-1", 1024);
        spec(&mut request)["availability_zone"] = json!(format!("zone-{number}"));
        extra_specs(&mut request)["quota:hw_version"] = json!(format!("group-{number}"));
        setting.post(request).await;
    }
    assert_eq!(counted(&setting), [line("shadow", "accept_no_quota", "", ("", ""), 20)]);
}

#[tokio::test]
async fn a_client_that_asks_for_an_explanation_gets_the_numbers() {
    let setting = limited();
    let mut request = request("vm-1", 8192);
    request["options"] = json!({"explain": true});
    let answer: Value = serde_json::from_str(&setting.post(request).await.text).unwrap();
    let quota = &answer["quota"];
    let found = [&quota["decision"], &quota["resource"], &quota["enforce"]];
    assert_eq!(found, [&json!("reject"), &json!("ram"), &json!(false)]);
    assert_eq!(quota["figures"]["ram"], json!({"quota": 4, "committed": 0, "used": 1, "claimed": 0, "needed": 8}));
}

#[tokio::test]
async fn a_pipeline_that_enforces_gives_no_host() {
    let setting = limited();
    let enforce = Param { key: "enforce".to_owned(), bool_value: Some(true), ..Param::default() };
    let mut pipelines = Pipelines::shipped();
    let spec = PipelineSpec {
        name: "kvm-general-purpose-load-balancing".to_owned(),
        ignore_preselection: true,
        filters: vec![StepSpec::new("filter_quota_enforcement").with(enforce)],
        ..PipelineSpec::default()
    };
    pipelines.insert(Pipeline::load(&spec).pipeline.unwrap());
    setting.api.backend().scheduler().set_pipelines(pipelines);
    setting.post(request("vm-1", 4096)).await.is(200, "{\"hosts\":[]}\n");
    assert_eq!(counted(&setting), [line("enforce", "reject", "ram", ("az", "g1"), 1)]);
}
