//! What the accounts of `config/rbac` may not do: the API server says so when it is asked, and refuses it when it is tried.

use std::path::Path;

use berth_crds::{CommittedResource, Hypervisor, Reservation, names};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, ClusterResourceScope};
use kube::{Api, Client, Config, Resource};
use serde_json::json;

use crate::support::objects::{host, non_rejectable, slot_name};
use crate::support::world::{World, apply};

const ALL: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
/// What the operator does not do with hosts: it only follows them.
const CHANGES: [&str; 4] = ["create", "update", "patch", "delete"];

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Whether the API server says that the account may do it.
async fn may(client: &Client, resource: &ApiResource, sub: Option<&str>, verb: &str) -> bool {
    let attributes = ResourceAttributes {
        group: Some(resource.group.clone()),
        resource: Some(resource.plural.clone()),
        subresource: sub.map(str::to_owned),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = Api::all(client.clone()).create(&PostParams::default(), &review).await.unwrap();
    answer.status.is_some_and(|status| status.allowed)
}

/// Tries it on an object that exists.
async fn attempt(objects: &Api<DynamicObject>, object: &DynamicObject, verb: &str) -> Result<(), kube::Error> {
    let name = object.metadata.name.as_deref().unwrap();
    let label = Patch::Merge(json!({ "metadata": { "labels": { "touched": "yes" } } }));
    match verb {
        "get" => objects.get(name).await.map(drop),
        "list" => objects.list(&ListParams::default()).await.map(drop),
        "watch" => objects.watch(&WatchParams::default(), "0").await.map(drop),
        "create" => objects.create(&PostParams::default(), object).await.map(drop),
        "update" => objects.replace(name, &PostParams::default(), object).await.map(drop),
        "patch" => objects.patch(name, &PatchParams::default(), &label).await.map(drop),
        _ => objects.delete(name, &DeleteParams::default()).await.map(drop),
    }
}

async fn refuses<K>(world: &World, account: &Client, name: &str, verbs: &[&str])
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
{
    let resource = ApiResource::erase::<K>(&());
    let object = world.raw::<K>().get(name).await.unwrap();
    let objects: Api<DynamicObject> = Api::all_with(account.clone(), &resource);
    for verb in verbs {
        assert!(!may(account, &resource, None, verb).await, "{verb} {name}");
        let refused = attempt(&objects, &object, verb).await;
        let is_right = matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403);
        assert!(is_right, "{verb} {name}: {refused:?}");
    }
    let status = Patch::Merge(json!({ "status": {} }));
    assert!(!may(account, &resource, Some("status"), "patch").await, "{name}");
    let refused = objects.patch_status(name, &PatchParams::default(), &status).await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{name}: {refused:?}");
    assert_eq!(world.raw::<K>().get(name).await.unwrap().metadata.resource_version, object.metadata.resource_version);
}

#[tokio::test]
async fn placement_touches_no_object_of_the_operator_and_the_operator_no_host() {
    let mut world = World::with_hosts(&[host("node1", 1)]).await;
    world.create(&non_rejectable("story-1", 1)).await;
    world.accepted("story-1").await;
    world.rest().await;
    apply(world.control_plane(), "rbac/placement").await;
    let placement = world.control_plane().service_account("berth-system", "berth-placement").await.unwrap();
    let placement = client(&placement).await;
    refuses::<CommittedResource>(&world, &placement, &names::commitment("story-1"), &ALL).await;
    refuses::<Reservation>(&world, &placement, &slot_name("story-1", 0), &ALL).await;
    refuses::<Hypervisor>(&world, &placement, "node1", &ALL).await;

    let operator = client(world.account()).await;
    refuses::<Hypervisor>(&world, &operator, "node1", &CHANGES).await;
    let hosts = ApiResource::erase::<Hypervisor>(&());
    assert!(may(&operator, &hosts, None, "list").await, "what is refused is not refused by mistake");
    world.end().await;
}
