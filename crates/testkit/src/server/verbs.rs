//! The effect of a request, and its answer.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};

use super::State;
use crate::discovery;
use crate::kinds::KindInfo;
use crate::objects::{Change, Endpoint, Mode, Object, Page, Preconditions, Wanted};
use crate::refusal::Refusal;
use crate::request::{Call, PatchKind, Target};
use crate::selector::Selector;
use crate::verb::Verb;
use crate::watch::Plan;

/// A regular answer.
pub(crate) enum Answer {
    Text(u16, Bytes),
    Refused(Refusal),
    Watch(Plan),
}

impl Answer {
    pub(super) fn nothing() -> Self {
        Self::Text(200, Bytes::new())
    }

    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Text(code, _) => *code,
            Self::Refused(refusal) => refusal.code,
            Self::Watch(_) => 200,
        }
    }

    pub(super) fn content(&self) -> &'static str {
        match self {
            Self::Refused(refusal) if refusal.is_plain() => "text/plain; charset=utf-8",
            _ => "application/json",
        }
    }
}

impl State {
    /// Performs a call. A list or a get may be answered from the state this many versions ago.
    pub(super) fn effect(&mut self, who: &str, call: &mut Call, stale: u64) -> Result<Answer, Refusal> {
        let body = std::mem::take(&mut call.body);
        let Target::Objects { kind, namespace, name, .. } = &call.target else {
            return self.other(who, call, &body);
        };
        self.check_scope(call.verb, kind, namespace)?;
        let mode = if call.query.dry_run { Mode::DryRun } else { Mode::Sent };
        match call.verb {
            Verb::Get => self.read(kind, (namespace, name), stale).map(|object| Answer::Text(200, object.text())),
            Verb::List => {
                let page = self.objects.list(&Wanted { kind, namespace, query: &call.query, stale })?;
                Ok(Answer::Text(200, list(&page)))
            }
            Verb::Watch => Plan::new(&self.objects, kind, namespace, &call.query).map(Answer::Watch),
            Verb::Create => {
                let object = self.objects.create(kind, namespace, body, mode)?;
                Ok(Answer::Text(201, object.text()))
            }
            Verb::Update | Verb::UpdateStatus | Verb::Patch | Verb::PatchStatus => self.change(call, &body, mode),
            Verb::Delete => self.delete(kind, (namespace, name), &body, call.query.dry_run),
            Verb::DeleteAll => self.delete_all(call),
            Verb::Review | Verb::Discover => Err(Refusal::not_allowed()),
        }
    }

    fn other(&self, who: &str, call: &Call, body: &Value) -> Result<Answer, Refusal> {
        let text = |code, value: Value| Answer::Text(code, value.to_string().into());
        match call.verb {
            Verb::Review => discovery::review(&self.denied, who, call.path.trim_end_matches('/'), body)
                .map(|value| text(201, value)),
            _ => discovery::discover(&call.path, self.objects.kinds()).map(|value| text(200, value)),
        }
    }

    /// Namespaced objects have a path with the namespace, and only lists and watches span all namespaces.
    fn check_scope(&self, verb: Verb, kind: &str, namespace: &str) -> Result<(), Refusal> {
        let namespaced = self.objects.kind(kind)?.namespaced;
        match (namespaced, namespace.is_empty()) {
            (true, true) if matches!(verb, Verb::List | Verb::Watch) => Ok(()),
            (true, false) | (false, true) => Ok(()),
            (true, true) => Err(Refusal::not_allowed()),
            (false, false) => Err(Refusal::page_not_found()),
        }
    }

    fn read(&self, kind: &str, (namespace, name): (&str, &str), stale: u64) -> Result<Object, Refusal> {
        if stale == 0 {
            return self.objects.get(kind, namespace, name).cloned();
        }
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let found = self.objects.get_stale(kind, &key, stale);
        found.ok_or_else(|| {
            self.objects.kind(kind).map_or_else(|refusal| refusal, |kind| Refusal::not_found(kind, name))
        })
    }

    fn change(&mut self, call: &Call, body: &Value, mode: Mode) -> Result<Answer, Refusal> {
        let Target::Objects { kind, namespace, name, status } = &call.target else {
            return Err(Refusal::not_allowed());
        };
        let endpoint = if *status { Endpoint::Status } else { Endpoint::Main };
        let change = match (call.verb, call.patch) {
            (Verb::Update | Verb::UpdateStatus, _) => Change::Replace(body),
            (_, PatchKind::Merge) => Change::Merge(body),
            (_, PatchKind::Json) => Change::Json(body),
        };
        let is_new = self.objects.get(kind, namespace, name).is_err();
        let object = self.objects.update(kind, (namespace, name), endpoint, change, mode)?;
        Ok(Answer::Text(if is_new { 201 } else { 200 }, object.text()))
    }

    fn delete(&mut self, kind: &str, place: (&str, &str), options: &Value, dry_run: bool) -> Result<Answer, Refusal> {
        if matches!(options["propagationPolicy"].as_str(), Some("Foreground" | "Orphan")) {
            return Err(Refusal::not_here("garbage collection"));
        }
        if dry_run || options["dryRun"].as_array().is_some_and(|all| !all.is_empty()) {
            return Err(Refusal::not_here("a deletion as a dry run"));
        }
        let info = self.objects.kind(kind)?.clone();
        let (object, stays) = self.objects.delete(kind, place, &Preconditions::of(&options["preconditions"]))?;
        Ok(Answer::Text(200, if stays { object.text() } else { gone(&info, &object.value).to_string().into() }))
    }

    fn delete_all(&mut self, call: &Call) -> Result<Answer, Refusal> {
        let Target::Objects { kind, namespace, .. } = &call.target else { return Err(Refusal::not_allowed()) };
        let info = self.objects.kind(kind)?.clone();
        let selector = Selector::new(&info, namespace, &call.query)?;
        let all: Vec<_> =
            self.objects.everything(kind).filter(|object| selector.takes(&object.value)).cloned().collect();
        let mut items = Vec::new();
        for object in all {
            let place = |key: &str| object.value["metadata"][key].as_str().unwrap_or_default();
            let place = (place("namespace"), place("name"));
            items.push(self.objects.delete(kind, place, &Preconditions::default())?.0);
        }
        let page = Page { kind: info, version: self.objects.version(), items, go_on: None, remaining: None };
        Ok(Answer::Text(200, list(&page)))
    }
}

/// The answer to the deletion of an object that is gone.
fn gone(kind: &KindInfo, object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": { "name": metadata["name"], "group": kind.group, "kind": kind.plural, "uid": metadata["uid"] } })
}

fn list(page: &Page) -> Bytes {
    let mut metadata = json!({ "resourceVersion": page.version.to_string() });
    if let Some(token) = &page.go_on {
        metadata["continue"] = json!(token);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let mut text = BytesMut::new();
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        page.kind.list_kind, page.kind.group_version
    );
    text.put_slice(head.as_bytes());
    for (at, object) in page.items.iter().enumerate() {
        if at > 0 {
            text.put_u8(b',');
        }
        text.put_slice(&object.text());
    }
    text.put_slice(b"]}\n");
    text.freeze()
}
