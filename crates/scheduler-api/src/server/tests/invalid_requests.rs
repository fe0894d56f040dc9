//! No request gets a 5xx answer, and none causes a panic.

use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::setting::{Setting, body, setting, spec};
use crate::server::PATH;

fn status(setting: &Setting, body: Vec<u8>) -> u16 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let request = Request::post(PATH).body(Body::from(body)).unwrap();
    runtime.block_on(setting.send(request)).status
}

fn bears(setting: &Setting, body: Vec<u8>) -> Result<(), TestCaseError> {
    let status = status(setting, body);
    prop_assert!(status < 500 || status == 503, "{status}");
    Ok(())
}

/// A request that uses every member with an effect.
fn rich() -> Value {
    let mut request = body("kvm-general-purpose-load-balancing");
    let wrapped = |data: Value| json!({"nova_object.data": data});
    let spec = spec(&mut request);
    spec["scheduler_hints"] = json!({"_nova_check_type": ["live_migrate"], "source_host": "a", "domain_name": ["x"]});
    spec["ignore_hosts"] = json!(["b"]);
    spec["force_hosts"] = json!([]);
    spec["image"] = wrapped(json!({"properties": wrapped(json!({"img_hv_type": "kvm"}))}));
    spec["requested_destination"] = wrapped(json!({"host": "", "aggregates": ["x,y"]}));
    spec["instance_group"] = wrapped(json!({"policy": "soft-affinity", "members": ["m"], "hosts": ["a"],
        "_rules": {"max_server_per_host": 2}}));
    request["options"] = json!({"max_candidates": 2, "ignored_reservation_types": ["FailoverReservation"]});
    request
}

fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &format!("{here}/{key}"), found)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(key, value)| places(value, &format!("{here}/{key}"), found));
        }
        _ => {}
    }
}

fn replacements() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[[null]]])),
        Just(json!({"host": {"nova_object.data": []}})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes_of_any_kind(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        bears(&setting(), body)?;
    }

    #[test]
    fn requests_with_broken_bytes(edits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut body = rich().to_string().into_bytes();
        for (place, byte) in edits {
            let place = place % body.len();
            body[place] = byte;
        }
        bears(&setting(), body)?;
    }

    #[test]
    fn requests_with_values_that_do_not_belong(edits in proptest::collection::vec((any::<usize>(), replacements()), 1..4)) {
        let mut body = rich();
        for (place, value) in edits {
            let mut all = Vec::new();
            places(&body, "", &mut all);
            if let Some(here) = body.pointer_mut(&all[place % all.len()]) {
                *here = value;
            }
        }
        bears(&setting(), body.to_string().into_bytes())?;
    }
}

#[tokio::test]
async fn the_rich_request_itself_is_answered() {
    assert_eq!(setting().post(rich()).await.status, 200);
}
