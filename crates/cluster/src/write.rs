//! Writes objects and enters the responses into the store. It determines the body (a difference with preconditions),
//! the deadline, and the meaning of each response for the store.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use berth_core::ClusterName;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::ObjectMeta;
use kube::core::object::HasStatus;
use kube::{Api, Resource};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

mod body;
mod error;

pub use body::Guard;
pub(crate) use error::Failure;
pub use error::{Call, Operation, WriteError};

use crate::deadlines::{READ_DEADLINE, WRITE_DEADLINE};
use crate::store::{RepeatableWrite, Sending};
use crate::write_limiter::WritePermit;
use crate::{
    Clusters, CompletenessProof, DecodeGuard, Fence, InvalidEntry, Kind, ObjectKey, Store, WriteMetrics, conflicts,
    gvk, kind_name,
};

/// The result of a write.
#[derive(Clone, Debug)]
pub enum Written<K> {
    /// Nothing differed; the object is as it was.
    Unchanged,
    /// The object as it is now. The store has it.
    Changed(Arc<K>),
    /// The object does not exist any more. The store knows it.
    Gone,
}

/// Writes objects of one kind, in every cluster, and enters the answers into the store.
pub struct Writer<K: Kind> {
    store: Store<K>,
    clusters: Clusters,
    metrics: Option<Arc<WriteMetrics>>,
    fence: Fence,
    permit: Option<Arc<WritePermit>>,
}

impl<K: Kind> Clone for Writer<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            clusters: self.clusters.clone(),
            metrics: self.metrics.clone(),
            fence: self.fence.clone(),
            permit: self.permit.clone(),
        }
    }
}

impl<K: Kind> Writer<K> {
    pub fn new(store: Store<K>, clusters: impl Into<Clusters>) -> Self {
        Self { store, clusters: clusters.into(), metrics: None, fence: Fence::open(), permit: None }
    }

    /// The same writer, with metrics of its writes.
    #[must_use]
    pub fn counted(self, metrics: Arc<WriteMetrics>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The same writer, which writes only while the fence is open. The fence is checked when a write begins and again
    /// when its bytes go to the socket. To be called within a runtime.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Self {
        Self { clusters: self.clusters.fenced(&fence), fence, ..self }
    }

    /// The same writer over a separate empty store: for objects that are read and written one at a time and are not
    /// kept in memory.
    #[must_use]
    pub fn without_limiter(&self) -> Self {
        Self { store: Store::new(&[]), ..self.clone() }
    }

    /// Waits for a permit to write to `cluster`, shared by all writers of the process, and keeps it as long as the
    /// value lives. Otherwise each write waits for its own permit. A caller that must check something right before a
    /// write checks it after this call.
    pub async fn with_permit(&self, cluster: &ClusterName) -> Self {
        let permit = self.clusters.write_limiter().wait(cluster).await;
        Self { permit: permit.map(Arc::new), ..self.clone() }
    }

    pub fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Creates the object in `cluster`, unless another cluster has one of that name.
    ///
    /// If an object with that name exists, it is read and entered into the store, and the result is
    /// [`WriteError::AlreadyExists`]: never a success, because the object may differ.
    pub async fn create(&self, cluster: &ClusterName, object: &K) -> Result<Arc<K>, WriteError> {
        let name = object.meta().name.as_deref().unwrap_or_default();
        let call = call::<K>(Operation::Create, &ObjectKey::new(cluster.clone(), name));
        if name.is_empty() {
            return Err(WriteError::Invalid { call, message: "the object has no name".to_owned() });
        }
        self.refuse_second(&call)?;
        let api = self.api(&call)?;
        let sending = self.store.sending(&call.key).repeatable(|| RepeatableWrite::Create(object.clone()));
        let object = DecodeGuard::Valid(object.clone());
        match self.send(&call, api.create(&PostParams::default(), &object)).await {
            Ok(object) => entered(call, sending, object),
            Err(failure) => {
                let error = failed(call, sending, failure);
                if let WriteError::AlreadyExists { call } = &error {
                    self.read_after_unknown_outcome(&api, &call.key).await;
                }
                Err(error)
            }
        }
    }

    /// Changes spec, labels, annotations, finalizers and owners of the object from `old` to `new`: what differs is sent.
    pub async fn patch(&self, key: &ObjectKey, old: &K, new: &K, guard: Guard) -> Result<Written<K>, WriteError> {
        let call = call::<K>(Operation::Patch, key);
        match body::main(old, new, guard) {
            Ok(None) => Ok(Written::Unchanged),
            Ok(Some(patch)) => self.send_patch(call, old.meta(), patch).await,
            Err(error) => Err(WriteError::Invalid { call, message: error.to_string() }),
        }
    }

