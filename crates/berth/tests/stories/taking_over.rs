//! Taking over a region from an older system: its objects and CRDs, then our CRDs and the operator. Runs the real
//! binary on a real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use berth_crds::{CommittedResource, Hypervisor, Knowledge, ProjectQuota, Reservation, generate};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::command::{Ended, berth};
use crate::support::recorded::{self, explained, name, text};
use crate::support::waiting::{so, until};
use crate::support::world::{QUIET, World, bound};

/// Creates an object with its status, and changes it until its generation is the recorded one.
async fn store(world: &World, object: &Value) {
    let api = api(world, text(object, "/kind"));
    let generation = object["metadata"]["generation"].as_u64().unwrap_or(1);
    let started = object["spec"]["startTime"].clone();
    let mut first = object.clone();
    if generation > 1 {
        first["spec"]["startTime"] = json!("2020-01-01T00:00:01Z");
    }
    let first: DynamicObject = serde_json::from_value(first).unwrap();
    api.create(&PostParams::default(), &first).await.unwrap_or_else(|error| panic!("{object}: {error}"));
    let starts = (2..generation).map(|second| json!(format!("2020-01-01T00:00:0{second}Z")));
    for start in starts.chain((generation > 1).then_some(started)) {
        world.edit::<CommittedResource>(name(object), json!({ "spec": { "startTime": start } })).await;
    }
    if let Some(status) = object.get("status") {
        let status = kube::api::Patch::Merge(json!({ "status": status }));
        api.patch_status(name(object), &kube::api::PatchParams::default(), &status).await.unwrap();
    }
}

fn api(world: &World, kind: &str) -> Api<DynamicObject> {
    match kind {
        "CommittedResource" => world.raw::<CommittedResource>(),
        "Reservation" => world.raw::<Reservation>(),
        "Hypervisor" => world.raw::<Hypervisor>(),
        "ProjectQuota" => world.raw::<ProjectQuota>(),
        "Knowledge" => world.raw::<Knowledge>(),
        other => panic!("{other} is not recorded"),
    }
}

/// All commitments and Reservations, by kind and name.
async fn objects(world: &World) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for kind in ["CommittedResource", "Reservation"] {
        for object in api(world, kind).list(&ListParams::default()).await.unwrap() {
            let mut object = serde_json::to_value(object).unwrap();
            object["kind"] = json!(kind);
            all.insert(format!("{kind} {}", name(&object)), object);
        }
    }
    all
}

/// The kinds of writes to each object, or what is gone, new, or changed in a forbidden way.
fn checked(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, BTreeSet<&'static str>>, String> {
    let [old, new] = [before, after].map(|objects| objects.keys().collect::<BTreeSet<_>>());
    so(old == new, || format!("gone or new: {:?}", old.symmetric_difference(&new)))?;
    let differing = before.iter().map(|(key, old)| Ok((name(old).to_owned(), explained(old, &after[key])?)));
    let all: Result<BTreeMap<_, _>, String> = differing.collect();
    Ok(all?.into_iter().filter(|(_, kinds)| !kinds.is_empty()).collect())
}

/// The CRDs of the older system, and its stored objects.
async fn an_old_region() -> World {
    let mut world = World::without_operator().await;
    // The numbers in the message of a commitment that waits come with its next reconciliation.
    world.use_keys(&json!({ "committedResourceController": { "requeueIntervalRetry": "2s" } }));
    world.delete::<Knowledge>(recorded::FLAVOR_GROUPS).await;
    world.install(generate::without_rules()).await;
    let quotas = world.raw::<ProjectQuota>();
    quotas.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    for object in recorded::objects() {
        until_taken(&world, &object).await;
        store(&world, &object).await;
    }
    world
}

async fn install(world: &World) {
    world.install_all().await;
    until_in_force(world).await;
}

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

/// Waits until the validation rules of an earlier test are gone.
async fn until_taken(world: &World, object: &Value) {
    let (api, object) = (api(world, text(object, "/kind")), serde_json::from_value(object.clone()).unwrap());
    until(async || api.create(&dry_run(), &object).await).await.unwrap();
}

