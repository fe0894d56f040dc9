//! Error answers in the form of the API server.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::kinds::KindInfo;
use crate::schema::Problems;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{code} {reason}: {message}")]
pub struct Refusal {
    pub code: u16,
    /// The reason of the status, such as `NotFound`.
    pub reason: &'static str,
    pub message: String,
    pub name: String,
    /// The further details of the status: group, kind, causes, seconds to wait.
    pub(crate) details: Map<String, Value>,
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, name: &str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), name: name.to_owned(), details: Map::new() }
    }

    pub(crate) fn body(&self) -> Value {
        let mut details = self.details.clone();
        if !self.name.is_empty() {
            details.insert("name".to_owned(), json!(self.name));
        }
        let mut body = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                               "code": self.code, "message": self.message });
        if !self.reason.is_empty() {
            body["reason"] = json!(self.reason);
        }
        if !details.is_empty() {
            body["details"] = Value::Object(details);
        }
        body
    }

    pub(crate) fn bytes(&self) -> Bytes {
        if self.is_plain() { format!("{}\n", self.message).into() } else { self.body().to_string().into() }
    }

    /// Whether the body is plain text.
    pub(crate) fn is_plain(&self) -> bool {
        self.code == 404 && self.reason.is_empty()
    }

    pub(crate) fn of(mut self, kind: &KindInfo) -> Self {
        // The API server uses the plural instead of the kind, except for invalid objects.
        let name = if self.code == 422 { &kind.kind } else { &kind.plural };
        self.details.insert("group".to_owned(), json!(kind.group));
        self.details.insert("kind".to_owned(), json!(name));
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", "", message)
    }

    pub(crate) fn not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "", "the server does not allow this method on the requested resource")
    }

    /// A feature of a real API server that the double lacks.
    pub(crate) fn not_here(what: &str) -> Self {
        Self::new(501, "NotImplemented", "", format!("{what} is not part of the double; use a real API server"))
    }

    /// Nothing is served at this path. The API server answers that in plain text.
    pub(crate) fn page_not_found() -> Self {
        Self::new(404, "", "", "404 page not found")
    }

    pub(crate) fn not_found(kind: &KindInfo, name: &str) -> Self {
        Self::new(404, "NotFound", name, format!("{} {name:?} not found", kind.resource())).of(kind)
    }

    pub(crate) fn exists(kind: &KindInfo, name: &str) -> Self {
        Self::new(409, "AlreadyExists", name, format!("{} {name:?} already exists", kind.resource())).of(kind)
    }

    pub(crate) fn conflict(kind: &KindInfo, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.resource());
        Self::new(409, "Conflict", name, message).of(kind)
    }

    /// The preconditions of a deletion require another object or version.
    pub(crate) fn stale_deletion(kind: &KindInfo, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}.{} {name:?}: {why}", kind.kind, kind.group);
        let mut refusal = Self::new(409, "Conflict", name, message).of(kind);
        refusal.details.insert("kind".to_owned(), json!(kind.kind));
        refusal
    }

    pub(crate) fn modified(kind: &KindInfo, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn invalid(kind: &KindInfo, name: &str, problems: &Problems) -> Self {
        // Events count as part of the core group, which has no name.
        let is_core = kind.group == "events.k8s.io";
        let full = if is_core { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        let mut refusal = Self::new(422, "Invalid", name, format!("{full} {name:?} is invalid: {problems}")).of(kind);
        if is_core {
            refusal.details.remove("group");
        }
        let causes: Vec<_> = problems
            .all
            .iter()
            .map(|(problem, field, message)| json!({ "reason": problem.reason(), "field": field, "message": message }))
            .collect();
        refusal.details.insert("causes".to_owned(), json!(causes));
        refusal
    }

    /// Like `invalid`, before the object is decoded: the resource replaces the kind.
    pub(crate) fn invalid_resource(kind: &KindInfo, name: &str, problems: &Problems) -> Self {
        let mut refusal = Self::invalid(kind, name, problems);
        refusal.message = format!("{} {name:?} is invalid: {problems}", kind.resource());
        refusal.details.insert("kind".to_owned(), json!(kind.plural));
        refusal
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", "", message)
    }

    pub(crate) fn too_large(version: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {version}, current: {current}");
        let mut refusal = Self::new(504, "Timeout", "", message);
        let cause = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        refusal.details.insert("causes".to_owned(), cause);
        refusal.details.insert("retryAfterSeconds".to_owned(), json!(1));
        refusal
    }
}
