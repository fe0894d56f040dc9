//! What a patch sends: the difference of what we may change, and the preconditions under which it applies.

use berth_crds::conditions::{Status, condition, safety};
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use kube::core::object::HasStatus;
use serde::Serialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{InvalidEntry, Kind, difference};

/// The parts of the metadata that writers may change; the rest belongs to the API server.
const METADATA: [&str; 4] = ["annotations", "finalizers", "labels", "ownerReferences"];

/// What else must not have changed for a write to apply. That it is still the same object, by its uid, is always asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: the keys that are sent are ours alone.
    None,
    /// The whole object, because the decision is based on it.
    Version,
}

/// Why a write has no body: the object that was read cannot be changed.
#[derive(Debug, Error)]
pub(super) enum BodyError {
    #[error("the object that was read has no resourceVersion")]
    NoVersion,
    #[error("the object that was read has no uid")]
    NoUid,
    #[error("the object is not a JSON object")]
    NoObject,
    #[error("the object cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The merge patch of the main resource; `None` if nothing differs.
pub(super) fn main<K: Kind>(old: &K, new: &K, guard: Guard) -> Result<Option<Value>, BodyError> {
    let Some(mut patch) = difference(&changeable(old)?, &changeable(new)?) else { return Ok(None) };
    merge_into(&mut patch, "metadata", precondition(old.meta(), guard)?);
    Ok(Some(patch))
}

/// The merge patch of `/status`; `None` if nothing differs. The API server ignores a uid in it.
pub(super) fn status<K>(old: &K, new: &K, guard: Guard) -> Result<Option<Value>, BodyError>
where
    K: Kind + HasStatus<Status: Serialize + PartialEq>,
{
    if old.status() == new.status() {
        return Ok(None);
    }
    let status = |object: &K| serde_json::to_value(object.status()).map(|status| json!({ "status": status }));
    let Some(mut patch) = difference(&status(old)?, &status(new)?) else { return Ok(None) };
    if guard == Guard::Version {
        merge_into(&mut patch, "metadata", precondition(old.meta(), guard)?);
    }
    Ok(Some(patch))
}

/// The merge patch that sets the finalizers of `seen`.
pub(super) fn finalizers<K: Kind>(seen: &K, finalizers: &[String]) -> Result<Value, BodyError> {
    let mut metadata = precondition(seen.meta(), Guard::Version)?;
    metadata.insert("finalizers".to_owned(), json!(finalizers));
    Ok(json!({ "metadata": metadata }))
}

/// The merge patch of `/status` that gives an object the condition `Invalid`; `None` if it has it. Nothing else of the
/// object is decoded.
pub(super) fn invalid(object: &InvalidEntry, now: Timestamp) -> Result<Option<Value>, BodyError> {
    let message = format!("the object cannot be read, correct or delete it: {}", object.error);
    let generation = object.metadata.generation;
    let new = condition(safety::INVALID, Status::True, safety::UNREADABLE, &message, generation, now);
    let mut all = object.raw["status"]["conditions"].as_array().cloned().unwrap_or_default();
    if all.iter().any(|one| one["type"] == new.type_ && one["message"] == new.message) {
        return Ok(None);
    }
    all.retain(|one| one["type"] != new.type_);
    all.push(serde_json::to_value(new)?);
    let mut patch = json!({ "status": { "conditions": all } });
    merge_into(&mut patch, "metadata", precondition(&object.metadata, Guard::Version)?);
    Ok(Some(patch))
}

/// The uid, so that a successor of the same name is not taken for the object that was read, and with a guard the version.
fn precondition(seen: &ObjectMeta, guard: Guard) -> Result<Map<String, Value>, BodyError> {
    let mut metadata = Map::new();
    if let Some(uid) = &seen.uid {
        metadata.insert("uid".to_owned(), json!(uid));
    }
    if guard == Guard::Version {
        metadata.insert("resourceVersion".to_owned(), json!(version(seen)?));
    }
    Ok(metadata)
}

/// Whether the patch applies to one version only.
pub(super) fn has_version(patch: &Value) -> bool {
    patch["metadata"]["resourceVersion"].is_string()
}

pub(super) fn version(seen: &ObjectMeta) -> Result<&str, BodyError> {
    seen.resource_version.as_deref().ok_or(BodyError::NoVersion)
}

pub(super) fn uid(seen: &ObjectMeta) -> Result<&str, BodyError> {
    seen.uid.as_deref().ok_or(BodyError::NoUid)
}

fn changeable<K: Kind>(object: &K) -> Result<Value, BodyError> {
    let mut all = json_of(object)?;
    for key in ["apiVersion", "kind", "status"] {
        all.remove(key);
    }
    if let Some(metadata) = all.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| METADATA.contains(&key.as_str()));
    }
    Ok(Value::Object(all))
}

fn json_of<K: Kind>(object: &K) -> Result<Map<String, Value>, BodyError> {
    if let Value::Object(all) = serde_json::to_value(object)? { Ok(all) } else { Err(BodyError::NoObject) }
}

fn merge_into(patch: &mut Value, key: &str, values: Map<String, Value>) {
    let Some(patch) = patch.as_object_mut().filter(|_| !values.is_empty()) else { return };
    let inner = patch.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if let Some(inner) = inner.as_object_mut() {
        inner.extend(values);
    }
}

#[cfg(test)]
mod tests {
    use kube::CustomResource;
    use serde::ser::Error as _;
    use serde::{Deserialize, Serializer};

    use super::*;

    /// Serializing it always fails.
    #[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
    struct Untouched;

    impl Serialize for Untouched {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("it was written"))
        }
    }

    #[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[kube(group = "test.berth", version = "v1", kind = "Large", status = "LargeStatus", schema = "disabled")]
    struct LargeSpec {
        untouched: Untouched,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct LargeStatus {
        size: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        untouched: Option<Untouched>,
    }

    fn large(size: u32, untouched: Option<Untouched>) -> Large {
        let spec = LargeSpec { untouched: Untouched };
        Large { status: Some(LargeStatus { size, untouched }), ..Large::new("a", spec) }
    }

    #[test]
    fn the_patch_of_a_status_is_made_of_the_two_statuses_alone() {
        let (old, new) = (large(1, None), large(2, None));
        assert_eq!(status(&old, &new, Guard::None).unwrap(), Some(json!({ "status": { "size": 2 } })));
        assert!(main(&old, &new, Guard::None).is_err(), "writing the objects fails");
    }

    #[test]
    fn equal_statuses_are_compared_without_writing_them() {
        let same = large(1, Some(Untouched));
        assert_eq!(status(&same, &same, Guard::None).unwrap(), None);
        assert!(status(&same, &large(2, Some(Untouched)), Guard::None).is_err(), "writing them fails");
    }
}