/// Waits until our validation rules are in effect.
async fn until_in_force(world: &World) {
    for kind in ["CommittedResource", "Reservation"] {
        let refused = until(async || {
            let object = json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": kind, "metadata": { "name": "probe" },
                                 "spec": { "schedulingDomain": "typo", "type": "CommittedResourceReservation" } });
            let answer = api(world, kind).create(&dry_run(), &serde_json::from_value(object).unwrap()).await;
            let words = answer.err().map(|error| error.to_string()).unwrap_or_default();
            let ours = ["schedulingDomain must be", "resources must have"].iter().any(|rule| words.contains(rule));
            so(ours || words.contains("Required value"), || words)
        });
        refused.await.unwrap();
    }
}

/// Waits until everything is written and nothing happens any more.
async fn settled(world: &World, before: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut written = recorded::written();
    written.remove(&recorded::waiting());
    world
        .until_reported("the region is taken over", async |world, _| {
            let after = objects(world).await;
            let kinds = checked(before, &after)?;
            so(kinds == written, || format!("written: {kinds:?}"))?;
            let reconciliations = world.operator().reconciliations().await;
            sleep(QUIET).await;
            so(world.operator().reconciliations().await == reconciliations, || "it reconciles again".to_owned())?;
            so(objects(world).await == after, || "objects still change".to_owned())?;
            Ok(after)
        })
        .await
}

#[tokio::test]
async fn a_region_is_taken_over_as_it_is_and_can_be_given_up_afterwards() {
    let mut world = an_old_region().await;
    install(&world).await;
    let before = objects(&world).await;
    world.start().await;
    let after = settled(&world, &before).await;

    world.stop().await;
    world.start().await;
    world
        .until_reported("all were reconciled", async |world, seen| {
            let (reconciliations, all) =
                (world.operator().reconciliations().await, seen.commitments.len() + seen.slots().count());
            so(reconciliations >= all as u64, || format!("{reconciliations} reconciliations of {all} objects"))
        })
        .await;
    assert_eq!(settled(&world, &before).await, after, "a restart writes nothing");

    everything_can_be_deleted(&world).await;
    world.stop().await;
}

/// Our rules do not block the deletion of old objects, whatever is wrong with them: their slots go first.
async fn everything_can_be_deleted(world: &World) {
    for commitment in world.now().await.commitments {
        world.delete::<CommittedResource>(commitment.metadata.name.as_deref().unwrap()).await;
    }
    let left = [
        "commitment-6b0f3a52-9d41-4c7e-8a15-000000000024-0",
        "failover-eu-test-1-b9z4q",
        "failover-eu-test-1-c2m8w",
        "failover-eu-test-1-x7k2p",
        "inflight-9c1a6e50-7f2b-4d38-8c4e-3b5d6f708192-node001-bb1",
    ];
    world
        .until_reported("all commitments go with their slots", async |world, _| {
            let names: Vec<_> = objects(world).await.into_values().map(|object| name(&object).to_owned()).collect();
            so(names == left, || names.join(", "))
        })
        .await;
}

/// What our rules would refuse of the recorded objects: the suffix of the name, and the field.
const REFUSED: &[(&str, &str)] = &[
    ("05", "status.conditions"),
    // Once for the pattern, once for the unit of memory.
    ("0e", "spec.amount"),
    ("0e", "spec.amount"),
    ("1e", "spec.amount"),
    ("1e", "spec.amount"),
    ("1f", "spec.endTime"),
    ("20", "spec.projectID"),
    ("22", "spec.schedulingDomain"),
    ("commitment-none", "metadata.name"),
    ("commitment-none", "spec.commitmentUUID"),
    (recorded::NOT_SERVED, "metadata.name"),
    ("legacy-import-7", "metadata.name"),
    ("05-0", "status.conditions"),
    ("1f-0", "spec.endTime"),
    ("20-0", "spec.committedResourceReservation.projectID"),
    ("failover-eu-test-1-b9z4q", "spec.failoverReservation"),
    ("failover-eu-test-1-c2m8w", "spec.committedResourceReservation"),
    ("failover-eu-test-1-c2m8w", "spec.failoverReservation"),
    ("quota-5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40-eu-test-1a", "spec.quota.hw_version_mem_v4_ram"),
];

