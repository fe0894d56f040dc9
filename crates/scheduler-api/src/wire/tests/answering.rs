//! The content of an answer, with and without an explanation.

use berth_scheduler::{
    Answer, Contribution, Decision, Explanation, FilterName, HostExplanation, Outcome, QuotaDecision, QuotaFigures,
    QuotaResource, QuotaVerdict, ResourceFigures, Shortage,
};
use serde_json::{Value, json};

use crate::wire::{decode_answer, encode_answer};

const ZONE: FilterName = FilterName { step: "filter_correct_az", short: "zone" };

fn answer() -> Answer {
    let removed = Shortage { hosts: 2, removed: vec![(ZONE, 1)], ..Shortage::default() };
    let ram = ResourceFigures { quota: Some(100), committed: 40, used: 20, claimed: 0, needed: 64 };
    let quota = Some(QuotaVerdict {
        enforce: false,
        decision: QuotaDecision::Reject,
        resource: Some(QuotaResource::Ram),
        zone: "az".into(),
        group: "g1".into(),
        figures: Some(QuotaFigures { ram, headroom: Some(30), ..QuotaFigures::default() }),
    });
    let decision = Decision { removed, quota, ..Decision::default() };
    Answer { hosts: vec!["b".into()], decision, ..Answer::default() }
}

fn explanation() -> Explanation {
    let steps = vec![Contribution { step: "kvm_binpack", activation: 0.5, added: -0.25 }];
    let ranked = Outcome::Ranked { weight: 1.5, first_tier: true, steps };
    Explanation {
        pipeline: "p".to_owned(),
        hosts: vec![
            HostExplanation { host: "b".into(), outcome: ranked },
            HostExplanation { host: "a".into(), outcome: Outcome::Removed(ZONE) },
        ],
        removed: Shortage::default(),
        quota: None,
        failed: None,
    }
}

#[test]
fn nova_gets_one_member_and_a_newline() {
    assert_eq!(encode_answer(&answer(), false), b"{\"hosts\":[\"b\"]}\n");
    assert_eq!(encode_answer(&Answer::default(), false), b"{\"hosts\":[]}\n");
    // Explained for the history, not for the client.
    let explained = Answer { explanation: Some(explanation()), ..answer() };
    assert_eq!(encode_answer(&explained, false), b"{\"hosts\":[\"b\"]}\n");
}

#[test]
fn who_asks_is_reported_why() {
    let body = encode_answer(&Answer { explanation: Some(explanation()), ..answer() }, true);
    let written: Value = serde_json::from_slice(&body).unwrap();
    let unlimited = json!({"quota": null, "committed": 0, "used": 0, "claimed": 0, "needed": 0});
    let expected = json!({
        "hosts": ["b"],
        "filtered": {"filter_correct_az": 1},
        "explanation": [
            {"host": "b", "weight": 1.5, "first_tier": true,
                "steps": [{"step": "kvm_binpack", "activation": 0.5, "added": -0.25}]},
            {"host": "a", "removed_by": "filter_correct_az"},
        ],
        "quota": {
            "enforce": false, "decision": "reject", "resource": "ram", "zone": "az", "group": "g1",
            "figures": {
                "ram": {"quota": 100, "committed": 40, "used": 20, "claimed": 0, "needed": 64},
                "cores": unlimited, "instances": unlimited, "headroom": 30,
            },
        },
    });
    assert_eq!(written, expected);
    assert_eq!(decode_answer(&body).unwrap(), ["b".into()]);
}
