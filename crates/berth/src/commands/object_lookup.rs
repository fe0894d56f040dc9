//! Finds the object that an argument names: by name, by UUID, or by cluster and name where several clusters have one.

use std::collections::BTreeSet;

use berth_cluster::{Kind, ObjectKey, Store};
use berth_core::ClusterName;

use super::cluster_snapshot::ClusterSnapshot;
use super::similar;
use crate::error::Error;

/// Words about a kind.
#[derive(Clone, Copy)]
pub(super) struct KindName {
    pub(super) what: &'static str,
    pub(super) kind: &'static str,
}

/// The one readable object that `name` means. `by_id` are the objects that another name of theirs means.
pub(super) fn find<K: Kind>(
    snapshot: &ClusterSnapshot,
    store: &Store<K>,
    name: &str,
    called: KindName,
    by_id: impl Fn(&str) -> Vec<ObjectKey>,
) -> Result<ObjectKey, Error> {
    let (cluster, plain) = name.split_once('/').map_or((None, name), |(cluster, plain)| (Some(cluster), plain));
    let mut keys: BTreeSet<ObjectKey> = store.holders(&plain.into()).into_iter().chain(by_id(plain)).collect();
    keys.retain(|key| cluster.is_none_or(|cluster| key.cluster == ClusterName::from(cluster)));
    let Some(key) = keys.first().cloned() else { return Err(unknown(snapshot, store, name, called)) };
    if keys.len() > 1 {
        let all = keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return Err(Error::Ambiguous { what: called.what, name: name.to_owned(), all });
    }
    match store.invalid_entry(&key) {
        Some(one) => Err(Error::Malformed { kind: called.kind, name: key.to_string(), why: one.error.to_string() }),
        None => Ok(key),
    }
}

/// An object of a cluster that is missing is not known either.
fn unknown<K: Kind>(snapshot: &ClusterSnapshot, store: &Store<K>, name: &str, called: KindName) -> Error {
    let mut names: BTreeSet<String> = store.all().into_iter().map(|entry| entry.key.name.to_string()).collect();
    names.extend(store.invalid_entries().into_iter().map(|one| one.key.name.to_string()));
    let hint = similar::hint(name, names.iter().map(String::as_str)) + &snapshot.unread_clusters();
    Error::Unknown { what: called.what, name: name.to_owned(), hint }
}
