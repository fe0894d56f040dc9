//! Worked examples of allocation candidates.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod cloud;

use std::collections::BTreeSet;

use berth_placement_model::question::GenerationOptions;
use berth_placement_model::refusal::Code;
use berth_placement_model::{NoCandidates, Version, parse};
use serde_json::json;

use cloud::{A, B, Cloud, SHARES, environment, held};

const V: &str = "resources=VCPU:4,MEMORY_MB:2048,DISK_GB:20";
const OF_V: [&str; 5] = [
    "cn1 DISK_GB 20 MEMORY_MB 2048, n1a VCPU 4",
    "cn1 DISK_GB 20 MEMORY_MB 2048, n1b VCPU 4",
    "cn1 MEMORY_MB 2048, n1a VCPU 4, ss DISK_GB 20",
    "cn1 MEMORY_MB 2048, n1b VCPU 4, ss DISK_GB 20",
    "cn2 MEMORY_MB 2048 VCPU 4, ss DISK_GB 20",
];

fn set<T: AsRef<str>>(texts: &[T]) -> BTreeSet<String> {
    texts.iter().map(|text| text.as_ref().to_owned()).collect()
}

/// Checks that a query at 1.39 has these requests.
fn has<T: AsRef<str>>(cloud: &Cloud, query: &str, requests: &[T]) {
    let ours = cloud.requests(query, 39);
    assert_eq!(set(&ours), set(requests), "{query}");
    assert_eq!(ours.len(), requests.len(), "{query}");
}

#[test]
fn the_group_without_a_suffix_may_be_spread_over_a_tree() {
    let cloud = environment();
    has(&cloud, V, &OF_V);
    assert_eq!(cloud.summaries(V, 39), ["cn1", "cn2", "g1", "n1a", "n1b", "ss"]);
    has(&cloud, &format!("{V}&required=CUSTOM_SSD"), &OF_V[2..]);
    has(&cloud, &format!("{V}&required=CUSTOM_FAST"), &[OF_V[1], OF_V[3], OF_V[4]]);
    has(&cloud, &format!("{V}&required=!CUSTOM_SSD"), &OF_V[..2]);
    assert_eq!(cloud.summaries(&format!("{V}&required=!CUSTOM_SSD"), 39), ["cn1", "g1", "n1a", "n1b"]);
    has(&cloud, &format!("{V}&required=in:CUSTOM_SSD,CUSTOM_FAST&required=!HW_NUMA_ROOT"), &OF_V[4..]);
    has(&cloud, &format!("{V}&member_of={B}"), &[""; 0]);
    has(&cloud, &format!("resources=VCPU:4,MEMORY_MB:2048&member_of={B}"), &["cn2 MEMORY_MB 2048 VCPU 4"]);
    has(&cloud, &format!("{V}&in_tree=<g1>"), &OF_V[..2]);
    has(&cloud, "resources=VCPU:7", &["n1b VCPU 7", "cn2 VCPU 7"]);
    has(&cloud, "resources=VCPU:9", &["n1b VCPU 9"]);
    has(&cloud, "resources=MEMORY_MB:2048&root_required=!COMPUTE_VOLUME_MULTI_ATTACH", &["cn2 MEMORY_MB 2048"]);
}

