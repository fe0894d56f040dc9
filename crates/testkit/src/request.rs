//! Parses HTTP requests into calls.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

use crate::refusal::Refusal;
use crate::verb::Verb;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PatchKind {
    #[default]
    Merge,
    Json,
}

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Objects: the path of their kind, the namespace and the name, each empty if it is not given.
    Objects {
        kind: String,
        namespace: String,
        name: String,
        status: bool,
    },
    Other,
}

/// The parameters of the query.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub(crate) struct Query {
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) dry_run: bool,
    pub(crate) limit: Option<usize>,
    pub(crate) go_on: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) version_match: Option<String>,
    pub(crate) timeout_seconds: Option<u32>,
    pub(crate) fields: String,
    pub(crate) labels: String,
    pub(crate) initial_events: bool,
}

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) target: Target,
    /// The path, with the name also for a creation, without `/status`: the identification in logs and in rules of
    /// faults.
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) patch: PatchKind,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

impl Call {
    /// Parses a request. A refusal here comes before any fault.
    pub(crate) async fn read(request: Request<Body>) -> (Self, Option<Refusal>) {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let (query, mut refusal) = split(query(head.uri.query().unwrap_or_default()));
        let target = target(&path);
        let (verb, unserved) = split(verb(&head.method, &target, &query));
        refusal = refusal.or(unserved);
        let (bytes, unread) =
            split(body.collect_bytes().await.map_err(|error| Refusal::bad_request(error.to_string())));
        let (body, invalid_amount) = split(parsed(&bytes));
        refusal = refusal.or(unread).or(invalid_amount);
        let mut form = PatchKind::Merge;
        if matches!(verb, Verb::Patch | Verb::PatchStatus) {
            let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let (kind, unknown) = split(patch_kind(kind.unwrap_or_default()));
            (form, refusal) = (kind, refusal.or(unknown));
        }
        let path = logged(path, verb, &target, &body);
        (Self { verb, target, path, query, patch: form, bytes, body }, refusal)
    }
}

fn split<T: Default>(result: Result<T, Refusal>) -> (T, Option<Refusal>) {
    match result {
        Ok(value) => (value, None),
        Err(refusal) => (T::default(), Some(refusal)),
    }
}

fn parsed(bytes: &Bytes) -> Result<Value, Refusal> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(bytes).map_err(|error| Refusal::bad_request(format!("the body cannot be read: {error}")))
}

fn logged(mut path: String, verb: Verb, target: &Target, body: &Value) -> String {
    if let Target::Objects { status: true, .. } = target {
        path.truncate(path.len() - "/status".len());
    }
    if verb == Verb::Create {
        path.push('/');
        path.push_str(body["metadata"]["name"].as_str().unwrap_or_default());
    } else if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteAll) {
        path.push('/');
    }
    path
}

fn target(path: &str) -> Target {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (root, rest) = match segments.as_slice() {
        ["apis", "authorization.k8s.io", ..] => return Target::Other,
        ["apis", group, version, rest @ ..] => (format!("/apis/{group}/{version}"), rest),
        ["api", version, rest @ ..] => (format!("/api/{version}"), rest),
        _ => return Target::Other,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, status) = match rest {
        [plural] => (*plural, "", false),
        [plural, name] => (*plural, *name, false),
        [plural, name, "status"] => (*plural, *name, true),
        _ => return Target::Other,
    };
    let kind = format!("{root}/{plural}");
    Target::Objects { kind, namespace: namespace.to_owned(), name: name.to_owned(), status }
}

fn verb(method: &Method, target: &Target, query: &Query) -> Result<Verb, Refusal> {
    let (named, status) = match target {
        Target::Objects { name, status, .. } => (!name.is_empty(), *status),
        Target::Other if *method == Method::GET => return Ok(Verb::Discover),
        Target::Other if *method == Method::POST => return Ok(Verb::Review),
        Target::Other => return Err(Refusal::not_allowed()),
    };
    match (method, named) {
        (&Method::GET, false) if query.watch => Ok(Verb::Watch),
        (&Method::GET, false) => Ok(Verb::List),
        (&Method::GET, true) if query.watch => Err(Refusal::not_here("the watch of a single path")),
        (&Method::GET, true) => Ok(Verb::Get),
        (&Method::POST, false) => Ok(Verb::Create),
        (&Method::PUT, false) => Err(Refusal::bad_request("name must be provided")),
        (&Method::PUT, true) => Ok(if status { Verb::UpdateStatus } else { Verb::Update }),
        (&Method::PATCH, true) => Ok(if status { Verb::PatchStatus } else { Verb::Patch }),
        (&Method::DELETE, true) if !status => Ok(Verb::Delete),
        (&Method::DELETE, false) => Ok(Verb::DeleteAll),
        _ => Err(Refusal::not_allowed()),
    }
}

fn patch_kind(content: &str) -> Result<PatchKind, Refusal> {
    match content {
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/apply-patch+yaml" => Err(Refusal::not_here("server-side apply")),
        _ => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            "",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}

fn query(text: &str) -> Result<Query, Refusal> {
    let mut query = Query::default();
    for (key, value) in form_urlencoded::parse(text.as_bytes()) {
        let on = value == "true" || value == "1";
        let text = || Some(value.clone().into_owned()).filter(|text| !text.is_empty());
        match key.as_ref() {
            "watch" => query.watch = on,
            "allowWatchBookmarks" => query.bookmarks = on,
            "sendInitialEvents" => query.initial_events = on,
            "dryRun" => query.dry_run = value == "All",
            "limit" => query.limit = number(&value)?.filter(|limit| *limit > 0),
            "continue" => query.go_on = text(),
            "resourceVersion" => query.version = text(),
            "resourceVersionMatch" => query.version_match = text(),
            "timeoutSeconds" => query.timeout_seconds = number(&value)?,
            "fieldSelector" => query.fields = value.into_owned(),
            "labelSelector" => query.labels = value.into_owned(),
            // Field managers are not tracked, and unknown fields are pruned silently.
            "fieldManager" | "fieldValidation" | "pretty" | "force" => {}
            other => return Err(Refusal::not_here(&format!("the parameter {other}"))),
        }
    }
    if query.initial_events {
        return Err(Refusal::not_here("sendInitialEvents"));
    }
    Ok(query)
}

fn number<N: std::str::FromStr>(text: &str) -> Result<Option<N>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Refusal::bad_request(format!("{text:?} is no number that can be used here")))
}
