use serde_json::json;

use super::*;

fn node() -> Node {
    let condition = json!({ "type": "object", "required": ["type"], "properties": {
        "type": { "type": "string" }, "since": { "type": "string", "format": "date-time" } } });
    Node::compile(&json!({ "type": "object", "required": ["spec"], "properties": { "spec": {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": { "type": "integer", "format": "int64", "minimum": 1 },
            "name": { "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]*$" },
            "mode": { "type": "string", "enum": ["a", "b"], "default": "a" },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "none": { "type": "string", "nullable": true },
            "sizes": { "type": "object", "additionalProperties": { "x-kubernetes-int-or-string": true, "anyOf": [] } },
            "list": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                      "items": condition }
        },
        "x-kubernetes-validations": [{ "rule": "self.size >= oldSelf.size", "message": "grow", "fieldPath": ".size" }]
    } } }))
    .unwrap()
}

fn wrong(spec: Value, old: Option<Value>) -> Vec<String> {
    let object = |spec| json!({ "metadata": {}, "spec": spec });
    let problems = check(&node(), &object(spec), old.map(object).as_ref(), Problems::default());
    problems.all.into_iter().map(|(_, path, _)| path).collect()
}

#[test]
fn nulls_go_defaults_come_and_unknown_fields_go() {
    let mut object = json!({ "spec": { "size": 1, "name": null, "none": null, "odd": 1, "free": { "x": 1, "y": null },
                                       "list": [{ "type": "t", "odd": 1 }] }, "odd": 1, "metadata": { "name": "a" } });
    prepare(&node(), &mut object);
    let spec =
        json!({ "size": 1, "none": null, "mode": "a", "free": { "x": 1, "y": null }, "list": [{ "type": "t" }] });
    assert_eq!(object, json!({ "spec": spec, "metadata": { "name": "a" } }));
}

#[test]
fn each_keyword_refuses() {
    assert_eq!(wrong(json!({ "size": 1, "name": "abc", "mode": "b", "sizes": { "x": 1, "y": "1" } }), None), [""; 0]);
    for (spec, at) in [
        (json!({ "size": 0 }), "spec.size"),
        (json!({ "size": 1, "name": "" }), "spec.name"),
        (json!({ "size": 1, "name": "A" }), "spec.name"),
        (json!({ "size": 1, "list": [{ "type": "a" }, { "type": "a" }] }), "spec.list[1]"),
    ] {
        assert_eq!(wrong(spec, None), [at]);
    }
    for (spec, at) in [
        (json!({}), "spec.size"),
        (json!({ "size": "1" }), "spec.size"),
        (json!({ "size": 1, "name": "abcd" }), "spec.name"),
        (json!({ "size": 1, "mode": "c" }), "spec.mode"),
        (json!({ "size": 1, "list": [{ "type": "a", "since": "soon" }] }), "spec.list[0].since"),
    ] {
        assert_eq!(wrong(spec, None), [at, "<nil>"], "rules are not evaluated");
    }
    let sizes = json!({ "size": 1, "sizes": { "x": true } });
    assert_eq!(wrong(sizes, None), ["spec.sizes.x", "<nil>", "spec.sizes.x", "<nil>"]);
}

#[test]
fn what_an_update_leaves_alone_is_not_checked_again() {
    let old = || Some(json!({ "size": 1, "name": "WRONG", "list": [{ "type": "a", "since": "soon" }] }));
    assert_eq!(wrong(json!({ "size": 2, "name": "WRONG" }), old()), [""; 0]);
    assert_eq!(wrong(json!({ "size": 1, "name": "NOT" }), old()), ["spec.name"]);
    let list = json!([{ "type": "b" }, { "type": "a", "since": "soon" }]);
    assert_eq!(wrong(json!({ "size": 1, "list": list }), old()), [""; 0]);
    assert_eq!(wrong(json!({ "size": 0, "name": "WRONG" }), old()), ["spec.size", "spec.size"]);
}

#[test]
fn an_unknown_keyword_is_refused() {
    assert!(Node::compile(&json!({ "type": "object", "minProperties": 1 })).is_err());
    assert!(Node::compile(&json!({ "anyOf": [] })).is_err());
}
