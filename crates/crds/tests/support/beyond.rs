//! Objects that the reference accepts and we reject, and objects that both accept.

use serde_json::json;

use super::cases::{Case, create, refused, status, taken, update};
use super::edit::{remove, set};

const COMMITMENT: &str = "committed_resource";
const SLOT: &str = "reservation_committed";
const FAILOVER: &str = "reservation_failover";
const IN_FLIGHT: &str = "reservation_in_flight";
const CAPACITY: &str = "flavor_group_capacity";
const QUOTA: &str = "project_quota";
const KNOWLEDGE: &str = "knowledge";
const DATASOURCE: &str = "datasource";
const HYPERVISOR: &str = "hypervisor";

/// Objects that the reference accepts. Some of them are rejected by a rule of ours.
pub fn surprising() -> Vec<Case> {
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Accepted", "message": "",
                        "lastTransitionTime": "2026-03-01T08:00:00Z" });
    let amount = |value| create([set("/spec/amount", value)]);
    let termination = || set("/spec/maintenance", "termination");
    vec![
        refused("negative amount", COMMITMENT, amount(json!("-5Gi")), "spec.amount"),
        refused("amount with a fraction", COMMITMENT, amount(json!("0.5")), "spec.amount"),
        refused("amount as an integer", COMMITMENT, amount(json!(40)), "spec.amount"),
        refused("amount with an exponent", COMMITMENT, amount(json!("1e3")), "spec.amount"),
        refused("end before start", COMMITMENT, create([set("/spec/endTime", "2026-02-01T00:00:00Z")]), "spec.endTime"),
        refused("empty UUID", COMMITMENT, create([set("/spec/commitmentUUID", "")]), "spec.commitmentUUID"),
        refused("empty group", COMMITMENT, create([set("/spec/flavorGroupName", "")]), "spec.flavorGroupName"),
        refused("empty zone", COMMITMENT, create([set("/spec/availabilityZone", "")]), "spec.availabilityZone"),
        refused("empty project", COMMITMENT, create([set("/spec/projectID", "")]), "spec.projectID"),
        taken("empty domain", COMMITMENT, create([set("/spec/domainID", "")])),
        taken("start is null", COMMITMENT, create([set("/spec/startTime", json!(null))])),
        taken("unknown key", COMMITMENT, create([set("/spec/comment", "x")])),
        refused("ironcore", COMMITMENT, create([set("/spec/schedulingDomain", "ironcore")]), "spec.schedulingDomain"),
        refused("condition twice", COMMITMENT, status([set("/status/conditions/1", ready)]), "status.conditions[1]"),
        refused("another type", SLOT, create([set("/spec/type", "FailoverReservation")]), "spec.failoverReservation"),
        refused("no member", FAILOVER, create([remove("/spec/failoverReservation")]), "spec.failoverReservation"),
        refused("negative", QUOTA, create([set("/spec/quota/hw_version_mem_v4_ram", -1)]), "hw_version_mem_v4_ram"),
        taken("quota without a domain", QUOTA, create([set("/spec/domainID", "")])),
        taken("recency that is no duration", KNOWLEDGE, create([set("/spec/recency", "soon")])),
        taken("datasource of another type", DATASOURCE, create([set("/spec/type", "mysql")])),
        taken("datasource with two sources", DATASOURCE, create([set("/spec/prometheus", empty_prometheus())])),
        taken("empty maintenance", HYPERVISOR, create([set("/spec/maintenance", "")])),
        taken("trait twice", HYPERVISOR, create([set("/spec/groups/2", json!({"trait": {"name": "CUSTOM_MEM_V4"}}))])),
        taken("overcommit of 1", HYPERVISOR, create([set("/spec/overcommit/cpu", 1)])),
        taken("no spec", HYPERVISOR, create([remove("/spec")])),
        taken("negative cell", HYPERVISOR, status([set("/status/cells/0/cellID", -1)])),
        taken(
            "from termination to ha",
            HYPERVISOR,
            update([termination()], [set("/spec/maintenance", "ha"), set("/spec/version", "1900.0")]),
        ),
        taken("termination without a change", HYPERVISOR, update([termination()], [])),
    ]
}

/// The empty member that a writer with the reference's types emits for the unused source.
fn empty_prometheus() -> serde_json::Value {
    json!({ "query": "", "alias": "", "type": "", "secretRef": {} })
}

/// Objects that violate a rule: at least one for every rule and every part of a rule.
pub fn counter_examples() -> Vec<Case> {
    [commitments(), changed_commitments(), reservations(), resources(), slots(), capacities(), quotas(), bounds()]
        .concat()
}

