//! Any request gets an answer, and never a 500.

use proptest::prelude::*;

use crate::support::{Server, uuid};

fn path() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/",
        "/resource_providers",
        "/resource_classes",
        "/traits",
        "/allocations",
        "/usages",
        "/allocation_candidates",
        "/reshaper",
        "/resource_providers/P",
        "/resource_providers/P/inventories",
        "/resource_providers/P/inventories/VCPU",
        "/resource_providers/P/usages",
        "/resource_providers/P/aggregates",
        "/resource_providers/P/traits",
        "/resource_providers/P/allocations",
        "/allocations/P",
        "/traits/CUSTOM_A",
        "/resource_classes/CUSTOM_A",
    ]);
    prop_oneof![8 => known.prop_map(|path| path.replace("/P", &format!("/{}", uuid("P")))), 1 => "(/[a-z%0-9]{0,6}){1,4}"]
}

fn query() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "resources",
        "required",
        "member_of",
        "in_tree",
        "limit",
        "group_policy",
        "resources1",
        "required_A",
        "same_subtree",
        "root_required",
        "name",
        "uuid",
        "project_id",
        "user_id",
        "consumer_type",
        "associated",
        "x",
    ]);
    let value = prop_oneof![
        Just("VCPU:1".to_owned()),
        Just("VCPU:99999999999999999999,DISK_GB:1".to_owned()),
        Just("in:HW_NUMA_ROOT".to_owned()),
        Just("!CUSTOM_A".to_owned()),
        Just(uuid("P")),
        Just("1".to_owned()),
        "[ -~]{0,12}".prop_map(|text| escaped(&text)),
        Just("%ff".to_owned()),
    ];
    prop::collection::vec((name, value).prop_map(|(name, value)| format!("{name}={value}")), 0..5)
        .prop_map(|all| all.join("&"))
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |escaped, byte| escaped + &format!("%{byte:02x}"))
}

fn json(depth: u32) -> BoxedStrategy<String> {
    let key = prop::sample::select(vec![
        "name",
        "uuid",
        "parent_provider_uuid",
        "total",
        "resource_class",
        "allocations",
        "resources",
        "VCPU",
        "CUSTOM_A",
        "project_id",
        "user_id",
        "consumer_generation",
        "consumer_type",
        "mappings",
        "inventories",
        "traits",
        "aggregates",
        "resource_provider_generation",
        "allocation_ratio",
        "P",
    ]);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("-1.5".to_owned()),
        Just("1e300".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("\"CUSTOM_A\"".to_owned()),
        Just("\"P\"".to_owned()),
        Just("\"\\u0000\"".to_owned()),
        Just("\"\"".to_owned()),
        Just("{".to_owned()),
    ];
    leaf.prop_recursive(depth, 24, 4, move |inner| {
        let member = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("\"{key}\": {value}"));
        prop_oneof![
            1 => prop::collection::vec(inner, 0..3).prop_map(|all| format!("[{}]", all.join(","))),
            4 => prop::collection::vec(member, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
    .prop_map(|text| text.replace("\"P\"", &format!("\"{}\"", uuid("P"))))
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_request_is_answered_with_500(
        version in 0u8..=39,
        method in prop::sample::select(vec!["GET", "PUT", "POST", "DELETE", "PATCH"]),
        path in path(),
        query in query(),
        body in json(4),
        accept in prop::sample::select(vec!["", "text/html", "*/*", "x", "application/json;q=0"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::new();
            server.provider("P", None, r#"{"VCPU": {"total": 4}}"#).await;
            let line = format!("1.{version} {method} {path}?{query}");
            let answer = server.ask_with(&line, &body, &[("accept", accept)]).await;
            assert!(answer.status < 500, "{line} {body}: {answer:?}");
        });
    }
}