    /// Deletes the object that was `seen`, not a successor of the same name; with a guard only if it has not changed
    /// since. An object that is already gone is a success; one with finalizers stays until they are removed.
    ///
    /// A deletion must not be decided on a partial read: `whole` is the proof that it was not.
    pub async fn delete(
        &self,
        key: &ObjectKey,
        seen: &K,
        guard: Guard,
        whole: &CompletenessProof<K>,
    ) -> Result<(), WriteError> {
        let call = call::<K>(Operation::Delete, key);
        if *whole.cluster() != key.cluster {
            let message = format!("it was decided on a read of cluster {}", whole.cluster());
            return Err(WriteError::Invalid { call, message });
        }
        let params = delete_params(seen, guard)
            .map_err(|error| WriteError::Invalid { call: call.clone(), message: error.to_string() })?;
        let uid = seen.meta().uid.clone().unwrap_or_default();
        let api = self.api(&call)?;
        let sending = self.store.sending(key);
        let stays = match self.send(&call, api.delete(&key.name, &params)).await {
            Ok(answer) => answer.left().filter(|object| !is_final(object)),
            Err(Failure::NotFound) => None,
            Err(failure) => return Err(failed(call, sending, failure)),
        };
        let Some(object) = stays else {
            sending.gone(&uid);
            return Ok(());
        };
        entered(call, sending, object).map(drop)
    }