fn commitments() -> Vec<Case> {
    let amount = |value| create([set("/spec/amount", value)]);
    vec![
        refused("amount below 0", COMMITMENT, amount(json!("-5Gi")), "spec.amount"),
        refused("amount of half a KiB", COMMITMENT, amount(json!("0.5Ki")), "spec.amount"),
        refused("memory without a suffix", COMMITMENT, amount(json!("1920")), "spec.amount"),
        refused("memory with a decimal suffix", COMMITMENT, amount(json!("2T")), "spec.amount"),
        refused(
            "half a core",
            COMMITMENT,
            create([set("/spec/resourceType", "cores"), set("/spec/amount", "500m")]),
            "spec.amount",
        ),
        refused(
            "end before the start",
            COMMITMENT,
            create([set("/spec/endTime", "2020-01-01T00:00:00Z")]),
            "spec.endTime",
        ),
        refused(
            "end moved before the start",
            COMMITMENT,
            update([], [set("/spec/endTime", "2020-01-01T00:00:00Z")]),
            "spec.endTime",
        ),
        refused(
            "amount with an end before the start",
            COMMITMENT,
            update(
                [set("/spec/amount", "0"), set("/spec/endTime", "2020-01-01T00:00:00Z")],
                [set("/spec/amount", "1Gi"), set("/spec/endTime", "2020-01-02T00:00:00Z")],
            ),
            "spec.endTime",
        ),
    ]
}

fn changed_commitments() -> Vec<Case> {
    vec![
        refused("name of its own", COMMITMENT, create([set("/metadata/name", "my-commitment")]), "metadata.name"),
        refused(
            "another UUID",
            COMMITMENT,
            update([], [set("/spec/commitmentUUID", "6b0f3a52-9d41-4c7e-8a15-000000000000")]),
            "spec.commitmentUUID",
        ),
        refused("UUID too short", COMMITMENT, create([set("/spec/commitmentUUID", "ab12c")]), "spec.commitmentUUID"),
        refused(
            "UUID with an underscore",
            COMMITMENT,
            create([set("/spec/commitmentUUID", "ab12_cd34")]),
            "spec.commitmentUUID",
        ),
        refused(
            "UUID that ends in a hyphen",
            COMMITMENT,
            create([set("/spec/commitmentUUID", "ab12cd34-")]),
            "spec.commitmentUUID",
        ),
        refused(
            "another resource type",
            COMMITMENT,
            update([], [set("/spec/resourceType", "cores"), set("/spec/amount", "40")]),
            "spec.resourceType",
        ),
        refused("integer amount below 0", COMMITMENT, create([set("/spec/amount", -5)]), "spec.amount"),
        refused("memory as an integer", COMMITMENT, create([set("/spec/amount", 1920)]), "spec.amount"),
        refused(
            "domain in upper case",
            COMMITMENT,
            create([set("/spec/schedulingDomain", "Nova")]),
            "spec.schedulingDomain",
        ),
    ]
}

fn reservations() -> Vec<Case> {
    vec![
        refused(
            "slot of another type",
            SLOT,
            create([set("/spec/type", "FailoverReservation")]),
            "spec.committedResourceReservation",
        ),
        refused(
            "slot and failover",
            SLOT,
            create([set("/spec/failoverReservation", json!({}))]),
            "spec.failoverReservation",
        ),
        refused("disk in resources", SLOT, create([set("/spec/resources/disk", "1Gi")]), "spec.resources"),
        refused("slot without memory", SLOT, create([set("/spec/resources/memory", "0")]), "spec.resources"),
        refused("in-flight without a host", IN_FLIGHT, create([remove("/spec/targetHost")]), "spec.targetHost"),
        refused(
            "in-flight without its data",
            IN_FLIGHT,
            create([remove("/spec/inFlightReservation")]),
            "spec.inFlightReservation",
        ),
        refused(
            "type changed",
            FAILOVER,
            update(
                [],
                [
                    set("/spec/type", "InFlightReservation"),
                    remove("/spec/failoverReservation"),
                    set("/spec/inFlightReservation", json!({ "vmID": "9c1a6e50-7f2b-4d38-8c4e-3b5d6f708192" })),
                ],
            ),
            "spec.type",
        ),
        refused(
            "slot that ends before its start",
            SLOT,
            create([set("/spec/endTime", "2020-01-01T00:00:00Z")]),
            "spec.endTime",
        ),
        refused(
            "slot whose end moves before its start",
            SLOT,
            update([], [set("/spec/endTime", "2020-01-01T00:00:00Z")]),
            "spec.endTime",
        ),
    ]
}

