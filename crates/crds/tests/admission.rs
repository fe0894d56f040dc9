//! A real API server with our CRDs accepts and rejects example objects, and names the wrong field.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use berth_crds::{generate, names};
use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use support::cases::{Act, Case, create, refused, status, taken, update};
use support::edit::{edited, remove, set};
use support::server::{Server, name};
use support::{beyond, changes, example};

const COMMITMENT: &str = "committed_resource";
const SLOT: &str = "reservation_committed";
const CAPACITY: &str = "flavor_group_capacity";
const QUOTA: &str = "project_quota";
const KNOWLEDGE: &str = "knowledge";
const DATASOURCE: &str = "datasource";
const HYPERVISOR: &str = "hypervisor";

fn examples() -> Vec<Case> {
    let failover_and_in_flight = ["reservation_failover", "reservation_in_flight", "pipeline"];
    [COMMITMENT, SLOT, CAPACITY, QUOTA, KNOWLEDGE, DATASOURCE, HYPERVISOR]
        .into_iter()
        .chain(failover_and_in_flight)
        .map(|base| taken(base, base, status([])))
        .collect()
}

fn invalid() -> Vec<Case> {
    vec![
        refused("no project", COMMITMENT, create([remove("/spec/projectID")]), "spec.projectID"),
        refused("unknown resource type", COMMITMENT, create([set("/spec/resourceType", "ram")]), "spec.resourceType"),
        refused("instances", COMMITMENT, create([set("/spec/resourceType", "instances")]), "spec.resourceType"),
        refused("unknown state", COMMITMENT, create([set("/spec/state", "active")]), "spec.state"),
        refused("amount with a blank", COMMITMENT, create([set("/spec/amount", "1920 GiB")]), "spec.amount"),
        refused("amount as a float", COMMITMENT, create([set("/spec/amount", 1.5)]), "spec.amount"),
        refused("amount is null", COMMITMENT, create([set("/spec/amount", json!(null))]), "spec.amount"),
        refused("start without a time", COMMITMENT, create([set("/spec/startTime", "2026-03-01")]), "spec.startTime"),
        refused("rejection as text", COMMITMENT, create([set("/spec/allowRejection", "true")]), "spec.allowRejection"),
        refused("below 0", COMMITMENT, status([set("/status/usageObservedGeneration", -1)]), "usageObservedGeneration"),
        refused(
            "reason with blanks",
            COMMITMENT,
            status([set("/status/conditions/0/reason", "not accepted")]),
            "conditions[0].reason",
        ),
        refused("lower case", COMMITMENT, status([set("/status/conditions/0/status", "true")]), "conditions[0].status"),
        refused("no state", COMMITMENT, status([set("/status/acceptedSpec/state", "")]), "status.acceptedSpec.state"),
        refused("no type", SLOT, create([remove("/spec/type")]), "spec.type"),
        refused("unknown type", SLOT, create([set("/spec/type", "committed-resource")]), "spec.type"),
        refused("no resources", SLOT, create([remove(ALLOCATION_RESOURCES)]), "1a2b3c4d5e6f.resources"),
        refused("unknown suffix", SLOT, create([set("/spec/resources/memory", "480GiB")]), "spec.resources.memory"),
        refused(
            "generation as text",
            SLOT,
            create([set("/spec/committedResourceReservation/parentGeneration", "2")]),
            "committedResourceReservation.parentGeneration",
        ),
        refused("no zone", CAPACITY, create([remove("/spec/availabilityZone")]), "spec.availabilityZone"),
        refused("no name", CAPACITY, status([remove("/status/flavors/0/flavorName")]), "status.flavors[0].flavorName"),
        refused("empty zone", QUOTA, create([set("/spec/availabilityZone", "")]), "spec.availabilityZone"),
        refused("no domain", QUOTA, create([remove("/spec/domainID")]), "spec.domainID"),
        refused("text", QUOTA, create([set("/spec/quota/hw_version_mem_v4_cores", "600")]), "hw_version_mem_v4_cores"),
        refused("fraction", QUOTA, create([set("/spec/quota/hw_version_mem_v4_ram", 3840.5)]), "hw_version_mem_v4_ram"),
        refused("no spec", QUOTA, create([remove("/spec")]), "spec"),
    ]
}