#[test]
fn groups_with_a_suffix_are_satisfied_by_one_provider_each() {
    let cloud = environment();
    let granular = "resources_N=VCPU:4&resources_G=VGPU:2&group_policy=isolate";
    has(&cloud, granular, &["g1 VGPU 2, n1a VCPU 4", "g1 VGPU 2, n1b VCPU 4"]);
    has(&cloud, &format!("{granular}&same_subtree=_N,_G"), &["g1 VGPU 2, n1b VCPU 4"]);
    let bare = "resources_G=VGPU:2&required_R=HW_NUMA_ROOT&same_subtree=_G,_R&group_policy=none";
    has(&cloud, bare, &["g1 VGPU 2"]);
    assert_eq!(cloud.mappings(bare, 39), set(&["_G=g1 _R=n1b"]));
    has(&cloud, "resources_A=VGPU:2&resources_B=VGPU:2&group_policy=none", &[""; 0]);
    has(&cloud, "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=none", &["g1 VGPU 2"]);
    let three = "resources=MEMORY_MB:2048&resources1=VCPU:4&resources2=VCPU:4&group_policy=";
    let both = "cn1 MEMORY_MB 2048, n1a VCPU 4, n1b VCPU 4";
    assert_eq!(cloud.requests(&format!("{three}isolate"), 39), [both; 2]);
    assert_eq!(cloud.mappings(&format!("{three}isolate"), 39), set(&["=cn1 1=n1a 2=n1b", "=cn1 1=n1b 2=n1a"]));
    let mut none = cloud.requests(&format!("{three}none"), 39);
    none.sort();
    assert_eq!(none, [both, both, "cn1 MEMORY_MB 2048, n1b VCPU 8", "cn2 MEMORY_MB 2048 VCPU 8"]);
    has(
        &cloud,
        "resources=VCPU:4&resources_D=DISK_GB:20&required_D=CUSTOM_SSD",
        &["n1a VCPU 4, ss DISK_GB 20", "n1b VCPU 4, ss DISK_GB 20", "cn2 VCPU 4, ss DISK_GB 20"],
    );
}

#[test]
fn before_nested_providers() {
    let cloud = environment();
    assert_eq!(cloud.requests(V, 28), [OF_V[4]]);
    assert_eq!(cloud.summaries(V, 28), ["cn2", "ss"]);
    assert_eq!(cloud.requests("resources=VCPU:4", 28), ["n1a VCPU 4", "n1b VCPU 4", "cn2 VCPU 4"]);
    assert_eq!(cloud.summaries("resources=VCPU:4", 28), ["cn2", "n1a", "n1b"]);
    let two = "resources=VCPU:4,MEMORY_MB:2048";
    assert_eq!(cloud.requests(two, 28), ["cn2 MEMORY_MB 2048 VCPU 4"]);
    assert_eq!(cloud.summaries(two, 28), ["cn2"]);
    let nested = ["cn2 MEMORY_MB 2048 VCPU 4", "cn1 MEMORY_MB 2048, n1a VCPU 4", "cn1 MEMORY_MB 2048, n1b VCPU 4"];
    assert_eq!(set(&cloud.requests(two, 29)), set(&nested));
    assert_eq!(cloud.summaries(two, 29), ["cn1", "cn2", "g1", "n1a", "n1b"]);
}

#[test]
fn requests_are_in_the_order_of_anchors_and_of_groups() {
    let cloud = environment();
    let order = [OF_V[0], OF_V[2], OF_V[1], OF_V[3], OF_V[4]];
    assert_eq!(cloud.requests(V, 39), order);
    assert_eq!(cloud.requests(&format!("{V}&limit=3"), 39), order[..3]);
    assert_eq!(cloud.summaries(&format!("{V}&limit=1"), 39), ["cn1", "g1", "n1a", "n1b"]);
}

#[test]
fn options_of_the_generation() {
    let cloud = environment();
    let count = |query: &str, options: &GenerationOptions| -> Vec<String> {
        let body = cloud.body_with(query, 39, options).unwrap();
        body["provider_summaries"].as_object().unwrap().keys().cloned().collect()
    };
    let broad = GenerationOptions { breadth_first: true, most_requests: 2, ..GenerationOptions::default() };
    assert_eq!(count(V, &broad).len(), 6, "a request for each anchor");
    let deep = GenerationOptions { most_requests: 2, ..GenerationOptions::default() };
    assert_eq!(count(V, &deep).len(), 5, "two requests for one anchor");
    let none = GenerationOptions { most_requests: 0, ..GenerationOptions::default() };
    assert_eq!(count(V, &none).len(), 0);
    let firsts: BTreeSet<Vec<String>> = (0..20)
        .map(|seed| {
            count(
                "resources=VCPU:4&limit=1",
                &GenerationOptions { shuffle: Some(seed), ..GenerationOptions::default() },
            )
        })
        .collect();
    assert_eq!(firsts.len(), 2, "each anchor comes first for some seed");
}

