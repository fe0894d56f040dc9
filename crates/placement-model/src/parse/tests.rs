use super::*;
use crate::question::CandidatesQuestion;
use crate::refusal::Code;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";

fn pairs(query: &str) -> Vec<Pair> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let halves = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
    halves.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn version(minor: u8) -> Version {
    Version::new(minor).unwrap()
}

fn asked(query: &str, minor: u8) -> CandidatesQuestion {
    candidates(&pairs(query), version(minor)).unwrap_or_else(|refusal| panic!("{query} at 1.{minor}: {refusal}"))
}

fn refused(query: &str, minor: u8) -> Refusal {
    candidates(&pairs(query), version(minor)).expect_err(query)
}

/// Checks that candidates are refused with this text, except for the dump of the schema.
fn refuses(query: &str, minor: u8, text: &str) {
    let refusal = refused(query, minor);
    assert_eq!(refusal.text.split("\n\n").next(), Some(text), "{query} at 1.{minor}");
}

fn list_refuses(query: &str, minor: u8, text: &str) {
    let refusal = providers(&pairs(query), version(minor)).expect_err(query);
    assert_eq!(refusal.text.split("\n\n").next(), Some(text), "{query} at 1.{minor}");
}

fn amounts(text: &str) -> Vec<(String, Option<u64>)> {
    let group = asked(&format!("resources={text}"), 39).groups.remove(0).1;
    group.resources.into_iter().map(|(class, amount)| (class.to_string(), amount)).collect()
}

#[test]
fn lists_are_filtered_by_resources() {
    assert_eq!(amounts("VCPU:2,MEMORY_MB:1024"), [("VCPU".into(), Some(2)), ("MEMORY_MB".into(), Some(1024))]);
    assert_eq!(amounts("A:1,B:2,A: +1_0 "), [("A".into(), Some(10)), ("B".into(), Some(2))]);
    assert_eq!(amounts(" A:007"), [(" A".into(), Some(7))]);
    assert_eq!(amounts("A:18446744073709551616"), [("A".into(), None)]);
    let form = "Badly formed resources parameter. Expected resources query string parameter in form: \
                ?resources=VCPU:2,MEMORY_MB:1024.";
    for (value, got) in [("", "empty string"), (" ", "empty string"), ("A", "A"), ("A:1,", ""), ("A:1:2", "A:1:2")] {
        refuses(&format!("resources={value}"), 39, &format!("{form} Got: {got}."));
    }
    for amount in ["", "x", "1.0", "1__0", "_1", "1_", "+-1", "0x1"] {
        let text = format!("Requested resource A expected positive integer amount. Got: {amount}.");
        refuses(&format!("resources=A:{amount}"), 39, &text);
    }
    for (amount, got) in [("0", "0"), ("-0", "0"), ("-05", "-5"), ("-99999999999999999999", "-99999999999999999999")] {
        refuses(
            &format!("resources=A:{amount}"),
            39,
            &format!("Requested resource A requires amount >= 1. Got: {got}."),
        );
    }
}