const ALLOCATION_RESOURCES: &str =
    "/spec/committedResourceReservation/allocations/2f7c0d1e-5a3b-4c8d-9e6f-1a2b3c4d5e6f/resources";

fn invalid_of_others() -> Vec<Case> {
    let groups = |first: Value| create([set("/spec/groups/0", first)]);
    let both = json!({ "trait": { "name": "A" },
                       "aggregate": { "name": "a", "uuid": "4a7f1b2c-3d5e-4f60-8a91-b2c3d4e5f607" } });
    let uuid = "4a7f1b2c3d5e4f608a91b2c3d4e5f607";
    let ready = example(HYPERVISOR)["status"]["conditions"][0].clone();
    let termination = || [set("/spec/maintenance", "termination")];
    vec![
        refused("no scheduling domain", KNOWLEDGE, create([remove("/spec/schedulingDomain")]), "spec.schedulingDomain"),
        refused("list", KNOWLEDGE, create([set("/spec/extractor/config", json!(["a"]))]), "spec.extractor.config"),
        refused("recency as a number", KNOWLEDGE, create([set("/spec/recency", 300)]), "spec.recency"),
        refused("database secret", DATASOURCE, create([remove("/spec/databaseSecretRef")]), "spec.databaseSecretRef"),
        refused("nova type", DATASOURCE, create([set("/spec/openstack/nova", json!({}))]), "spec.openstack.nova.type"),
        refused("no secret", DATASOURCE, create([remove("/spec/openstack/secretRef")]), "spec.openstack.secretRef"),
        refused("two members", HYPERVISOR, groups(both), "spec.groups[0]"),
        refused("no member", HYPERVISOR, groups(json!({})), "spec.groups[0]"),
        refused("UUID", HYPERVISOR, create([set("/spec/groups/1/aggregate/uuid", uuid)]), "groups[1].aggregate.uuid"),
        refused("empty trait", HYPERVISOR, create([set("/spec/groups/0/trait/name", "")]), "groups[0].trait.name"),
        refused("overcommit below 1", HYPERVISOR, create([set("/spec/overcommit/cpu", 0.9)]), "spec.overcommit"),
        refused("unknown maintenance", HYPERVISOR, create([set("/spec/maintenance", "planned")]), "spec.maintenance"),
        refused("no reason", HYPERVISOR, create([set("/spec/maintenance", "manual")]), "maintenanceReason"),
        refused("no active", HYPERVISOR, status([remove("/status/instances/0/active")]), "status.instances[0].active"),
        refused("condition twice", HYPERVISOR, status([set("/status/conditions/1", ready)]), "status.conditions[1]"),
        refused("terminating", HYPERVISOR, update(termination(), [set("/spec/version", "1900.0")]), "maintenance"),
        refused("not terminating", HYPERVISOR, update(termination(), [remove("/spec/maintenance")]), "maintenance"),
    ]
}

/// Objects that the rules must still accept.
fn legitimate() -> Vec<Case> {
    let upper = "6B0F3A52-9D41-4C7E-8A15-2F60C1D7E904";
    let zones = ["EU-NL-3B", "zone_7", "zone-", "a..b", "a.-b"];
    let project = "5d0c4e9f7b3a4f0c9f5e2b1a6d8c7e40";
    let quota = |zone: &str| {
        create([set("/spec/availabilityZone", zone), set("/metadata/name", names::project_quota(project, zone))])
    };
    let mut cases = vec![
        taken("expired", COMMITMENT, create([set("/spec/amount", "0"), set("/spec/endTime", "2020-01-01T00:00:00Z")])),
        taken(
            "planned",
            COMMITMENT,
            create([
                set("/spec/state", "planned"),
                set("/spec/amount", "0"),
                remove("/spec/startTime"),
                remove("/spec/endTime"),
            ]),
        ),
        taken("no domain", COMMITMENT, create([set("/spec/domainID", "")])),
        taken(
            "probe",
            COMMITMENT,
            create([
                set("/spec/commitmentUUID", "dryrun-ab12cd34-0"),
                set("/metadata/name", "commitment-dryrun-ab12cd34-0"),
            ]),
        ),
        taken("cores", COMMITMENT, create([set("/spec/resourceType", "cores"), set("/spec/amount", 40)])),
        taken("unplaced slot", SLOT, create([remove("/spec/targetHost")])),
        taken("other zone", COMMITMENT, update([], [set("/spec/availabilityZone", "eu-test-1b")])),
        taken("no amount and no end", COMMITMENT, create([set("/spec/amount", "0"), remove("/spec/endTime")])),
        taken("upper case", COMMITMENT, create([set("/spec/commitmentUUID", upper)])),
        taken("upper case in a slot", SLOT, create([set("/spec/committedResourceReservation/commitmentUUID", upper)])),
        taken(
            "accepted spec of an old object",
            COMMITMENT,
            status([set("/status/acceptedSpec/amount", "0.5"), set("/status/acceptedSpec/projectID", "")]),
        ),
        taken("zone with a dot", QUOTA, quota("zone.7")),
    ];
    cases.extend(zones.map(|zone| taken("zone that is no name", QUOTA, quota(zone))));
    cases
}

