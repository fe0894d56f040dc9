//! What happens to the order of a run before it is answered.

use std::collections::BTreeSet;

use berth_scheduler::AnswerSettings;
use serde_json::{Value, json};

use super::setting::{Setting, body, spec, with_answers};

/// A pipeline that gathers all hosts and ranks c, b, a; the request lists these.
fn request(hosts: &[&str]) -> Value {
    let mut request = body("reversed");
    request["hosts"] = hosts.iter().map(|host| json!({"host": host})).collect();
    request["weights"] = hosts.iter().map(|host| ((*host).to_owned(), json!(0))).collect();
    request
}

fn limiting() -> Setting {
    with_answers(AnswerSettings { limit_to_request: true, ..AnswerSettings::default() })
}

#[tokio::test]
async fn only_hosts_of_the_request() {
    limiting().post(request(&["a", "b"])).await.is(200, "{\"hosts\":[\"b\",\"a\"]}\n");
    let unlimited = with_answers(AnswerSettings::default());
    unlimited.post(request(&["a", "b"])).await.is(200, "{\"hosts\":[\"c\",\"b\",\"a\"]}\n");
}

/// Limited first, then trimmed. The reference answers with an empty list.
#[tokio::test]
async fn an_answer_is_trimmed_to_the_request() {
    let mut trimmed = request(&["a", "b"]);
    trimmed["options"] = json!({"max_candidates": 1});
    limiting().post(trimmed).await.is(200, "{\"hosts\":[\"b\"]}\n");
    let mut other = request(&["a"]);
    other["options"] = json!({"max_candidates": 1});
    limiting().post(other).await.is(200, "{\"hosts\":[\"a\"]}\n");
}

#[tokio::test]
async fn evacuations_are_shuffled_at_the_head() {
    let mut seen = BTreeSet::new();
    for _ in 0..64 {
        let setting = with_answers(AnswerSettings { shuffle_first: 2, ..AnswerSettings::default() });
        let mut request = request(&["a", "b", "c"]);
        spec(&mut request)["scheduler_hints"] = json!({"_nova_check_type": ["evacuate"]});
        seen.insert(setting.post(request).await.text);
    }
    let both = ["{\"hosts\":[\"b\",\"c\",\"a\"]}\n", "{\"hosts\":[\"c\",\"b\",\"a\"]}\n"];
    assert_eq!(seen, both.map(str::to_owned).into());
}

/// An explanation has two more members, and the same hosts.
#[tokio::test]
async fn who_asks_is_reported_why() {
    let (setting, mut request) = (limiting(), body("capacity"));
    spec(&mut request)["flavor"]["nova_object.data"]["vcpus"] = json!(9);
    request["options"] = json!({"explain": true});
    let answer: Value = serde_json::from_str(&setting.post(request).await.text).unwrap();
    assert_eq!(answer["hosts"], json!(["b", "c"]));
    assert_eq!(answer["filtered"], json!({"filter_has_enough_capacity": 1}));
    assert_eq!(answer["explanation"][2], json!({"host": "a", "removed_by": "filter_has_enough_capacity"}));
    assert_eq!(answer["explanation"][0]["host"], "b");
}
