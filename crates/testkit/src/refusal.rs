//! Answers that are no success, in the form of the API server.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{kinds::KindInfo, schema::Problems};

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
    /// What else the answer says: group, kind, causes, seconds to wait.
    pub(crate) details: Map<String, Value>,
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, name: &str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), name: name.to_owned(), details: Map::new() }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        let mut details = self.details.clone();
        if !self.name.is_empty() {
            details.insert("name".to_owned(), json!(self.name));
        }
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.code,
                "reason": self.reason, "message": self.message, "details": details })
    }

    /// The body as text.
    pub(crate) fn bytes(&self) -> Bytes {
        if self.reason.is_empty() { format!("{}\n", self.message).into() } else { self.body().to_string().into() }
    }

    pub(crate) fn of(mut self, kind: &KindInfo) -> Self {
        // The API server puts the plural where the kind is meant, except for objects that are invalid.
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

    /// Something that a real API server would do.
    pub(crate) fn not_here(what: &str) -> Self {
        Self::new(501, "NotImplemented", "", format!("{what} is not part of the double; use a real API server"))
    }

    /// Nothing is served at this path. The API server says that in plain text.
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

    pub(crate) fn modified(kind: &KindInfo, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, why)
    }

    pub(crate) fn invalid(kind: &KindInfo, name: &str, problems: &Problems) -> Self {
        let message = format!("{}.{} {name:?} is invalid: {problems}", kind.kind, kind.group);
        let mut refusal = Self::new(422, "Invalid", name, message).of(kind);
        let causes: Vec<_> = problems
            .all
            .iter()
            .map(|(problem, field, message)| json!({ "reason": problem.reason(), "field": field, "message": message }))
            .collect();
        refusal.details.insert("causes".to_owned(), json!(causes));
        refusal
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", "", message)
    }

    /// The version is not known yet.
    pub(crate) fn too_large(version: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {version}, current: {current}");
        let mut refusal = Self::new(504, "Timeout", "", message);
        let cause = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
        refusal.details.insert("causes".to_owned(), cause);
        refusal.details.insert("retryAfterSeconds".to_owned(), json!(1));
        refusal
    }
}
