//! The objects of all kinds as JSON, and what happened to them. It decides which writes are refused, what the API server
//! adds to an object, and when an object is gone; which requests lead here is decided in `service`.

use std::{collections::BTreeMap, sync::Arc};

use berth_telemetry::clock::Clock;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use thiserror::Error;

use crate::patch;

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code} {reason}: {message}")]
pub struct Refusal {
    /// The status code of HTTP.
    pub code: u16,
    /// The reason in one word, as Kubernetes has it.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// The object that it is about.
    pub name: String,
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, name: &str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), name: name.to_owned() }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.code,
                "reason": self.reason, "message": self.message, "details": { "name": self.name } })
    }
}

/// What a watch would tell of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It was created or changed.
    Applied,
    /// It is gone.
    Deleted,
}

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct Event {
    /// The resourceVersion that it has brought.
    pub version: u64,
    /// The path of its kind.
    pub kind: String,
    /// What happened.
    pub happened: Happened,
    /// The object after that.
    pub object: Arc<Value>,
}

/// What must be so for a write to apply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    uid: Option<String>,
    version: Option<String>,
}

impl Preconditions {
    /// As they stand in the metadata of a patch or in the options of a deletion.
    pub(crate) fn of(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Self { uid: text("uid"), version: text("resourceVersion") }
    }

    fn check(&self, name: &str, object: &Value) -> Result<(), Refusal> {
        for (wanted, key) in [(&self.uid, "uid"), (&self.version, "resourceVersion")] {
            let is = object["metadata"][key].as_str();
            if wanted.as_deref().is_some_and(|wanted| is != Some(wanted)) {
                let message = format!("Operation cannot be fulfilled on {name:?}: the {key} is {is:?}, not {wanted:?}");
                return Err(Refusal::new(409, "Conflict", name, message));
            }
        }
        Ok(())
    }
}

/// Which part of an object a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Main,
    Status,
}

/// All objects, by the path of their kind and their name.
pub(crate) struct Objects {
    kinds: BTreeMap<String, BTreeMap<String, Value>>,
    history: Vec<Event>,
    version: u64,
    clock: Arc<dyn Clock>,
}

impl Objects {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { kinds: BTreeMap::new(), history: Vec::new(), version: 0, clock }
    }

    /// The newest resourceVersion.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// What happened after a resourceVersion.
    pub(crate) fn since(&self, version: u64) -> Vec<Event> {
        self.history.iter().filter(|event| event.version > version).cloned().collect()
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Result<Value, Refusal> {
        self.kinds.get(kind).and_then(|all| all.get(name)).cloned().ok_or_else(|| not_found(kind, name))
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        self.kinds.get(kind).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    pub(crate) fn create(&mut self, kind: &str, mut object: Value) -> Result<Value, Refusal> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if name.is_empty() || !object["metadata"].is_object() {
            return Err(Refusal::new(422, "Invalid", &name, "metadata.name: Required value"));
        }
        if self.get(kind, &name).is_ok() {
            return Err(Refusal::new(409, "AlreadyExists", &name, format!("{kind} {name:?} already exists")));
        }
        let uid = format!("uid-{}", self.version + 1);
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!(self.now());
        patch::tidy(&mut object);
        Ok(self.store(kind, &name, object))
    }

    pub(crate) fn patch(&mut self, kind: &str, name: &str, endpoint: Endpoint, body: &Value) -> Result<Value, Refusal> {
        let old = self.get(kind, name)?;
        let mut preconditions = Preconditions::of(&body["metadata"]);
        if endpoint == Endpoint::Status {
            // As the real one: nobody compares the uid in a patch of the status.
            preconditions.uid = None;
        }
        preconditions.check(name, &old)?;
        let mut new = match endpoint {
            Endpoint::Main => patch::main(&old, body),
            Endpoint::Status => patch::status(&old, body),
        };
        if new == old {
            return Ok(old);
        }
        if patch::changes_spec(&old, &new) {
            next_generation(&mut new);
        }
        if is_dying(&new) && !has_finalizers(&new) {
            Ok(self.remove(kind, name, new))
        } else {
            Ok(self.store(kind, name, new))
        }
    }

    /// Gives the object while it stays, and nothing when it is gone.
    pub(crate) fn delete(
        &mut self,
        kind: &str,
        name: &str,
        preconditions: &Preconditions,
    ) -> Result<Option<Value>, Refusal> {
        let mut object = self.get(kind, name)?;
        preconditions.check(name, &object)?;
        if !has_finalizers(&object) {
            self.remove(kind, name, object);
            return Ok(None);
        }
        if is_dying(&object) {
            return Ok(Some(object));
        }
        object["metadata"]["deletionTimestamp"] = json!(self.now());
        next_generation(&mut object);
        Ok(Some(self.store(kind, name, object)))
    }

    fn store(&mut self, kind: &str, name: &str, object: Value) -> Value {
        let object = self.happened(kind, Happened::Applied, object);
        self.kinds.entry(kind.to_owned()).or_default().insert(name.to_owned(), object.clone());
        object
    }

    fn remove(&mut self, kind: &str, name: &str, object: Value) -> Value {
        if let Some(all) = self.kinds.get_mut(kind) {
            all.remove(name);
        }
        self.happened(kind, Happened::Deleted, object)
    }

    fn happened(&mut self, kind: &str, happened: Happened, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let event = Event { version: self.version, kind: kind.to_owned(), happened, object: Arc::new(object.clone()) };
        self.history.push(event);
        object
    }

    fn now(&self) -> String {
        let now = self.clock.now();
        let whole: Timestamp = now.round(Unit::Second).unwrap_or(now);
        whole.to_string()
    }
}