    /// Adds a finalizer to the object that was `seen`; a conflict if it has changed since.
    pub async fn add_finalizer(&self, key: &ObjectKey, seen: &K, finalizer: &str) -> Result<Written<K>, WriteError> {
        let mut finalizers = seen.meta().finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|known| known == finalizer) {
            return Ok(Written::Unchanged);
        }
        finalizers.push(finalizer.to_owned());
        self.set_finalizers(key, seen, &finalizers).await
    }

    /// Removes a finalizer from the object that was `seen`; a conflict if it has changed since. If it was the last one
    /// of an object that is being deleted, the object is gone.
    pub async fn remove_finalizer(&self, key: &ObjectKey, seen: &K, finalizer: &str) -> Result<Written<K>, WriteError> {
        let before = seen.meta().finalizers.as_deref().unwrap_or_default();
        let after: Vec<_> = before.iter().filter(|known| *known != finalizer).cloned().collect();
        if after.len() == before.len() {
            return Ok(Written::Unchanged);
        }
        self.set_finalizers(key, seen, &after).await
    }

    /// Gives an object that does not decode the condition `Invalid`, which names the field.
    pub async fn report_invalid(&self, invalid: &InvalidEntry, now: Timestamp) -> Result<(), WriteError> {
        let call = call::<K>(Operation::PatchStatus, &invalid.key);
        let patch = body::invalid(invalid, now)
            .map_err(|error| WriteError::Invalid { call: call.clone(), message: error.to_string() })?;
        let Some(patch) = patch else { return Ok(()) };
        match self.send_patch(call, &invalid.metadata, patch).await {
            // It took effect: the object itself does not decode, as reported.
            Err(WriteError::Malformed { .. }) => Ok(()),
            written => written.map(drop),
        }
    }

    /// Asks the API server for an object in doubt and enters the answer. If a write to it may still take effect, it is sent
    /// again ([`Store::repeating`]).
    pub async fn settle(&self, key: &ObjectKey) -> Result<(), WriteError> {
        let call = call::<K>(Operation::Get, key);
        let api = self.api(&call)?;
        settle(&self.store, &api, key).await?;
        let Some(unanswered) = self.store.unanswered(key) else { return Ok(()) };
        self.repeat(key, &unanswered.write).await?;
        if self.store.in_doubt(key) {
            settle(&self.store, &api, key).await?;
        }
        if self.store.unanswered(key).is_some() {
            let message = "an earlier write may still take effect".to_owned();
            return Err(WriteError::Unavailable { call, message });
        }
        Ok(())
    }

    async fn repeat(&self, key: &ObjectKey, write: &RepeatableWrite<K>) -> Result<(), WriteError> {
        let repeated = match write {
            RepeatableWrite::Create(object) => self.create(&key.cluster, object).await.map(drop),
            RepeatableWrite::Patch { seen, patch } => {
                self.send_patch(call::<K>(Operation::Patch, key), seen, patch.clone()).await.map(drop)
            }
        };
        match repeated {
            // The first one has taken effect, or another write.
            Err(WriteError::AlreadyExists { .. } | WriteError::Conflict { .. }) => Ok(()),
            repeated => repeated,
        }
    }

    /// Does so for all objects in doubt that concern a decision, before it is made.
    pub async fn settle_doubts(&self, concerns: impl Fn(&ObjectKey) -> bool) -> Result<(), WriteError> {
        for key in self.store.doubts().into_iter().filter(concerns) {
            self.settle(&key).await?;
        }
        Ok(())
    }

    async fn set_finalizers(&self, key: &ObjectKey, seen: &K, all: &[String]) -> Result<Written<K>, WriteError> {
        let call = call::<K>(Operation::Patch, key);
        match body::finalizers(seen, all) {
            Ok(patch) => self.send_patch(call, seen.meta(), patch).await,
            Err(error) => Err(WriteError::Invalid { call, message: error.to_string() }),
        }
    }

    async fn send_patch(&self, call: Call, old: &ObjectMeta, patch: Value) -> Result<Written<K>, WriteError> {
        let api = self.api(&call)?;
        let key = call.key.clone();
        let mut sending = self.store.sending(&key);
        if call.operation == Operation::Patch && body::has_version(&patch) {
            sending =
                sending.repeatable(|| RepeatableWrite::Patch { seen: Box::new(old.clone()), patch: patch.clone() });
        }
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let answer = match call.operation {
            Operation::PatchStatus => self.send(&call, api.patch_status(&key.name, &params, &patch)).await,
            _ => self.send(&call, api.patch(&key.name, &params, &patch)).await,
        };
        let uid = old.uid.as_deref().unwrap_or_default();
        match answer {
            Ok(object) if is_final(&object) => {
                sending.gone(uid);
                Ok(Written::Gone)
            }
            Ok(object) if is_same(old, &object) => {
                sending.refused();
                Ok(Written::Unchanged)
            }
            // The API server ignores the uid in a patch of the status: a successor has got the patch of the object.
            Ok(object) if !is_same_incarnation(old, &object) => {
                entered(call.clone(), sending, object)?;
                Err(WriteError::Conflict { call })
            }
            Ok(object) => entered(call, sending, object).map(Written::Changed),
            Err(Failure::NotFound) => {
                sending.gone(uid);
                Ok(Written::Gone)
            }
            Err(failure) => Err(failed(call, sending, failure)),
        }
    }

    /// Sends a write when its turn has come, if we may then, and waits for the answer as long as it is worth something.
    async fn send<T>(&self, call: &Call, request: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
        let _turn = match self.permit {
            Some(_) => None,
            None => self.clusters.write_limiter().wait(&call.key.cluster).await,
        };
        if self.fence.check().is_err() {
            let refused = Err(Failure::Error(WriteError::NotLeader { call: call.clone() }));
            self.count(call, &refused);
            return refused;
        }
        let late = |_| {
            let message = format!("no answer within {} s", WRITE_DEADLINE.as_secs());
            Err(Failure::Error(WriteError::Unknown { call: call.clone(), message }))
        };
        let in_time = |answer: kube::Result<T>| answer.map_err(|error| Failure::of(call, &error));
        let answer = timeout(WRITE_DEADLINE, request).await.map_or_else(late, in_time);
        self.count(call, &answer);
        answer
    }

    fn count<T>(&self, call: &Call, answer: &Result<T, Failure>) {
        let outcome = match answer {
            Ok(_) => "ok",
            Err(Failure::NotFound) => "gone",
            Err(Failure::Error(error)) => error.outcome(),
        };
        if let Some(metrics) = &self.metrics {
            metrics.writes.with_label_values(&[&call.kind, call.operation.as_str(), outcome]).inc();
        }
    }

    /// A name identifies one object, in whichever cluster.
    fn refuse_second(&self, call: &Call) -> Result<(), WriteError> {
        let others = self.store.keys_in_other_clusters(&call.key);
        if others.is_empty() {
            return Ok(());
        }
        let gvk = gvk::printed(&gvk::gvk::<K>());
        if let Some(metrics) = &self.metrics {
            metrics.conflicts.count("create", &gvk);
        }
        Err(WriteError::Elsewhere { call: call.clone(), gvk, others: conflicts::clusters(&others) })
    }

    /// Reads an object that is in our way. If that fails it stays in doubt, and is read again later.
    async fn read_after_unknown_outcome(&self, api: &Api<DecodeGuard<K>>, key: &ObjectKey) {
        let unanswered = self.store.sending(key);
        if settle(&self.store, api, key).await.is_ok() {
            unanswered.refused();
        }
    }

    fn api(&self, call: &Call) -> Result<Api<DecodeGuard<K>>, WriteError> {
        match self.clusters.get(&call.key.cluster) {
            Some(cluster) => Ok(Api::all(cluster.client.clone())),
            None => Err(WriteError::Invalid {
                call: call.clone(),
                message: format!("cluster {} is not configured", call.key.cluster),
            }),
        }
    }
}

/// A status to be written.
#[derive(Clone, Debug)]
pub struct StatusChange<K> {
    pub key: ObjectKey,
    pub old: Arc<K>,
    pub new: K,
}

