//! Worked examples of the list of providers.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod cloud;

use cloud::{A, B, environment};

#[test]
fn list_of_providers() {
    let cloud = environment();
    let list = |query: &str| cloud.list(query, 39).unwrap();
    assert_eq!(list(""), ["cn1", "n1a", "n1b", "g1", "cn2", "ss"]);
    assert_eq!(list("resources=VCPU:6"), ["n1a", "n1b", "cn2"]);
    assert_eq!(list("resources=VCPU:7"), ["n1b", "cn2"]);
    assert_eq!(list("resources=VCPU:9"), ["n1b"]);
    assert_eq!(list("resources=VCPU:1,MEMORY_MB:1"), ["cn2"]);
    assert_eq!(list("resources=MEMORY_MB:23040"), ["cn1", "cn2"]);
    assert_eq!(list("resources=MEMORY_MB:23041"), ["cn2"]);
    assert_eq!(list(&format!("member_of={A}&member_of=!{B}")), ["cn1", "ss"]);
    assert_eq!(list("required=in:CUSTOM_SSD,HW_NUMA_ROOT"), ["n1a", "n1b", "ss"]);
    assert_eq!(list("in_tree=<g1>&resources=VCPU:7"), ["n1b"]);
    assert_eq!(list("name=ss"), ["ss"]);
    assert_eq!(list("name="), list(""));
    assert_eq!(list("uuid=<ss>&name=ss"), ["ss"]);
    assert_eq!(list("uuid=<ss>&required=!CUSTOM_SSD"), [""; 0]);
    assert_eq!(list(&format!("member_of=in:{A},{B}&required=CUSTOM_FAST")), ["cn2"]);
}

#[test]
fn unknown_names_are_noticed_in_one_order() {
    let cloud = environment();
    for empty in [
        "in_tree=00000000-0000-4000-8000-00000000dead&required=NOPE",
        "required=STORAGE_DISK_SSD,!NOPE&resources=NOPE:1",
        "member_of=00000000-0000-4000-8000-00000000dead&resources=NOPE:1",
        "required=CUSTOM_SSD,!CUSTOM_SSD",
        "resources=VCPU:99999999999999999999",
    ] {
        assert_eq!(cloud.list(empty, 39).unwrap(), [""; 0], "{empty}");
    }
    for (query, text) in [
        ("required=NOPE&resources=NOPE:1", "Invalid trait(s) in \"required\" parameter: No such trait(s): NOPE."),
        ("required=!NOPE", "Invalid trait(s) in \"required\" parameter: No such trait(s): NOPE."),
        ("resources=NOPE:1", "Invalid resource class in resources parameter: No such resource class NOPE."),
        (
            "required=NOPE&member_of=00000000-0000-4000-8000-00000000dead",
            "Invalid trait(s) in \"required\" parameter: No such trait(s): NOPE.",
        ),
    ] {
        assert_eq!(cloud.list(query, 39).unwrap_err().text, text, "{query}");
    }
}
