use serde_json::{Value, json};

use super::*;
use crate::schema::Node;

fn node(schema: &Value) -> Node {
    Node::compile(schema).unwrap()
}

fn holds(rule: &str, this: &Value, old: Option<&Value>) -> Result<bool, String> {
    let time = json!({ "type": "string", "format": "date-time" });
    let schema = node(
        &json!({ "type": "object", "properties": { "start": time, "end": time }, "x-kubernetes-preserve-unknown-fields": true }),
    );
    Program::new(rule).unwrap().holds(Scope { this, old, schema: &schema, optional_old: false })
}

#[test]
fn what_rules_are_made_of() {
    let this = json!({ "a": "x", "n": 2, "r": 1.5, "list": [1, 2], "map": { "memory": "1Gi" },
                       "start": "2026-03-01T12:00:00+02:00", "end": "2026-03-01T11:00:00Z" });
    for rule in [
        "has(self.a) && !has(self.b)",
        "self.a == 'x' ? self.n == 2 : false",
        "self.missing == 1 || self.n >= 2",
        "!(self.missing == 1 && self.n > 2)",
        "self.start <= self.end",
        "'memory' in self.map && size(self.map) == 1",
        "self.map['memory'] != 0",
        "type(self.n) == int && type(self.a) == string",
        "self.list.all(k, k >= 1.0) && self.map.all(k, self.map[k].size() > 0)",
        "self.a.matches('^[x-z]$') && 'A-' + self.a == 'A-x'",
        "'ABC'.lowerAscii() in ['abc', '']",
        "(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1",
        "self.n == self.list[1] && self.n != 'x'",
    ] {
        assert_eq!(holds(rule, &this, None), Ok(true), "{rule}");
    }
    assert_eq!(holds("self.a == oldSelf.a", &this, Some(&json!({ "a": "y" }))), Ok(false));
    assert!(holds("self.missing == 1", &this, None).is_err());
}

#[test]
fn what_is_not_known_is_refused_and_not_skipped() {
    for rule in ["self.a.unheard()", "quantity(self.a)", "other.a == 1", "self.a ==", "self.exists(x, x)", "'a\\n'"] {
        assert!(Program::new(rule).is_err(), "{rule}");
    }
}
