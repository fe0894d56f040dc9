//! Which writes are refused, what the API server adds to an object, and when an object is gone.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Object, Objects};
use crate::kinds::KindInfo;
use crate::refusal::Refusal;
use crate::schema::{self, Path, Problems, SchemaProblem};
use crate::{meta, patch};

/// The letters of generated names, as in the real server.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The preconditions of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    uid: Option<String>,
    version: Option<String>,
}

impl Preconditions {
    /// Reads the preconditions from the options of a deletion.
    pub(crate) fn of(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Self { uid: text("uid"), version: text("resourceVersion") }
    }

    fn check(&self, kind: &KindInfo, name: &str, object: &Value) -> Result<(), Refusal> {
        let wanted = [
            ("UID", "uid", &self.uid, "deleted and then recreated"),
            ("ResourceVersion", "resourceVersion", &self.version, "modified"),
        ];
        for (label, key, wanted, might) in wanted {
            let is = meta::text(object, key).unwrap_or_default();
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != is) {
                let why = format!(
                    "the {label} in the precondition ({wanted}) does not match the {label} in record ({is}). The object \
                     might have been {might}"
                );
                return Err(Refusal::stale_deletion(kind, name, &why));
            }
        }
        Ok(())
    }
}

/// The part of an object that a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Main,
    Status,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    Merge(&'a Value),
    Json(&'a Value),
    Replace(&'a Value),
}

/// How strictly a write is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Sent,
    DryRun,
    WithStatus,
    /// Stores anything, as before there were rules; a new object keeps its status.
    Raw,
}

/// The key of an object among those of its kind.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl Objects {
    pub(crate) fn create(
        &mut self,
        path: &str,
        namespace: &str,
        mut object: Value,
        mode: Mode,
    ) -> Result<Object, Refusal> {
        let kind = self.kind(path)?.clone();
        meta::check_place(&kind, &mut object, namespace, None)?;
        let name = self.name_of_new(&mut object);
        if meta::version(&object).is_some() && matches!(mode, Mode::Sent | Mode::DryRun) {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Refusal::new(500, "", "", message));
        }
        if kind.status && matches!(mode, Mode::Sent | Mode::DryRun) {
            patch::put(&mut object, "status", None);
        }
        meta::tidy(&mut object)?;
        if mode == Mode::Raw {
            self.complete_identity(&kind, &mut object);
        } else {
            self.give_identity(&kind, &mut object);
        }
        validate(&kind, &name, &mut object, None, mode)?;
        let key = key(namespace, &name);
        if self.stock(path)?.objects.contains_key(&key) {
            return Err(Refusal::exists(&kind, &name));
        }
        if mode == Mode::DryRun {
            return Ok(Object::new(object));
        }
        Ok(self.put(path, &key, object))
    }

    /// The name that it has or gets; an object without either is refused later.
    fn name_of_new(&mut self, object: &mut Value) -> String {
        if let Some(name) = meta::text(object, "name") {
            return name.to_owned();
        }
        let Some(beginning) = meta::text(object, "generateName") else { return String::new() };
        let name = format!("{beginning}{}", letters(self.next_number()));
        object["metadata"]["name"] = json!(name);
        name
    }

    fn give_identity(&mut self, kind: &KindInfo, object: &mut Value) {
        let metadata = &mut object["metadata"];
        metadata["uid"] = json!(format!("00000000-0000-4000-8000-{:012x}", self.next_number()));
        metadata["creationTimestamp"] = json!(self.now());
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion"] {
            patch::put(metadata, key, None);
        }
        if kind.custom {
            metadata["generation"] = json!(1);
        }
    }

    /// An object that was stored before keeps its creation time and generation.
    fn complete_identity(&mut self, kind: &KindInfo, object: &mut Value) {
        let kept = ["uid", "creationTimestamp", "generation"].map(|key| (key, object["metadata"].get(key).cloned()));
        self.give_identity(kind, object);
        for (key, value) in kept.into_iter().filter(|(_, value)| value.is_some()) {
            patch::put(&mut object["metadata"], key, value.as_ref());
        }
    }

    pub(crate) fn get(&self, path: &str, namespace: &str, name: &str) -> Result<&Object, Refusal> {
        let stock = self.stock(path)?;
        let object = match namespace {
            "" => stock.objects.get(name),
            _ => stock.objects.get(&key(namespace, name)),
        };
        object.ok_or_else(|| Refusal::not_found(&stock.kind, name))
    }

    /// Returns the object after the update; it may be gone.
    pub(crate) fn update(
        &mut self,
        path: &str,
        (namespace, name): (&str, &str),
        endpoint: Endpoint,
        change: Change<'_>,
        mode: Mode,
    ) -> Result<Object, Refusal> {
        let kind = self.kind(path)?.clone();
        if endpoint == Endpoint::Status && !kind.status {
            return Err(Refusal::page_not_found());
        }
        if let (Change::Replace(object), false) = (change, kind.custom)
            && self.get(path, namespace, name).is_err()
        {
            // An update creates Leases and Events as well.
            return self.create(path, namespace, object.clone(), mode);
        }
        if let Change::Replace(object) = change {
            meta::check_name(object, name)?;
        }
        let old = self.get(path, namespace, name)?.clone();
        let mut new = changed(&kind, &old.value, endpoint, change)?;
        meta::check_place(&kind, &mut new, namespace, Some(name))?;
        let insists = if let Change::Merge(body) = change { body } else { &new };
        check_preconditions(&kind, name, &old.value, insists, endpoint, change)?;
        if !matches!(change, Change::Merge(_)) {
            limit(&kind, &old.value, &mut new, endpoint);
        }
        meta::keep_fixed(&mut new, &old.value);
        meta::tidy(&mut new)?;
        if new == *old.value {
            return Ok(old);
        }
        validate(&kind, name, &mut new, Some(&old.value), mode)?;
        if new == *old.value {
            return Ok(old);
        }
        if changes_spec(&old.value, &new) {
            meta::next_generation(&mut new);
        }
        if mode == Mode::DryRun {
            return Ok(Object::new(new));
        }
        let object = self.put_or_end(path, &key(namespace, name), new);
        Ok(object)
    }

    /// Stores an object, or removes it when it is being deleted and has no finalizers.
    fn put_or_end(&mut self, path: &str, key: &str, new: Value) -> Object {
        if !meta::is_dying(&new) || !meta::finalizers(&new).is_empty() {
            return self.put(path, key, new);
        }
        // The last event of watches has the object as it was stored last, with its finalizers.
        self.remove(path, key);
        Object::new(new)
    }

    /// Returns the object while it exists, and `None` when it is gone.
    pub(crate) fn delete(
        &mut self,
        path: &str,
        (namespace, name): (&str, &str),
        preconditions: &Preconditions,
    ) -> Result<(Object, bool), Refusal> {
        let kind = self.kind(path)?.clone();
        let object = self.get(path, namespace, name)?.clone();
        preconditions.check(&kind, name, &object.value)?;
        let key = key(namespace, name);
        if meta::finalizers(&object.value).is_empty() {
            self.remove(path, &key);
            return Ok((object, false));
        }
        if meta::is_dying(&object.value) {
            return Ok((object, true));
        }
        let mut dying = Value::clone(&object.value);
        dying["metadata"]["deletionTimestamp"] = json!(self.now());
        dying["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        meta::next_generation(&mut dying);
        Ok((self.put(path, &key, dying), true))
    }
}