#[test]
fn lists_are_filtered_by_required_traits() {
    let traits = |query: &str, minor| {
        let group = asked(&format!("resources=A:1&{query}"), minor).groups.remove(0).1;
        let required: Vec<Vec<String>> =
            group.required.iter().map(|set| set.iter().map(ToString::to_string).collect()).collect();
        (required, group.forbidden.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let one = |name: &str| vec![name.to_owned()];
    assert_eq!(traits("required= X , Y,!Z,!!W", 39), (vec![one("X"), one("Y")], vec!["W".into(), "Z".into()]));
    assert_eq!(traits("required=in:X,Y&required=Z", 39), (vec![vec!["X".into(), "Y".into()], one("Z")], vec![]));
    assert_eq!(traits("required=X&required=!Y", 38), (vec![], vec!["Y".into()]), "only the last value counts");
    let about = |text: &str| format!("Invalid query string parameters: {text}");
    let form = "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,";
    for (value, minor, text) in [
        ("X,", 39, format!("{form}!CUSTOM_MAGIC. Got an empty trait in: X,")),
        ("", 17, format!("{form}CUSTOM_MAGIC. Got an empty trait in: ")),
        ("!X", 21, format!("{form}CUSTOM_MAGIC. Got: !X")),
        ("in:X", 38, "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: in:X".into()),
        ("in:X,!Y", 39, "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. Got: in:X,!Y".into()),
        (
            "in:X,,Y",
            39,
            "Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: in:X,,Y"
                .into(),
        ),
    ] {
        refuses(&format!("resources=A:1&required={value}"), minor, &about(&text));
        list_refuses(&format!("required={value}"), minor.max(18), &about(&text));
    }
}

#[test]
fn lists_are_filtered_by_aggregates() {
    let group = |query: &str| asked(&format!("resources=A:1&{query}"), 39).groups.remove(0).1;
    let both = group(&format!("member_of=in:{A},{A}&member_of=!{A}"));
    assert_eq!((both.member_of.len(), both.member_of[0].len(), both.forbidden_aggregates.len()), (1, 1, 1));
    assert_eq!(group(&format!("member_of=!in:{A}")).forbidden_aggregates.len(), 1);
    let list = |value: &str, minor, text: &str| {
        list_refuses(&format!("member_of={value}"), minor, text);
        refuses(&format!("resources=A:1&member_of={value}"), minor, text);
    };
    let several = format!(
        "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. \
         Got: {A},{A}"
    );
    list(&format!("{A},{A}"), 39, &several);
    let about = "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: ";
    list("x", 39, &format!("{about}x"));
    list("", 39, about);
    list(&format!("in:{A},y"), 39, &format!("{about}y"));
    list(&format!("{A}&member_of={A}"), 23, "Multiple member_of parameters are not supported");
    list(&format!("!{A}"), 31, "Forbidden member_of parameters are not supported in the specified microversion");
    refuses(
        &format!("resources1=A:1&member_of1=!{A}"),
        31,
        "Forbidden member_of1 parameters are not supported in the specified microversion",
    );
}

#[test]
fn parameters_of_the_list() {
    for (query, minor) in [("member_of", 2), ("resources", 3), ("in_tree", 13), ("required", 17), ("x", 39)] {
        let text = format!(
            "Invalid query string parameters: Additional properties are not allowed ('{query}' was unexpected)"
        );
        list_refuses(&format!("{query}={A}"), minor, &text);
    }
    list_refuses(
        "y=1&x=2",
        39,
        "Invalid query string parameters: Additional properties are not allowed ('x', 'y' were unexpected)",
    );
    for value in ["spam", "", "aaaaaaaa000040008000000000000000"] {
        list_refuses(
            &format!("uuid={value}"),
            0,
            &format!("Invalid query string parameters: '{value}' is not a 'uuid'"),
        );
    }
    let refusal = providers(&pairs("uuid=spam"), version(0)).unwrap_err();
    assert!(refusal.text.contains("Failed validating 'format' in schema['properties']['uuid']:"), "{refusal}");
    assert!(refusal.text.contains("On instance['uuid']:"), "{refusal}");
    list_refuses("in_tree=x", 14, "Invalid query string parameters: 'x' is not a 'uuid'");
    let question = providers(&pairs(&format!("name=&uuid={}", A.to_uppercase())), version(39)).unwrap();
    assert_eq!((question.name, question.uuid), (None, Some(Key::new(A))));
}

#[test]
fn parameters_by_microversion() {
    let unknown = |query: &str, minor: u8| {
        let key = query.split('=').next().unwrap();
        refuses(
            &format!("resources=A:1&{query}"),
            minor,
            &format!("Invalid query string parameters: Additional properties are not allowed ('{key}' was unexpected)"),
        );
    };
    unknown("limit=1", 15);
    unknown("required=X", 16);
    unknown("member_of=x", 20);
    unknown("resources1=A:1", 24);
    unknown("group_policy=none", 24);
    let regexes = "does not match any of the regexes: '^member_of([1-9][0-9]*)?$', '^required([1-9][0-9]*)?$', \
                   '^resources([1-9][0-9]*)?$'";
    for key in ["resources01", "in_tree", "resources_A", "resources1\n"] {
        let text = format!("Invalid query string parameters: '{key}' {regexes}");
        refuses(&format!("resources=A:1&{key}=A:1"), 25, &text);
    }
    let words = "'root_required' does not match any of the regexes: '^in_tree([a-zA-Z0-9_-]{1,64})?$', \
                 '^member_of([a-zA-Z0-9_-]{1,64})?$', '^required([a-zA-Z0-9_-]{1,64})?$', \
                 '^resources([a-zA-Z0-9_-]{1,64})?$'";
    refuses("resources=A:1&root_required=X", 34, &format!("Invalid query string parameters: {words}"));
    refuses("", 10, "Invalid query string parameters: 'resources' is a required property");
    refuses("limit=0", 24, "Invalid query string parameters: 'resources' is a required property");
    refuses(
        "resources=A:1&group_policy=bad",
        25,
        "Invalid query string parameters: 'bad' is not one of ['none', 'isolate']",
    );
    for limit in ["0", "-1", "a", "", "01", "1\n"] {
        let text = format!("Invalid query string parameters: '{limit}' does not match '^[1-9][0-9]*$'");
        refuses(&format!("resources=A:1&limit={limit}"), 16, &text);
    }
    let refusal = refused("resources=A:1&limit=0", 16);
    assert!(refusal.text.contains("Failed validating 'pattern' in schema['properties']['limit']:"), "{refusal}");
}

#[test]
fn of_repeated_parameters_the_last_one_counts_or_all_do() {
    let question = asked("resources=A:1&limit=5&limit=6&group_policy=isolate&group_policy=none&resources=B:2", 39);
    assert_eq!((question.limit, question.isolate), (Some(5), true));
    assert_eq!(question.groups[0].1.resources[0].0.as_str(), "B");
    assert_eq!(asked("resources=A:1&limit=99999999999999999999", 39).limit, Some(usize::MAX));
    refuses("resources=A:1&limit=a&limit=1", 39, "Invalid query string parameters: 'a' does not match '^[1-9][0-9]*$'");
    refuses("resources=A:0&resources=A:1", 39, "Requested resource A requires amount >= 1. Got: 0.");
}

#[test]
fn groups_are_in_the_order_of_their_first_parameter() {
    let question = asked("required_B=X&resources=A:1&resources_B=A:1&resources-a=A:1&group_policy=none", 39);
    let suffixes: Vec<&str> = question.groups.iter().map(|group| group.0.as_str()).collect();
    assert_eq!(suffixes, ["_B", "", "-a"]);
}

#[test]
fn candidates_can_be_limited_to_a_tree() {
    let in_tree = |text: &str| asked(&format!("resources=A:1&in_tree={text}"), 39).groups.remove(0).1.in_tree;
    assert_eq!(in_tree(&format!(" {A} ")), Some(Key::new(A)));
    let text = "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x";
    refuses("resources=A:1&in_tree=x", 31, text);
}

#[test]
fn checks_1_to_3() {
    let with = |query: &str| refused(&format!("resources=A:1&{query}"), 39);
    let refusal = with("root_required=X&root_required=X");
    assert_eq!(refusal.text, "Query parameter 'root_required' may be specified only once.");
    assert_eq!(refusal.code, Code::DuplicateKey);
    let refusal = with("root_required=Y,X,!X,!Y,Z");
    assert_eq!(refusal.text, "Conflicting required and forbidden traits found in root_required: X, Y");
    assert_eq!(refusal.code, Code::BadValue);
    let refusal = with("same_subtree=_A,&resources_A=A:1");
    assert_eq!(refusal.text.trim(), "Empty string (unsuffixed group) can not be specified in `same_subtree`");
    assert_eq!(refusal.code, Code::BadValue);
}

#[test]
fn checks_5_to_8() {
    let orphaned =
        "All traits parameters must be associated with resources.  Found the following orphaned traits keys: ";
    refuses("required=X&required1=Y&resources2=A:1", 35, &format!("{orphaned}required, required1"));
    let orphaned =
        "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: ";
    refuses(&format!("resources=A:1&member_of3={A}"), 35, &format!("{orphaned}member_of3"));
    refuses("resources=A:1&required1=!X", 35, "All request groups must specify resources.");
    refuses(&format!("resources=A:1&in_tree1={A}"), 35, "All request groups must specify resources.");
    refuses("limit=1", 35, "At least one request group (`resources` or `resources{$S}`) is required.");
}

#[test]
fn checks_9_to_11() {
    let of = |query: &str| {
        let refusal = refused(query, 36);
        (refusal.text, refusal.code)
    };
    for query in ["limit=1", "required1=X&same_subtree=1"] {
        let text = "There must be at least one resources or resources[$S] parameter.";
        assert_eq!(of(query), (text.to_owned(), Code::MissingValue));
    }
    let text = "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - ";
    assert_eq!(of("resources1=A:1&required2=X"), (format!("{text}['2']."), Code::BadValue));
    assert_eq!(of("resources1=A:1&required=X&same_subtree=1"), (format!("{text}['']."), Code::BadValue));
    let text = "Real suffixes should be specified in `same_subtree`: ['1'] not found in [''].";
    assert_eq!(of("resources=A:1&same_subtree=1"), (text.to_owned(), Code::BadValue));
}

#[test]
fn checks_12_and_13() {
    let text = "Conflicting required and forbidden traits found in the following traits keys: ";
    refuses("resources1=A:1&required1=B,A,!A,!B", 38, &format!("{text}required1: (A, B)"));
    refuses("resources1=A:1&required1=in:B,A&required1=!A,!B", 39, &format!("{text}required1: (A, B)"));
    asked("resources1=A:1&required1=in:B,A&required1=!A", 39);
    let policy = "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.";
    refuses("resources1=A:1&resources2=A:1", 25, policy);
    refuses("resources1=A:1&required2=X&same_subtree=2", 36, policy);
    asked("resources=A:1&resources1=A:1", 25);
}

proptest::proptest! {
    #[test]
    fn no_query_is_too_strange(
        pairs in proptest::collection::vec(
            (
                proptest::sample::select(vec![
                    "resources", "resources1", "resources_A", "required", "required1", "member_of", "member_of1", "in_tree",
                    "in_tree1", "limit", "group_policy", "root_required", "same_subtree", "name", "uuid", "",
                ]),
                proptest::prop_oneof![
                    "[!:,_ inVCPU0-9a-f\u{e9}+-]{0,12}",
                    proptest::prelude::Just("VCPU:1".to_owned()),
                    proptest::prelude::Just(A.to_owned()),
                    proptest::prelude::Just("none".to_owned()),
                ],
            ),
            0..6,
        ),
        minor in 0_u8..=39,
    ) {
        let pairs: Vec<Pair> = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        for refusal in [candidates(&pairs, version(minor)).err(), providers(&pairs, version(minor)).err()] {
            proptest::prop_assert!(refusal.is_none_or(|refusal| !refusal.text.is_empty()));
        }
    }
}