fn resources() -> Vec<Case> {
    vec![
        refused("failover without resources", FAILOVER, create([remove("/spec/resources")]), "spec.resources"),
        refused(
            "resources misspelt",
            SLOT,
            create([remove("/spec/resources/cpu"), set("/spec/resources/vcpus", "30")]),
            "spec.resources",
        ),
        refused("memory below 0", SLOT, create([set("/spec/resources/memory", "-1")]), "spec.resources.memory"),
        refused("cores below 0", SLOT, create([set("/spec/resources/cpu", -1)]), "spec.resources.cpu"),
        refused("half a core in a slot", SLOT, create([set("/spec/resources/cpu", "500m")]), "spec.resources.cpu"),
        refused("memory of 0 as an integer", SLOT, create([set("/spec/resources/memory", 0)]), "spec.resources"),
        refused(
            "in-flight without a VM",
            IN_FLIGHT,
            create([set("/spec/inFlightReservation/vmID", "")]),
            "inFlightReservation.vmID",
        ),
    ]
}

fn slots() -> Vec<Case> {
    vec![
        refused(
            "slot without a commitment",
            SLOT,
            create([remove("/spec/committedResourceReservation/commitmentUUID")]),
            "commitmentUUID",
        ),
        refused(
            "slot with a wrong UUID",
            SLOT,
            create([set("/spec/committedResourceReservation/commitmentUUID", "-")]),
            "commitmentUUID",
        ),
        refused(
            "slot without a flavor",
            SLOT,
            create([set("/spec/committedResourceReservation/resourceName", "")]),
            "resourceName",
        ),
        refused(
            "slot that loses its flavor",
            SLOT,
            update([], [remove("/spec/committedResourceReservation/resourceName")]),
            "resourceName",
        ),
        refused(
            "slot without a group",
            SLOT,
            create([remove("/spec/committedResourceReservation/resourceGroup")]),
            "resourceGroup",
        ),
        refused(
            "slot without a project",
            SLOT,
            create([remove("/spec/committedResourceReservation/projectID")]),
            "projectID",
        ),
        refused(
            "generation below 0",
            SLOT,
            create([set("/spec/committedResourceReservation/parentGeneration", -1)]),
            "parentGeneration",
        ),
    ]
}

fn capacities() -> Vec<Case> {
    vec![
        refused(
            "capacity of another zone",
            CAPACITY,
            update([], [set("/spec/availabilityZone", "eu-test-1b")]),
            "availabilityZone",
        ),
        refused("capacity without a group", CAPACITY, create([set("/spec/flavorGroup", "")]), "spec.flavorGroup"),
        refused(
            "capacity without a zone",
            CAPACITY,
            create([set("/spec/availabilityZone", "")]),
            "spec.availabilityZone",
        ),
    ]
}

fn quotas() -> Vec<Case> {
    vec![
        refused(
            "quota below 0",
            QUOTA,
            create([set("/spec/quota/hw_version_mem_v4_cores", -1)]),
            "hw_version_mem_v4_cores",
        ),
        refused("quota of another name", QUOTA, create([set("/metadata/name", "quota-other")]), "metadata.name"),
        refused("quota of another project", QUOTA, update([], [set("/spec/projectID", "other")]), "spec.projectID"),
        refused(
            "quota of another zone",
            QUOTA,
            update([], [set("/spec/availabilityZone", "eu-test-1b")]),
            "spec.availabilityZone",
        ),
        refused("quota without a project", QUOTA, create([set("/spec/projectID", "")]), "spec.projectID"),
    ]
}

/// Texts and maps above their bounds.
fn bounds() -> Vec<Case> {
    let text = |length: usize| "a".repeat(length);
    let many: serde_json::Map<_, _> = (0..17).map(|number| (format!("resource-{number}"), json!(1))).collect();
    vec![
        refused("long group", COMMITMENT, create([set("/spec/flavorGroupName", text(65))]), "spec.flavorGroupName"),
        refused("long zone", COMMITMENT, create([set("/spec/availabilityZone", text(65))]), "spec.availabilityZone"),
        refused("long project", COMMITMENT, create([set("/spec/projectID", text(65))]), "spec.projectID"),
        refused("long domain", COMMITMENT, create([set("/spec/domainID", text(65))]), "spec.domainID"),
        refused("long amount", COMMITMENT, create([set("/spec/amount", "123456789012345678901Gi")]), "spec.amount"),
        refused("long project later", COMMITMENT, update([], [set("/spec/projectID", text(65))]), "spec.projectID"),
        refused("long host", SLOT, create([set("/spec/targetHost", text(254))]), "spec.targetHost"),
        refused(
            "long flavor",
            SLOT,
            create([set("/spec/committedResourceReservation/resourceName", text(254))]),
            "spec.committedResourceReservation.resourceName",
        ),
        refused("many resources", IN_FLIGHT, create([set("/spec/resources", many)]), "spec.resources"),
        refused(
            "long VM",
            IN_FLIGHT,
            create([set("/spec/inFlightReservation/vmID", text(37))]),
            "spec.inFlightReservation.vmID",
        ),
        refused("long capacity group", CAPACITY, create([set("/spec/flavorGroup", text(65))]), "spec.flavorGroup"),
        refused("long quota domain", QUOTA, create([set("/spec/domainName", text(254))]), "spec.domainName"),
    ]
}