/// A number as five letters.
fn letters(number: u64) -> String {
    let base = LETTERS.len() as u64;
    let digit = |place: u32| char::from(LETTERS[usize::try_from(number / base.pow(place) % base).unwrap_or_default()]);
    (0..5).rev().map(digit).collect()
}

fn changed(kind: &KindInfo, old: &Value, endpoint: Endpoint, change: Change<'_>) -> Result<Value, Refusal> {
    match change {
        Change::Replace(new) => {
            let mut new = new.clone();
            if endpoint == Endpoint::Status && new.get("metadata").is_none() {
                new["metadata"] = json!({});
            }
            Ok(new)
        }
        Change::Merge(body) => merged(kind, old, endpoint, body),
        Change::Json(body) => {
            let mut new = old.clone();
            patch::apply(&mut new, body)?;
            Ok(new)
        }
    }
}

/// The old object, merged with the fields that the endpoint is for.
fn merged(kind: &KindInfo, old: &Value, endpoint: Endpoint, body: &Value) -> Result<Value, Refusal> {
    let Some(fields) = body.as_object() else { return Err(Refusal::bad_request("a merge patch is an object")) };
    let mut new = old.clone();
    for (key, value) in fields {
        let is_status = kind.status && key == "status";
        if is_status == (endpoint == Endpoint::Status) {
            patch::merge_field(&mut new, key, value);
        }
    }
    if let (Endpoint::Main, Some(metadata)) = (endpoint, body.get("metadata"))
        && !metadata.is_object()
    {
        return Err(Refusal::bad_request("metadata is no object"));
    }
    Ok(new)
}

