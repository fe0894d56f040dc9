//! Lists, whole or paged, of the newest or of an older state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{Object, Objects};
use crate::kinds::KindInfo;
use crate::refusal::Refusal;
use crate::request::Query;
use crate::selector::Selector;

const EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                       list without the continue parameter.";

/// The parameters of a list.
pub(crate) struct Wanted<'a> {
    pub(crate) kind: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) query: &'a Query,
    /// The answer may be this old, although the client did not ask for that.
    pub(crate) stale: u64,
}

/// A list, or a part of one.
pub(crate) struct Page {
    pub(crate) kind: Arc<KindInfo>,
    pub(crate) version: u64,
    pub(crate) items: Vec<Object>,
    pub(crate) go_on: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// The state of a list, and the key after which it starts.
struct Start {
    version: u64,
    after: Option<String>,
    limit: Option<usize>,
}

impl Objects {
    pub(crate) fn list(&self, wanted: &Wanted<'_>) -> Result<Page, Refusal> {
        let stock = self.stock(wanted.kind)?;
        let selector = Selector::new(&stock.kind, wanted.namespace, wanted.query)?;
        let start = self.start(wanted)?;
        let page =
            Page { kind: stock.kind.clone(), version: start.version, items: Vec::new(), go_on: None, remaining: None };
        let older;
        let objects = if start.version == self.version {
            &stock.objects
        } else {
            older = self.state_at(wanted.kind, start.version);
            &older
        };
        Ok(fill(page, objects, &start, &selector))
    }

    fn start(&self, wanted: &Wanted<'_>) -> Result<Start, Refusal> {
        let Query { go_on, version, version_match, limit, .. } = wanted.query;
        if let Some(token) = go_on {
            if version.as_deref().is_some_and(|version| version != "0") {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Refusal::bad_request(message));
            }
            return self.resumed(token, *limit);
        }
        let fresh = self.version.saturating_sub(wanted.stale).max(self.oldest());
        let version_match = version_match.as_deref();
        let Some(version) = version else {
            return match version_match {
                None => Ok(Start { version: fresh, after: None, limit: *limit }),
                Some(_) => Err(list_invalid("resourceVersionMatch is forbidden unless resourceVersion is provided")),
            };
        };
        let asked: u64 = version.parse().map_err(|_| list_invalid("resourceVersion is no number"))?;
        if asked > self.version && matches!(version_match, None | Some("Exact" | "NotOlderThan")) {
            return Err(Refusal::too_large(asked, self.version));
        }
        match version_match {
            Some("Exact") if asked == 0 => {
                Err(list_invalid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""))
            }
            Some("Exact") if self.has_forgotten(asked) => {
                Err(Refusal::expired("The resourceVersion for the provided list is too old."))
            }
            Some("Exact") => Ok(Start { version: asked, after: None, limit: *limit }),
            None | Some("NotOlderThan") => Ok(Start { version: fresh.max(asked), after: None, limit: *limit }),
            Some(other) => Err(list_invalid(&format!("resourceVersionMatch {other:?} is not supported"))),
        }
    }

    fn resumed(&self, token: &str, limit: Option<usize>) -> Result<Start, Refusal> {
        let read = || {
            let (version, key) = token.strip_prefix('v')?.split_once('.')?;
            Some((version.parse().ok()?, unhex(key)?))
        };
        let (version, key) = read().ok_or_else(|| Refusal::bad_request("continue key is not valid"))?;
        if self.has_forgotten(version) {
            return Err(Refusal::expired(EXPIRED));
        }
        Ok(Start { version, after: Some(key), limit })
    }

    /// The objects of a kind in an older state: the current ones, with later changes undone.
    fn state_at(&self, kind: &str, version: u64) -> BTreeMap<String, Object> {
        let mut state = self.shelves.get(kind).map(|stock| stock.objects.clone()).unwrap_or_default();
        let since: Vec<_> = self.since(version).filter(|event| event.kind == kind).collect();
        for event in since.into_iter().rev() {
            match &event.before {
                Some(before) => state.insert(event.key.clone(), before.clone()),
                None => state.remove(&event.key),
            };
        }
        state
    }

    /// An object as it was this many versions ago.
    pub(crate) fn get_stale(&self, kind: &str, key: &str, versions: u64) -> Option<Object> {
        let version = self.version.saturating_sub(versions).max(self.oldest());
        self.state_at(kind, version).remove(key)
    }
}

fn fill(mut page: Page, objects: &BTreeMap<String, Object>, start: &Start, selector: &Selector) -> Page {
    let after = |key: &String| start.after.as_ref().is_none_or(|after| key > after);
    let mut last = None;
    let mut rest = 0;
    for (key, object) in objects.iter().filter(|(key, object)| after(key) && selector.takes(&object.value)) {
        if start.limit.is_some_and(|limit| page.items.len() >= limit) {
            rest += 1;
        } else {
            page.items.push(object.clone());
            last = Some(key);
        }
    }
    if rest > 0 {
        page.go_on = last.map(|key| format!("v{}.{}", page.version, hex(key)));
        page.remaining = selector.is_everything().then_some(rest);
    }
    page
}

fn list_invalid(message: &str) -> Refusal {
    let message = format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {message}");
    let mut refusal = Refusal::new(422, "Invalid", "", message);
    let cause = json!([{ "reason": "FieldValueForbidden", "field": "resourceVersionMatch", "message": "Forbidden" }]);
    for (key, value) in [("group", json!("meta.k8s.io")), ("kind", json!("ListOptions")), ("causes", cause)] {
        refusal.details.insert(key.to_owned(), value);
    }
    refusal
}

fn hex(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn unhex(hex: &str) -> Option<String> {
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    String::from_utf8(bytes.collect::<Option<Vec<_>>>()?).ok()
}
