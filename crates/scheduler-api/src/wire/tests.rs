//! Tests of the wire format: what is parsed, what is refused and how, what is written.

mod answering;
mod reading;
mod refusing;
mod round_trip;
mod speed;

use serde_json::{Value, json};

use super::{Incoming, Malformed, decode};

/// A request for one VM on hosts a and b, with these members of the spec.
fn with_spec(spec: &Value) -> Value {
    json!({
        "spec": {"nova_object.data": spec},
        "hosts": [{"host": "a", "hypervisor_hostname": "x"}, {"host": "b"}],
        "weights": {"a": 1, "b": 0.5},
        "pipeline": "p",
    })
}

fn decoded(body: &Value) -> Incoming {
    decode(body.to_string().as_bytes()).unwrap()
}

fn refused(body: &str) -> Malformed {
    decode(body.as_bytes()).unwrap_err()
}