#[test]
fn forms_of_the_answer() {
    let cloud = environment();
    let (cn2, query) = (cloud::uuid("cn2"), format!("resources=MEMORY_MB:2048&member_of={B}"));
    let newest = cloud.body(&query, 39).unwrap();
    let memory = json!({"MEMORY_MB": {"capacity": 32768, "used": 0}});
    let all = json!({"VCPU": {"capacity": 16, "used": 0}, "MEMORY_MB": {"capacity": 32768, "used": 0}});
    let allocations = json!({&cn2: {"resources": {"MEMORY_MB": 2048}}});
    let summary = json!({
        "resources": all, "traits": ["CUSTOM_FAST"], "parent_provider_uuid": null, "root_provider_uuid": cn2
    });
    assert_eq!(
        newest,
        json!({
            "allocation_requests": [{"allocations": allocations, "mappings": {"": [cn2]}}],
            "provider_summaries": {&cn2: summary},
        })
    );
    assert_eq!(cloud.body(&query, 33).unwrap()["allocation_requests"], json!([{"allocations": allocations}]));
    let summary = |minor| cloud.body(&query, minor).unwrap()["provider_summaries"][&cn2].clone();
    assert_eq!(summary(28), json!({"resources": all, "traits": ["CUSTOM_FAST"]}));
    assert_eq!(summary(26), json!({"resources": memory, "traits": ["CUSTOM_FAST"]}));
    let oldest = cloud.body("resources=MEMORY_MB:30000", 11).unwrap();
    assert_eq!(
        oldest,
        json!({
            "allocation_requests":
                [{"allocations": [{"resource_provider": {"uuid": cn2}, "resources": {"MEMORY_MB": 30000}}]}],
            "provider_summaries": {&cn2: {"resources": memory}},
        })
    );
    let empty = json!({"allocation_requests": [], "provider_summaries": {}});
    assert_eq!(cloud.body("resources=VGPU:99", 39).unwrap(), empty);
}

#[test]
fn later_groups_are_not_evaluated_when_an_earlier_one_is_empty() {
    let cloud = environment();
    let swapped = "resources1=VCPU:1&required1=NOPE&resources2=VCPU:9999&group_policy=none";
    assert_eq!(cloud.body(swapped, 39).unwrap_err().text, "No such trait(s): NOPE.");
    for query in [
        "resources1=VCPU:9999&resources2=VCPU:1&required2=NOPE&group_policy=none",
        "resources=VGPU:99999999999999999999&resources1=NOPE:1",
        "resources=VCPU:1&in_tree=00000000-0000-4000-8000-00000000dead&resources1=NOPE:1",
        "resources=VCPU:1&member_of=00000000-0000-4000-8000-00000000dead&required=NOPE",
        "resources=NOPE:1&root_required=STORAGE_DISK_SSD",
        "resources=VCPU:1,VGPU:1&required=STORAGE_DISK_SSD&resources1=NOPE:1",
    ] {
        assert_eq!(cloud.requests(query, 39), [""; 0], "{query}");
    }
    for (query, text) in [
        ("resources=NOPE:1", "Invalid resource class in resources parameter: No such resource class NOPE."),
        ("resources=VCPU:1&required=NOPE,!ALSO", "No such trait(s): NOPE."),
        ("resources=VCPU:1&root_required=NOPE,!ALSO", "No such trait(s): ALSO, NOPE."),
        (
            "resources=NOPE:1&member_of=00000000-0000-4000-8000-00000000dead",
            "Invalid resource class in resources parameter: No such resource class NOPE.",
        ),
    ] {
        let refusal = cloud.body(query, 39).unwrap_err();
        assert_eq!((refusal.text.as_str(), refusal.code), (text, Code::Undefined), "{query}");
    }
}

#[test]
fn a_shared_provider_serves_every_anchor() {
    let mut cloud = Cloud::default();
    cloud.add("ss", None, &[("DISK_GB", held(100))], &[SHARES], &[A]);
    cloud.add("h1", None, &[("VCPU", held(8))], &[], &[A]);
    cloud.add("h2", None, &[("VCPU", held(8))], &[], &[A]);
    has(&cloud, "resources=DISK_GB:10&resources1=VCPU:1", &["h1 VCPU 1, ss DISK_GB 10", "h2 VCPU 1, ss DISK_GB 10"]);
    assert_eq!(cloud.requests("resources=DISK_GB:10", 39), ["ss DISK_GB 10"], "once, whatever the anchor");
}