fn check_preconditions(
    kind: &KindInfo,
    name: &str,
    old: &Value,
    insists: &Value,
    endpoint: Endpoint,
    change: Change<'_>,
) -> Result<(), Refusal> {
    match meta::version(insists) {
        Some(version) if Some(version) != meta::version(old) => return Err(Refusal::modified(kind, name)),
        None if kind.group != "events.k8s.io" && matches!(change, Change::Replace(_)) => {
            let mut problems = Problems::default();
            let path = Path::Field(&Path::Root, "metadata");
            let text = "Invalid value: 0: must be specified for an update";
            problems.add(SchemaProblem::Invalid, &Path::Field(&path, "resourceVersion"), text);
            return Err(Refusal::invalid_resource(kind, name, &problems));
        }
        _ => {}
    }
    let (wanted, is) = (meta::text(insists, "uid"), meta::text(old, "uid"));
    if wanted.is_none() || wanted == is {
        return Ok(());
    }
    let [wanted, is] = [wanted, is].map(Option::unwrap_or_default);
    if matches!(change, Change::Replace(_)) {
        let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}");
        return Err(Refusal::conflict(kind, name, &why));
    }
    // Like the real server: the uid in a patch of the status is ignored, and in another patch it is a changed field,
    // not a precondition.
    if endpoint == Endpoint::Status { Ok(()) } else { Err(changed_uid(kind, name, wanted)) }
}

fn changed_uid(kind: &KindInfo, name: &str, wanted: &str) -> Refusal {
    let mut problems = Problems::default();
    let path = Path::Field(&Path::Root, "metadata");
    for _ in 0..if kind.custom { 2 } else { 1 } {
        let text = format!("Invalid value: {wanted:?}: field is immutable");
        problems.add(SchemaProblem::Invalid, &Path::Field(&path, "uid"), text);
    }
    Refusal::invalid(kind, name, &problems)
}

/// Restores the part that the endpoint is not for from the old object.
fn limit(kind: &KindInfo, old: &Value, new: &mut Value, endpoint: Endpoint) {
    match endpoint {
        Endpoint::Main if kind.status => patch::put(new, "status", old.get("status")),
        Endpoint::Main => {}
        Endpoint::Status => {
            let status = new.get_mut("status").map(Value::take);
            let mut whole = old.clone();
            match status {
                Some(status) => whole["status"] = status,
                None => patch::put(&mut whole, "status", None),
            }
            *new = whole;
        }
    }
}

/// Completes a new version of an object and checks whether it may be stored.
fn validate(
    kind: &Arc<KindInfo>,
    name: &str,
    object: &mut Value,
    old: Option<&Value>,
    mode: Mode,
) -> Result<(), Refusal> {
    if mode == Mode::Raw {
        return Ok(());
    }
    schema::prepare(&kind.schema, object);
    let mut problems = Problems::default();
    meta::check(kind, object, old, &mut problems);
    let problems = schema::check(&kind.schema, object, old, problems);
    if problems.is_empty() { Ok(()) } else { Err(Refusal::invalid(kind, name, &problems)) }
}

fn changes_spec(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return true };
    let counts = |key: &&String| *key != "metadata" && *key != "status";
    old.keys().chain(new.keys()).filter(counts).any(|key| old.get(key) != new.get(key))
}