/// Of kinds with a status.
impl<K: Kind + HasStatus<Status: Serialize + PartialEq>> Writer<K> {
    /// Changes the status of the object from that of `old` to that of `new`: what differs is sent.
    pub async fn patch_status(&self, key: &ObjectKey, old: &K, new: &K) -> Result<Written<K>, WriteError> {
        self.send_status(key, old, new, Guard::None).await
    }

    /// The same, and a conflict if the object has changed since it was read.
    pub async fn patch_status_of_version(&self, key: &ObjectKey, old: &K, new: &K) -> Result<Written<K>, WriteError> {
        self.send_status(key, old, new, Guard::Version).await
    }

    /// The same for several objects, one after the other, and the first error. An error of one object does not stop the
    /// others; one that all objects of its cluster would meet stops that cluster.
    pub async fn patch_statuses_of_versions(&self, changes: &[StatusChange<K>]) -> Result<(), WriteError> {
        let (mut outcome, mut stopped) = (Ok(()), BTreeSet::new());
        for StatusChange { key, old, new } in changes {
            if stopped.contains(&key.cluster) {
                continue;
            }
            let written = self.patch_status_of_version(key, old, new).await.map(drop);
            if matches!(
                written,
                Err(WriteError::NotLeader { .. } | WriteError::Unavailable { .. } | WriteError::Unknown { .. })
            ) {
                stopped.insert(&key.cluster);
            }
            outcome = outcome.and(written);
        }
        outcome
    }

    async fn send_status(&self, key: &ObjectKey, old: &K, new: &K, guard: Guard) -> Result<Written<K>, WriteError> {
        let call = call::<K>(Operation::PatchStatus, key);
        match body::status(old, new, guard) {
            Ok(None) => Ok(Written::Unchanged),
            Ok(Some(patch)) => self.send_patch(call, old.meta(), patch).await,
            Err(error) => Err(WriteError::Invalid { call, message: error.to_string() }),
        }
    }
}

/// Reads one object and passes the result to the store.
pub(crate) async fn settle<K: Kind>(
    store: &Store<K>,
    api: &Api<DecodeGuard<K>>,
    key: &ObjectKey,
) -> Result<(), WriteError> {
    let call = call::<K>(Operation::Get, key);
    let asking = store.asking(key);
    match timeout(READ_DEADLINE, api.get(&key.name)).await {
        Ok(Ok(object)) => asking.found(Some(object)),
        Ok(Err(error)) => match Failure::of(&call, &error) {
            Failure::NotFound => asking.found(None),
            Failure::Error(WriteError::Unknown { call, message }) => {
                return Err(WriteError::Unavailable { call, message });
            }
            Failure::Error(error) => return Err(error),
        },
        Err(_) => {
            let message = format!("no answer within {} s", READ_DEADLINE.as_secs());
            return Err(WriteError::Unavailable { call, message });
        }
    }
    Ok(())
}

fn call<K: Kind>(operation: Operation, key: &ObjectKey) -> Call {
    Call { operation, kind: kind_name::<K>(), key: key.clone() }
}

fn failed<K: Kind>(call: Call, sending: Sending<K>, failure: Failure) -> WriteError {
    let error = match failure {
        Failure::Error(error) => error,
        Failure::NotFound => WriteError::Refused { call, code: 404, message: "there is nothing to change".to_owned() },
    };
    match &error {
        WriteError::Unknown { .. } => sending.unknown(),
        _ => sending.refused(),
    }
    error
}

fn entered<K: Kind>(call: Call, sending: Sending<K>, object: DecodeGuard<K>) -> Result<Arc<K>, WriteError> {
    sending.wrote(object).map_err(|error| WriteError::Malformed { call, message: error.to_string() })
}

/// True if the API server deletes the object with this very write: it was only waiting for its last finalizer.
fn is_final<K: Kind>(object: &DecodeGuard<K>) -> bool {
    let meta = object.meta();
    meta.deletion_timestamp.is_some() && meta.finalizers.as_ref().is_none_or(Vec::is_empty)
}

fn is_same_incarnation<K: Kind>(old: &ObjectMeta, object: &DecodeGuard<K>) -> bool {
    old.uid.is_none() || old.uid == object.meta().uid
}

/// True if the write changed nothing after all.
fn is_same<K: Kind>(old: &ObjectMeta, object: &DecodeGuard<K>) -> bool {
    old.resource_version.is_some() && old.resource_version == object.meta().resource_version
}

fn delete_params<K: Kind>(seen: &K, guard: Guard) -> Result<DeleteParams, body::BodyError> {
    let meta = seen.meta();
    let resource_version = match guard {
        Guard::None => None,
        Guard::Version => Some(body::version(meta)?.to_owned()),
    };
    let preconditions = Preconditions { uid: Some(body::uid(meta)?.to_owned()), resource_version };
    Ok(DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() })
}

#[cfg(test)]
mod tests;