#[test]
fn amounts_are_summed_per_request() {
    let mut cloud = Cloud::default();
    cloud.add("h", None, &[], &[], &[]);
    cloud.add("p", Some("h"), &[("VGPU", held(8))], &[], &[]);
    cloud.add("q", Some("h"), &[("VGPU", held(8))], &[], &[]);
    let both = ["p VGPU 2", "p VGPU 1, q VGPU 1", "p VGPU 1, q VGPU 1", "q VGPU 2"];
    assert_eq!(cloud.requests("resources=VGPU:1&resources1=VGPU:1", 39), both);
}

#[test]
fn a_sharing_provider_need_not_be_a_root() {
    let mut cloud = Cloud::default();
    cloud.add("h1", None, &[], &[], &[]);
    cloud.add("disk", Some("h1"), &[("DISK_GB", held(100))], &[SHARES], &[A]);
    cloud.add("h2", None, &[("VCPU", held(8))], &[], &[A]);
    assert_eq!(cloud.requests("resources=DISK_GB:10,VCPU:1", 39), ["disk DISK_GB 10, h2 VCPU 1"]);
    assert_eq!(cloud.summaries("resources=DISK_GB:10,VCPU:1", 39), ["disk", "h1", "h2"]);
}

#[test]
fn amounts_beyond_64_bits_never_fit() {
    assert_eq!(environment().requests("resources=VCPU:18446744073709551616", 39), [""; 0]);
    assert_eq!(environment().requests("resources=VCPU:18446744073709551615", 39), [""; 0]);
}

#[test]
fn a_suffix_may_have_the_form_of_a_provider() {
    let mut cloud = Cloud::default();
    for host in ["h1", "h2"] {
        cloud.add(host, None, &[("VCPU", held(8))], &[], &[]);
    }
    let suffix = cloud.state("h1").uuid;
    let mapped = ["h1", "h2"].map(|host| format!("{suffix}={host}"));
    assert_eq!(cloud.mappings("resources<h1>=VCPU:1", 39), set(&mapped));
}

#[test]
fn a_query_that_tries_too_much_ends() {
    let mut cloud = Cloud::default();
    cloud.add("h", None, &[], &[], &[]);
    for number in 0..8 {
        cloud.add(&format!("p{number}"), Some("h"), &[("VGPU", held(8)), ("VCPU", held(1))], &[], &[]);
    }
    let groups: Vec<String> = (1..=9).map(|number| format!("resources{number}=VGPU:1")).collect();
    // Nine groups and eight providers: some provider is always in two groups.
    let query = format!("{}&group_policy=isolate", groups.join("&"));
    let question = parse::candidates(&cloud.pairs(&query), Version::NEWEST).unwrap();
    let options = GenerationOptions { most_combinations: 1000, ..GenerationOptions::default() };
    assert_eq!(cloud.model().candidates(&question, &options).unwrap_err(), NoCandidates::TooComplex);
    let question = parse::candidates(&cloud.pairs(&query.replace("isolate", "none")), Version::NEWEST).unwrap();
    let some = cloud.model().candidates(&question, &options).unwrap();
    assert!(some.len() > 500 && some.is_cut, "{}", some.len());
}

#[test]
fn a_copy_of_a_model_does_not_change() {
    let mut cloud = environment();
    let before = cloud.body(V, 39).unwrap();
    let copy = cloud.model().clone();
    let mut state = cloud.state("cn2");
    state.inventories.clear();
    let disk = cloud.state("ss").id;
    let model = cloud.model.as_mut().unwrap();
    model.put(&state);
    model.remove(disk);
    assert_eq!(cloud.requests(V, 39), OF_V[..2]);
    cloud.model = Some(copy);
    assert_eq!(cloud.body(V, 39).unwrap(), before);
}
