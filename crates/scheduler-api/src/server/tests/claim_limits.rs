//! Requests of a project that has claimed enough: they get an answer that keeps Nova from placing the VM by itself.

use berth_scheduler::{AnswerSettings, ClaimLimits};
use serde_json::{Value, json};

use super::setting::{Setting, body, read_only, spec, with_answers};
use crate::Backend as _;

fn limited(per_project: usize) -> Setting {
    with_answers(AnswerSettings { claim_limits: Some(ClaimLimits { per_project }), ..AnswerSettings::default() })
}

fn of(project: &str, vm: &str) -> Value {
    let mut request = body("capacity");
    let spec = spec(&mut request);
    (spec["project_id"], spec["instance_uuid"]) = (json!(project), json!(vm));
    request
}

#[tokio::test]
async fn a_project_cannot_claim_a_whole_cloud_with_many_small_vms() {
    let setting = limited(3);
    for vm in 0..20 {
        let seen = setting.post(of("hostile", &format!("vm-{vm}"))).await;
        assert_eq!((seen.status, seen.text == "{\"hosts\":[]}\n"), (200, vm >= 3), "{vm}: {}", seen.text);
    }
    assert_eq!(setting.api.backend().scheduler().claimed(), 3);
    assert!(setting.counts("berth_claims_refused_total{reason=\"number\"} 17"));
    assert!(setting.counts("berth_claims_refused_total{reason=\"share\"} 0"));
    assert_ne!(setting.post(of("other", "vm-a")).await.text, "{\"hosts\":[]}\n");
}

/// The hosts have 56 cores together.
#[tokio::test]
async fn a_project_cannot_claim_a_whole_zone_with_a_few_large_vms() {
    let setting = limited(1000);
    let large = |vm: &str, cores: u64| {
        let mut request = of("hostile", vm);
        spec(&mut request)["flavor"]["nova_object.data"]["vcpus"] = json!(cores);
        request
    };
    assert_ne!(setting.post(large("vm-1", 28)).await.text, "{\"hosts\":[]}\n");
    setting.post(large("vm-2", 1)).await.is(200, "{\"hosts\":[]}\n");
    assert!(setting.counts("berth_claims_refused_total{reason=\"share\"} 1"));
    let mut probe = large("vm-2", 1);
    probe["options"] = read_only();
    assert_ne!(setting.post(probe).await.text, "{\"hosts\":[]}\n", "trials claim nothing");
}
