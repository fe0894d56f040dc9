//! The invariant "no write by a non-leader", checked on the log of the double by the time of sending: a replica that
//! writes has renewed the lease, and no other replica has taken it since.

use serde_json::Value;

/// How long after its last renewal a replica may send writes: the lease duration without the margin of the fence.
const MAY_WRITE_SECONDS: f64 = 10.0;

/// All writes of replicas that did not lead when they sent them.
pub fn violations(calls: &[String]) -> Vec<String> {
    let mut tenure: Option<(String, f64)> = None;
    let mut violations = Vec::new();
    for call in calls {
        let words: Vec<_> = call.splitn(8, ' ').collect();
        let [_, at, who, verb, path, code, rest @ ..] = &words[..] else { continue };
        let at: f64 = at.parse().unwrap();
        let writes = ["create", "update", "patch", "status", "delete"].contains(verb);
        if path.contains("/leases/") && writes && rest.first() == Some(&"changed") {
            let body: Value = rest.get(1).and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
            let holder = body["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
            tenure = Some((holder, at));
        } else if writes && !path.contains("/leases/") {
            let leads = tenure.as_ref().is_some_and(|(holder, since)| holder == who && at - since <= MAY_WRITE_SECONDS);
            if !leads {
                violations.push(format!("{who} {verb} {path} {code} at {at}, the lease is that of {tenure:?}"));
            }
        }
    }
    violations
}
