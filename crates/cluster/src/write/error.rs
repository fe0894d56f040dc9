//! The errors of a call, classified by whether anything may have been changed: "refused", "not now" or "unknown".

use std::error::Error;
use std::fmt;

use hyper_util::client::legacy;
use kube::core::Status;
use strum::IntoStaticStr;
use thiserror::Error;

use crate::answers::describe_status;
use crate::{Classified, ErrorClass, NotLeader, ObjectKey, chain};

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Operation {
    Get,
    Create,
    Patch,
    PatchStatus,
    Delete,
}

impl Operation {
    /// The value of the label `verb` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A call: the operation and its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub operation: Operation,
    pub kind: String,
    pub key: ObjectKey,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.operation {
            Operation::Get => "read",
            Operation::Create => "create",
            Operation::Patch => "change",
            Operation::PatchStatus => "change the status of",
            Operation::Delete => "delete",
        };
        write!(f, "cannot {verb} {} {}", self.kind, self.key)
    }
}

/// Why an object is not as we wanted it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The object is not the one that the decision rested on.
    #[error("{call}: it has changed since it was read; it is read again")]
    Conflict { call: Call },
    /// There is an object of that name, now in the store. It is not ours until it was checked.
    #[error("{call}: there is an object of that name already; it is read again")]
    AlreadyExists { call: Call },
    /// Another cluster has an object of that name, so this one was not created.
    #[error(
        "cannot create {gvk} /{name}: already exists on another cluster ({others}); delete the one that is in the wrong \
         cluster",
        name = call.key.name
    )]
    Elsewhere { call: Call, gvk: String, others: String },
    /// The API server does not want it, and will not want it later.
    #[error("{call}: the API server refuses it ({code}): {message}")]
    Refused { call: Call, code: u16, message: String },
    /// Nothing was changed because something does not answer or is overloaded.
    #[error("{call}: {message}; nothing was changed, it is tried again")]
    Unavailable { call: Call, message: String },
    /// Nothing was changed because the API server does not know the kind: its CRD is not installed, or not yet.
    #[error("{call}: {message}; nothing was changed, it is tried again")]
    NotServed { call: Call, message: String },
    /// It may have taken effect or not. The object is marked as in doubt.
    #[error("{call}: {message}; whether it took effect is unknown, the object is read before anything else is decided")]
    Unknown { call: Call, message: String },
    /// It took effect, and the answer does not decode.
    #[error("{call}: it took effect, but the object is malformed now: {message}")]
    Malformed { call: Call, message: String },
    /// This process does not lead, or its lease ends too soon for a write. Nothing was changed.
    #[error("{call}: {NotLeader}")]
    NotLeader { call: Call },
    #[error("{call}: {message}")]
    Invalid { call: Call, message: String },
}

impl WriteError {
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Conflict { .. } | Self::AlreadyExists { .. } | Self::Unknown { .. } => ErrorClass::Conflict,
            Self::Unavailable { .. } | Self::NotServed { .. } | Self::NotLeader { .. } => ErrorClass::Transient,
            Self::Elsewhere { .. } | Self::Refused { .. } | Self::Malformed { .. } | Self::Invalid { .. } => {
                ErrorClass::Permanent
            }
        }
    }

    /// The value of the label `outcome` in metrics.
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::AlreadyExists { .. } | Self::Elsewhere { .. } => "exists",
            Self::Unavailable { .. } | Self::NotServed { .. } => "unavailable",
            Self::Unknown { .. } => "unknown",
            Self::NotLeader { .. } => "not_leader",
            Self::Refused { .. } | Self::Malformed { .. } | Self::Invalid { .. } => "refused",
        }
    }
}

impl Classified for WriteError {
    fn class(&self) -> ErrorClass {
        self.class()
    }
}

/// The meaning of a failed call.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    NotFound,
    Error(WriteError),
}

impl Failure {
    pub fn of(call: &Call, error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if is_not_found(call, status) => Self::NotFound,
            kube::Error::Api(status) => Self::Error(answered(call.clone(), status)),
            error => Self::Error(unanswered(call.clone(), error)),
        }
    }
}

/// A 404 about the object. A 404 about the kind (the CRD is not installed, or the path is wrong) proves nothing about
/// the object.
fn is_not_found(call: &Call, status: &Status) -> bool {
    let names_it = |details: &kube::core::response::StatusDetails| *details.name == *call.key.name;
    let quotes_it = || status.message.contains(&format!("\"{}\"", call.key.name));
    status.is_not_found() && (status.details.as_ref().is_some_and(names_it) || quotes_it())
}