async fn check(kubeconfig: &Path, form: &str) -> Ended {
    berth(&["crds", "check", "-o", form, &format!("--kubeconfig={}", kubeconfig.display())], "").await
}

#[tokio::test]
async fn stored_objects_that_the_rules_would_refuse_are_listed_and_left_alone() {
    let mut world = an_old_region().await;
    let checker = bound(world.control_plane(), "checker-of-rules", "berth-crds-check").await;
    let without_rules = check(&checker, "text").await;
    assert_eq!(without_rules.status, 1, "{without_rules:#?}");
    let lacking = "Reservation objects of cluster home\n  not checked: its CRD lacks our rules: install it";
    assert!(without_rules.stdout.contains(lacking), "{}", without_rules.stdout);

    install(&world).await;
    let before = objects(&world).await;
    let listed = check(&checker, "json").await;
    assert_eq!((listed.status, listed.stderr.as_str()), (1, "berth: the answer is on standard output\n"));
    let answer: Value = serde_json::from_str(&listed.stdout).unwrap();
    let refused = answer["checked"].as_array().unwrap().iter().flat_map(|kind| kind["refused"].as_array().unwrap());
    let refused: Vec<_> = refused.map(|one| (text(one, "/name").to_owned(), text(one, "/field").to_owned())).collect();
    let expected: Vec<_> = REFUSED.iter().map(|(name, field)| (recorded::long(name), (*field).to_owned())).collect();
    assert_eq!(refused, expected, "{answer:#}");
    assert_eq!(objects(&world).await, before, "nothing was written");

    let reported = check(&checker, "text").await;
    let negative = format!("{}\n  spec.amount is \"-5Gi\": spec.amount in body should match ", recorded::long("1e"));
    assert!(reported.stdout.contains(&negative), "{}", reported.stdout);
    a_right_is_needed(&mut world).await;
    without_those_it_is_content(&world, &checker, &refused).await;
}

/// Somebody who may read everything that is checked.
async fn a_right_is_needed(world: &mut World) {
    const NAME: &str = "reader-of-rules";
    let reader = world.control_plane().service_account("berth-system", NAME).await.unwrap();
    let kinds = "--resource=committedresources.cortex.cloud,reservations.cortex.cloud,flavorgroupcapacities.cortex.cloud,\
                 projectquotas.cortex.cloud,customresourcedefinitions.apiextensions.k8s.io";
    world.kubectl(&["create", "clusterrole", NAME, "--verb=get,list", kinds]).await;
    let (role, subject) = (format!("--clusterrole={NAME}"), format!("--serviceaccount=berth-system:{NAME}"));
    world.kubectl(&["create", "clusterrolebinding", NAME, &role, &subject]).await;
    let refused = check(&reader, "text").await;
    assert_eq!(refused.status, 1);
    assert!(refused.stdout.contains("cannot create resource \"flavorgroupcapacities\""), "{}", refused.stdout);
    for kind in ["clusterrolebinding", "clusterrole"] {
        world.kubectl(&["delete", kind, NAME]).await;
    }
}

async fn without_those_it_is_content(world: &World, kubeconfig: &Path, refused: &[(String, String)]) {
    for kind in ["CommittedResource", "Reservation", "ProjectQuota"] {
        for (name, _) in refused {
            let gone = api(world, kind).delete(name, &DeleteParams::default()).await;
            drop(gone);
        }
    }
    let good = check(kubeconfig, "text").await;
    assert_eq!((good.status, good.stderr.as_str()), (0, ""), "{}", good.stdout);
    assert!(good.stdout.ends_with(" objects checked, 0 would be refused.\n"), "{}", good.stdout);
}