/// Runs a case; the result is that of the last write.
async fn run(server: &Server, case: &Case) -> Result<(), kube::Error> {
    let base = example(case.base);
    match &case.act {
        Act::Create(edits) => server.create(&edited(base, edits)).await.map(drop),
        Act::Status(edits) => {
            let created = created(server, case, &base).await;
            let mut wanted = edited(base, edits);
            wanted["metadata"] = json!(created.metadata);
            server.replace_status(&wanted).await.map(drop)
        }
        Act::Update(before, after) => {
            let created = created(server, case, &edited(base, before)).await;
            server.replace(&edited(json!(created), after)).await.map(drop)
        }
    }
}

async fn created(server: &Server, case: &Case, object: &Value) -> DynamicObject {
    let answer = server.create(object).await;
    answer.unwrap_or_else(|error| panic!("{}: the setup of the case was refused: {error}", case.row))
}

/// What is wrong with the answer to a case, if anything.
fn compare(case: &Case, answer: Result<(), kube::Error>) -> Option<String> {
    match (answer, case.refusal) {
        (Ok(()), None) => None,
        (Ok(()), Some(_)) => Some("was taken".to_owned()),
        (Err(kube::Error::Api(status)), Some(word)) if status.code == 422 => {
            (!status.message.contains(word)).then(|| format!("does not name {word}: {}", status.message))
        }
        (Err(error), _) => Some(format!("failed: {error}")),
    }
}

async fn remove_what_is_left(server: &Server, case: &Case) {
    let mut object = example(case.base);
    if let Act::Create(edits) = &case.act {
        object = edited(object, edits);
    }
    server.delete(&object).await.unwrap();
}

/// The names of the Reservations that a field selector finds.
async fn selected(server: &Server, fields: &str) -> Vec<String> {
    let list = server.api(&example(SLOT)).list(&ListParams::default().fields(fields)).await.unwrap();
    list.into_iter().filter_map(|object| object.metadata.name).collect()
}

async fn reservations_can_be_selected(server: &Server) {
    let examples = [SLOT, "reservation_failover", "reservation_in_flight"].map(example);
    for object in &examples {
        server.create(object).await.unwrap();
    }
    let [slot, failover, in_flight] = examples.map(|object| name(&object));
    assert_eq!(selected(server, "spec.targetHost=node022-bb211").await, [failover, in_flight]);
    assert_eq!(selected(server, "spec.type=CommittedResourceReservation").await, [slot]);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_admitted_and_refused() {
    let server = Server::start(generate::all()).await;
    let cases =
        [examples(), invalid(), invalid_of_others(), beyond::surprising(), beyond::counter_examples(), legitimate()]
            .into_iter()
            .chain([changes::legitimate(), changes::invalid()])
            .flatten()
            .collect::<Vec<_>>();
    let mut failures = Vec::new();
    for case in &cases {
        let answer = run(&server, case).await;
        failures.extend(compare(case, answer).map(|problem| format!("{} ({}): {problem}", case.row, case.base)));
        remove_what_is_left(&server, case).await;
    }
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
    reservations_can_be_selected(&server).await;
}