fn answered(call: Call, status: &Status) -> WriteError {
    let message = if status.message.is_empty() { status.reason.clone() } else { status.message.clone() };
    match status.code {
        _ if status.is_already_exists() => WriteError::AlreadyExists { call },
        _ if status.is_conflict() || is_other_incarnation(status) => WriteError::Conflict { call },
        // Kinds are installed, rights granted and credentials renewed while we wait, and a server that has just started
        // refuses all clients until it knows them.
        401 | 403 => WriteError::Unavailable { call, message: describe_status(status) },
        404 => WriteError::NotServed { call, message: describe_status(status) },
        // Both come before anything is stored: too many requests, and a server that is not ready or shuts down.
        429 | 503 => WriteError::Unavailable { call, message },
        // All others may come after it: etcd timed out, a proxy gave up.
        408 | 500.. => {
            WriteError::Unknown { call, message: format!("the API server says {message} ({})", status.code) }
        }
        code => WriteError::Refused { call, code, message },
    }
}

/// A patch carries the uid; the server takes another one for an attempt to change it.
fn is_other_incarnation(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|details| &details.causes[..]).unwrap_or_default();
    status.code == 422 && causes.iter().any(|cause| cause.field == "metadata.uid")
}

fn unanswered(call: Call, error: &kube::Error) -> WriteError {
    let message = chain(error);
    match error {
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => WriteError::Invalid { call, message },
        kube::Error::Auth(_) => WriteError::Unavailable { call, message },
        error if caused_by::<NotLeader>(error, |_| true) => WriteError::NotLeader { call },
        error if never_connected(error) => WriteError::Unavailable { call, message },
        _ => WriteError::Unknown { call, message },
    }
}

/// True if the request cannot have left this machine.
fn never_connected(error: &kube::Error) -> bool {
    caused_by(error, legacy::Error::is_connect)
}

fn caused_by<E: Error + 'static>(error: &kube::Error, is_it: impl Fn(&E) -> bool) -> bool {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<E>().is_some_and(&is_it) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use kube::core::response::{StatusCause, StatusDetails};

    use super::*;

    fn call() -> Call {
        Call { operation: Operation::Patch, kind: "Thing".to_owned(), key: ObjectKey::new("home".into(), "a") }
    }

    fn outcome(code: u16, reason: &str, message: &str) -> &'static str {
        let status = Status::failure(message, reason).with_code(code);
        match Failure::of(&call(), &kube::Error::Api(Box::new(status))) {
            Failure::NotFound => "gone",
            Failure::Error(error) => error.outcome(),
        }
    }

    #[test]
    fn answers_are_reported_apart_by_whether_something_may_have_been_stored() {
        assert_eq!(outcome(404, "NotFound", "things.test \"a\" not found"), "gone");
        assert_eq!(outcome(404, "NotFound", "the server could not find the requested resource"), "unavailable");
        assert_eq!(outcome(409, "Conflict", "the object has been modified"), "conflict");
        assert_eq!(outcome(409, "AlreadyExists", "things.test \"a\" already exists"), "exists");
        assert_eq!(outcome(422, "Invalid", "size must not be negative"), "refused");
        assert_eq!(outcome(403, "Forbidden", "things.test is forbidden"), "unavailable");
        assert_eq!(outcome(429, "TooManyRequests", "slow down"), "unavailable");
        assert_eq!(outcome(503, "ServiceUnavailable", "shutting down"), "unavailable");
        assert_eq!(outcome(500, "InternalError", "etcdserver: request timed out"), "unknown");
        assert_eq!(outcome(504, "Timeout", "request did not complete within 34s"), "unknown");
    }

    #[test]
    fn a_patch_of_another_incarnation_is_a_conflict() {
        let cause = StatusCause { field: "metadata.uid".to_owned(), message: String::new(), reason: String::new() };
        let details = StatusDetails {
            name: "a".to_owned(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 0,
        };
        let status = Status::failure("field is immutable", "Invalid").with_code(422).with_details(details);
        let failure = Failure::of(&call(), &kube::Error::Api(Box::new(status)));
        assert_eq!(failure, Failure::Error(WriteError::Conflict { call: call() }));
    }

    #[test]
    fn texts_name_the_object_and_what_comes_next() {
        let error = WriteError::Refused { call: call(), code: 403, message: "things.test is forbidden".to_owned() };
        assert_eq!(
            error.to_string(),
            "cannot change Thing home/a: the API server refuses it (403): things.test is forbidden"
        );
    }
}
