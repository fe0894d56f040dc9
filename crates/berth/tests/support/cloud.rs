//! What users, node agents and schedulers do with objects, as calls to the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use berth_crds::{
    CommitmentChange, CommittedResource, Datasource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline,
    ProjectQuota, Reservation, Time, generate, names,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, ClusterResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::objects;
use super::seen::Seen;

/// The API server as every client but the operator uses it.
#[derive(Clone)]
pub struct Cloud {
    client: Client,
    /// The number of hosts with a capacity that were created.
    created_hosts: Arc<AtomicU64>,
}

impl Cloud {
    pub fn new(client: Client) -> Self {
        Self { client, created_hosts: Arc::default() }
    }

    pub fn created_hosts(&self) -> u64 {
        self.created_hosts.load(Ordering::Relaxed)
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        Api::all(self.client.clone())
    }

    /// All objects of a kind, with any content.
    pub fn raw<K>(&self) -> Api<DynamicObject>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        Api::all_with(self.client.clone(), &ApiResource::erase::<K>(&()))
    }

    /// Installs CRDs, or replaces them, and waits until every kind is served.
    pub async fn install(&self, crds: Vec<CustomResourceDefinition>) {
        let api: Api<CustomResourceDefinition> = self.api();
        for crd in crds {
            let params = PatchParams::apply("test").force();
            api.patch(&crd.name_any(), &params, &Patch::Apply(&crd)).await.unwrap();
            let gvk =
                kube::core::GroupVersionKind::gvk(&crd.spec.group, &crd.spec.versions[0].name, &crd.spec.names.kind);
            let resource = ApiResource::from_gvk_with_plural(&gvk, &crd.spec.names.plural);
            let served: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            while served.list(&ListParams::default().limit(1)).await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Deletes all commitments, slots, hosts, flavor groups, capacities, pipelines, datasources, claims and what Limes is told,
    /// regardless of finalizers.
    pub async fn clear(&self) {
        for namespace in ["default", "berth-system"] {
            let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
            for name in ["berth-claims", "berth-liquid-info"] {
                // There are claims only after requests of Nova, and an info only after flavor groups.
                let _ = maps.delete(name, &DeleteParams::default()).await;
            }
        }
        // These kinds need not be installed. A pipeline that is left would be used by the next test on this API server.
        let pipelines = self.raw::<Pipeline>();
        let _ = pipelines.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
        let datasources = self.raw::<Datasource>();
        let _ = datasources.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
        let commitments = self.raw::<CommittedResource>();
        for commitment in commitments.list(&ListParams::default()).await.unwrap() {
            let bare = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            commitments.patch(&commitment.name_any(), &PatchParams::default(), &bare).await.unwrap();
        }
        let others = [
            self.raw::<Reservation>(),
            self.raw::<Hypervisor>(),
            self.raw::<Knowledge>(),
            self.raw::<FlavorGroupCapacity>(),
            self.raw::<ProjectQuota>(),
            self.raw::<CommitmentChange>(),
        ];
        for api in [commitments].into_iter().chain(others) {
            api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        }
    }

    /// The current objects; an error while the API server does not answer.
    pub async fn see(&self) -> Result<Seen, kube::Error> {
        let all = ListParams::default();
        let mut seen = Seen {
            commitments: self.api().list(&all).await?.items,
            hosts: self.api().list(&all).await?.items,
            capacities: self.raw::<FlavorGroupCapacity>().list(&all).await?.into_iter().filter_map(typed).collect(),
            knowledges: self.raw::<Knowledge>().list(&all).await?.into_iter().filter_map(typed).collect(),
            ..Seen::default()
        };
        for raw in self.raw::<Reservation>().list(&all).await? {
            let value = serde_json::to_value(raw).unwrap();
            match serde_json::from_value(value.clone()) {
                Ok(reservation) => seen.reservations.push(reservation),
                Err(_) => seen.unreadable.push(value),
            }
        }
        Ok(seen)
    }

    /// Creates an object, with its status if it has one.
    pub async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Serialize
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let created = self.api::<K>().create(&PostParams::default(), object).await.unwrap();
        let status = serde_json::to_value(object).unwrap()["status"].take();
        if !status.is_null() {
            let is_host = K::kind(&()) == Hypervisor::kind(&()) && status.get("effectiveCapacity").is_some();
            self.edit_status::<K>(&created.name_any(), json!({ "status": status })).await;
            self.created_hosts.fetch_add(u64::from(is_host), Ordering::Relaxed);
        }
        created
    }

    /// Creates an object that need not match the type of its kind.
    pub async fn create_raw<K>(&self, mut object: Value) -> Result<(), kube::Error>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.raw::<K>().create(&PostParams::default(), &object).await.map(drop)
    }

    pub async fn edit<K>(&self, name: &str, change: Value)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.raw::<K>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Merges a patch into the status of an object.
    pub async fn edit_status<K>(&self, name: &str, change: Value)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.raw::<K>().patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Requests the deletion of an object, as kubectl does.
    pub async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        self.raw::<K>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub async fn respec(&self, uuid: &str, change: Value) {
        self.edit::<CommittedResource>(&names::commitment(uuid), json!({ "spec": change })).await;
    }

    pub async fn delete_commitment(&self, uuid: &str) {
        self.delete::<CommittedResource>(&names::commitment(uuid)).await;
    }

    /// Changes the spec of a slot as a user would.
    pub async fn edit_slot(&self, name: &str, change: Value) {
        self.edit::<Reservation>(name, json!({ "spec": change })).await;
    }

    /// A VM of `gib` GiB starts in a slot, on the slot's host: the scheduler writes the allocation, the node agent
    /// reports the VM.
    pub async fn start_vm(&self, slot: &str, vm: &str, gib: u64) {
        let resources = json!({ "memory": format!("{gib}Gi"), "cpu": (gib / 16).to_string() });
        // The current time, because an allocation whose VM is missing for longer than the grace period is removed.
        let expected = json!({ vm: { "creationTimestamp": Time(Timestamp::now()), "resources": resources } });
        self.edit_slot(slot, json!({ "committedResourceReservation": { "allocations": expected } })).await;
        let host = self.api::<Reservation>().get(slot).await.unwrap().spec.target_host.unwrap();
        self.report_vm(&host, vm, gib).await;
    }

    /// The node agent of a host reports one more VM, of `gib` GiB.
    pub async fn report_vm(&self, host: &str, vm: &str, gib: u64) {
        let new = json!({ "id": vm, "name": vm, "active": true });
        self.report(host, i64::try_from(gib).unwrap(), |instances| instances.push(new)).await;
    }

    /// The node agent of a host does not report a VM of `gib` GiB any more.
    pub async fn report_without_vm(&self, host: &str, vm: &str, gib: u64) {
        self.report(host, -i64::try_from(gib).unwrap(), |instances| instances.retain(|one| one["id"] != vm)).await;
    }

    /// The node agent of a host reports changed VMs, of `gib` GiB more.
    async fn report(&self, host: &str, gib: i64, change: impl FnOnce(&mut Vec<Value>)) {
        let status = self.api::<Hypervisor>().get(host).await.unwrap().status.unwrap_or_default();
        let mut instances = serde_json::to_value(&status.instances).unwrap();
        change(instances.as_array_mut().unwrap());
        let memory = super::seen::amount(&status.allocation, "memory") + (gib << 30);
        let cpu = super::seen::amount(&status.allocation, "cpu") + gib / 16;
        let allocation = json!({ "memory": memory.to_string(), "cpu": cpu.to_string() });
        let change = json!({ "status": { "instances": instances, "allocation": allocation } });
        self.edit_status::<Hypervisor>(host, change).await;
    }

    pub async fn publish_flavor_groups(&self, raw: Value) {
        let name = names::FLAVOR_GROUPS;
        if self.raw::<Knowledge>().get_opt(name).await.unwrap().is_none() {
            let object = json!({ "metadata": { "name": name }, "spec": { "schedulingDomain": "nova" } });
            self.create_raw::<Knowledge>(object).await.unwrap();
        }
        let ready = json!({ "type": "Ready", "status": "True", "reason": "Extracted", "message": "",
                            "lastTransitionTime": "2026-03-01T08:00:00Z" });
        // A merge would keep members that the new content lacks.
        self.edit_status::<Knowledge>(name, json!({ "status": { "raw": null } })).await;
        self.edit_status::<Knowledge>(name, json!({ "status": { "raw": raw, "conditions": [ready] } })).await;
    }

    pub async fn publish_usual_flavor_groups(&self) {
        self.publish_flavor_groups(objects::flavor_groups()).await;
    }

    pub async fn install_all(&self) {
        self.install(generate::all()).await;
    }
}

fn typed<K: DeserializeOwned>(object: DynamicObject) -> Option<K> {
    serde_json::from_value(serde_json::to_value(object).ok()?).ok()
}
