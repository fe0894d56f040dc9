//! Actions of users at the same server: their writes are neither logged nor disturbed.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{DecodeGuard, Kind};
use serde_json::Value;

use super::Server;
use crate::objects::{Change, Endpoint, Mode, Preconditions};
use crate::refusal::Refusal;

impl Server {
    /// A user creates an object; its status is kept.
    pub fn create<K: Kind>(&self, object: &K) -> Result<K, Refusal> {
        let value = serde_json::to_value(object).map_err(|error| Refusal::bad_request(error.to_string()))?;
        let made = self.lock().objects.create(&K::url_path(&(), None), "", value, Mode::WithStatus)?;
        decoded(&made.value)
    }

    /// A user changes an object with a merge patch of the main endpoint.
    pub fn edit<K: Kind>(&self, name: &str, patch: &Value) -> Result<K, Refusal> {
        self.changed::<K>(name, patch, Endpoint::Main)
    }

    /// A user changes the status of an object with a merge patch.
    pub fn edit_status<K: Kind>(&self, name: &str, patch: &Value) -> Result<K, Refusal> {
        self.changed::<K>(name, patch, Endpoint::Status)
    }

    fn changed<K: Kind>(&self, name: &str, patch: &Value, endpoint: Endpoint) -> Result<K, Refusal> {
        let kind = K::url_path(&(), None);
        let change = Change::Merge(patch);
        let object = self.lock().objects.update(&kind, ("", name), endpoint, change, Mode::Sent)?;
        decoded(&object.value)
    }

    pub fn delete<K: Kind>(&self, name: &str) -> Result<(), Refusal> {
        let path = K::url_path(&(), None);
        self.lock().objects.delete(&path, ("", name), &Preconditions::default()).map(drop)
    }

    pub fn get<K: Kind>(&self, name: &str) -> Result<K, Refusal> {
        let object = self.lock().objects.get(&K::url_path(&(), None), "", name)?.clone();
        decoded(&object.value)
    }

    pub fn all<K: Kind>(&self) -> Result<Vec<K>, Refusal> {
        let path = K::url_path(&(), None);
        let objects: Vec<_> = {
            let state = self.lock();
            state.objects.kind(&path)?;
            state.objects.everything(&path).cloned().collect()
        };
        objects.iter().map(|object| decoded(&object.value)).collect()
    }

    // ---- the same as JSON, for objects that today's rules refuse and for namespaced kinds

    /// Stores an object as before there were rules: nothing is checked, pruned or filled in, and a status is kept. The
    /// kind is that of the object.
    pub fn create_raw(&self, object: Value) -> Result<Arc<Value>, Refusal> {
        let mut state = self.lock();
        let is = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let (version, kind) = (is("apiVersion"), is("kind"));
        let found = state.objects.kinds().find(|info| info.kind == kind && info.group_version == version);
        let path = found.map(|info| info.path.clone()).ok_or_else(Refusal::page_not_found)?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        state.objects.create(&path, &namespace, object, Mode::Raw).map(|made| made.value)
    }

    /// Changes an object by a merge patch without a check. The kind is identified by its path, see [`crate::path_of`],
    /// the object by its name or by `namespace/name`.
    pub fn edit_raw(&self, kind: &str, key: &str, patch: &Value) -> Result<Arc<Value>, Refusal> {
        self.edit_raw_part(kind, key, patch, Endpoint::Main)
    }

    /// Changes the status of an object by a merge patch without a check.
    pub fn edit_status_raw(&self, kind: &str, key: &str, patch: &Value) -> Result<Arc<Value>, Refusal> {
        self.edit_raw_part(kind, key, patch, Endpoint::Status)
    }

    fn edit_raw_part(&self, kind: &str, key: &str, patch: &Value, endpoint: Endpoint) -> Result<Arc<Value>, Refusal> {
        let change = Change::Merge(patch);
        let object = self.lock().objects.update(trimmed(kind), split_key(key), endpoint, change, Mode::Raw)?;
        Ok(object.value)
    }

    pub fn delete_raw(&self, kind: &str, key: &str) -> Result<(), Refusal> {
        self.lock().objects.delete(trimmed(kind), split_key(key), &Preconditions::default()).map(drop)
    }

    pub fn get_raw(&self, kind: &str, key: &str) -> Result<Arc<Value>, Refusal> {
        let (namespace, name) = split_key(key);
        self.lock().objects.get(trimmed(kind), namespace, name).map(|object| object.value.clone())
    }

    pub fn all_raw(&self, kind: &str) -> Vec<Arc<Value>> {
        self.lock().objects.everything(trimmed(kind)).map(|object| object.value.clone()).collect()
    }

    /// Type, reason, object and note of each event, after what is being published has arrived.
    pub async fn published_events(&self) -> Vec<String> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let text = |event: &Arc<Value>| {
            let fields = [&event["type"], &event["reason"], &event["regarding"]["name"], &event["note"]];
            fields.map(|field| field.as_str().unwrap_or_default()).join(" ")
        };
        self.all_raw("/apis/events.k8s.io/v1/events").iter().map(text).collect()
    }
}

/// The path of a kind may end with a slash, as the prefix of its objects does.
fn trimmed(kind: &str) -> &str {
    kind.trim_end_matches('/')
}

fn split_key(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

fn decoded<K: Kind>(value: &Value) -> Result<K, Refusal> {
    let object: Result<DecodeGuard<K>, _> = serde_json::from_value(value.clone());
    let object = object.map_err(|error| Refusal::bad_request(error.to_string()))?;
    object.into_valid().ok_or_else(|| Refusal::bad_request("the object does not decode".to_owned()))
}