pub(crate) fn not_found(kind: &str, name: &str) -> Refusal {
    Refusal::new(404, "NotFound", name, format!("{kind} {name:?} not found"))
}

fn next_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + 1);
}

fn is_dying(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use berth_telemetry::clock::SystemClock;

    use super::*;

    const KIND: &str = "/apis/test/v1/things";

    fn with_a(finalizers: &[&str]) -> Objects {
        let mut all = Objects::new(Arc::new(SystemClock));
        let a = json!({ "metadata": { "name": "a", "finalizers": finalizers }, "spec": { "room": 1 } });
        all.create(KIND, a).unwrap();
        all
    }

    fn meta<'a>(object: &'a Value, key: &str) -> &'a Value {
        &object["metadata"][key]
    }

    #[test]
    fn a_new_object_gets_what_the_server_gives_and_exists_once() {
        let mut all = with_a(&[]);
        let a = all.get(KIND, "a").unwrap();
        assert_eq!((meta(&a, "uid"), meta(&a, "resourceVersion")), (&json!("uid-1"), &json!("1")));
        assert_eq!(meta(&a, "generation"), 1);
        assert!(meta(&a, "creationTimestamp").as_str().unwrap().parse::<Timestamp>().is_ok());
        assert!(a["metadata"].get("finalizers").is_none());
        assert_eq!(all.create(KIND, a).unwrap_err().reason, "AlreadyExists");
        assert_eq!(all.get(KIND, "b").unwrap_err().body()["details"]["name"], "b");
    }

    #[test]
    fn the_generation_counts_changes_of_the_spec_only_and_nothing_changes_by_nothing() {
        let mut all = with_a(&[]);
        let labels = json!({ "metadata": { "labels": { "x": "1" } }, "status": { "lost": true } });
        let a = all.patch(KIND, "a", Endpoint::Main, &labels).unwrap();
        assert_eq!((meta(&a, "generation"), meta(&a, "resourceVersion")), (&json!(1), &json!("2")));
        assert_eq!(all.patch(KIND, "a", Endpoint::Main, &labels).unwrap(), a);
        let a = all.patch(KIND, "a", Endpoint::Status, &json!({ "status": { "host": "h" } })).unwrap();
        assert_eq!((meta(&a, "generation"), meta(&a, "resourceVersion")), (&json!(1), &json!("3")));
        let a = all.patch(KIND, "a", Endpoint::Main, &json!({ "spec": { "room": 2 } })).unwrap();
        assert_eq!((meta(&a, "generation"), &a["status"]), (&json!(2), &json!({ "host": "h" })));
        assert_eq!(all.since(1).len(), 3);
    }

    #[test]
    fn preconditions_are_conflicts() {
        let mut all = with_a(&[]);
        for wrong in [json!({ "uid": "uid-9" }), json!({ "resourceVersion": "9" })] {
            let body = json!({ "metadata": wrong, "spec": { "room": 2 } });
            assert_eq!(all.patch(KIND, "a", Endpoint::Main, &body).unwrap_err().reason, "Conflict");
            assert_eq!(all.delete(KIND, "a", &Preconditions::of(&wrong)).unwrap_err().reason, "Conflict");
        }
        let body = json!({ "metadata": { "resourceVersion": "9" }, "status": { "host": "h" } });
        assert_eq!(all.patch(KIND, "a", Endpoint::Status, &body).unwrap_err().reason, "Conflict");
        let right = Preconditions::of(&json!({ "uid": "uid-1", "resourceVersion": "1" }));
        assert_eq!(all.delete(KIND, "a", &right), Ok(None));
    }

    #[test]
    fn finalizers_keep_an_object_until_the_last_one_goes() {
        let mut all = with_a(&["f"]);
        let a = all.delete(KIND, "a", &Preconditions::default()).unwrap().unwrap();
        assert_eq!(meta(&a, "generation"), 2);
        assert_eq!(all.delete(KIND, "a", &Preconditions::default()), Ok(Some(a)), "once is enough");
        all.patch(KIND, "a", Endpoint::Main, &json!({ "metadata": { "finalizers": [] } })).unwrap();
        assert_eq!(all.get(KIND, "a").unwrap_err().code, 404);
        let last = all.since(0).pop().unwrap();
        assert_eq!((last.happened, last.version), (Happened::Deleted, 3));
    }
}
