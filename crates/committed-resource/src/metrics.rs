//! Metrics of the controller.

use std::collections::BTreeMap;

use berth_cluster::Store;
use berth_crds::CommittedResource;
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::{self, safety};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

const UNFULFILLED: Metric = Metric {
    name: "cortex_committed_resource_unfulfilled",
    kind: Kind::Gauge,
    labels: &["flavor_group", "resource_type", "availability_zone"],
    help: "Commitments that must not be rejected and are not reserved yet.",
};

const SLOT_LIMIT: Metric = Metric {
    name: "cortex_committed_resource_slot_limit_rejections_total",
    kind: Kind::Counter,
    labels: &["flavor_group", "availability_zone"],
    help: "Plans that exceeded maxSlotsPerCommitment.",
};

const AROUND_VMS: Metric = Metric {
    name: "berth_slots_created_around_vms_total",
    kind: Kind::Counter,
    labels: &["flavor_group", "availability_zone"],
    help: "Slots that were created around VMs which ran outside of slots (enablePaygPreAllocation).",
};

const PAUSED: Metric = Metric {
    name: "berth_paused_commitments",
    kind: Kind::Gauge,
    labels: &["reason"],
    help: "Commitments whose reconciliation is paused, by what paused them: Annotation, Zone or FlavorGroup.",
};

/// The metrics that reconciliations write; the others are computed when they are read.
#[derive(Clone, Debug)]
pub struct CommitmentMetrics {
    /// Plans that ended with the slot limit, by flavor group and zone.
    pub slot_limit: IntCounterVec,
    /// Slots that were created around VMs, by flavor group and zone.
    pub around_vms: IntCounterVec,
}

impl CommitmentMetrics {
    pub fn register(metrics: &Metrics, commitments: Store<CommittedResource>) -> Result<Self, MetricsError> {
        let store = commitments.clone();
        metrics.computed(&UNFULFILLED, move || unfulfilled(&store))?;
        metrics.computed(&PAUSED, move || paused(&commitments))?;
        Ok(Self { slot_limit: metrics.counter(&SLOT_LIMIT)?, around_vms: metrics.counter(&AROUND_VMS)? })
    }
}

fn unfulfilled(commitments: &Store<CommittedResource>) -> Vec<(Vec<String>, f64)> {
    let mut counts: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    for entry in commitments.all().iter().filter(|entry| is_unfulfilled(&entry.object)) {
        let spec = &entry.object.spec;
        let labels = [&spec.flavor_group_name, spec.resource_type.as_str(), &spec.availability_zone];
        *counts.entry(labels.map(str::to_owned).to_vec()).or_default() += 1.0;
    }
    counts.into_iter().collect()
}

/// Every reason is there from the start, so that an alert has something to compare with.
fn paused(commitments: &Store<CommittedResource>) -> Vec<(Vec<String>, f64)> {
    let reasons = [safety::BY_ANNOTATION, safety::BY_ZONE, safety::BY_FLAVOR_GROUP];
    let mut counts: BTreeMap<Vec<String>, f64> = reasons.map(|reason| (vec![reason.to_owned()], 0.0)).into();
    for entry in commitments.all() {
        let conditions = entry.object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
        if let Some(paused) = conditions::find(conditions, safety::PAUSED) {
            *counts.entry(vec![paused.reason.clone()]).or_default() += 1.0;
        }
    }
    counts.into_iter().collect()
}

fn is_unfulfilled(object: &CommittedResource) -> bool {
    let ready = object.status.as_ref().and_then(|status| conditions::ready(&status.conditions));
    !object.spec.allow_rejection && ready.is_some_and(|ready| ready.reason == Reason::Reserving.as_str())
}

#[cfg(test)]
mod tests {
    use berth_cluster::indexes::COMMITMENT_INDEXES;
    use berth_cluster::testing::filled;
    use berth_core::ClusterName;
    use berth_crds::conditions::{Status, ready_condition};
    use berth_crds::testing;
    use jiff::Timestamp;

    use super::*;

    fn ready(uuid: &str, reason: &str, allow_rejection: bool) -> CommittedResource {
        let mut object = testing::commitment(uuid, "480Gi");
        object.spec.allow_rejection = allow_rejection;
        let condition = ready_condition(Status::False, reason, "", Some(1), Timestamp::UNIX_EPOCH);
        object.status.get_or_insert_default().conditions = vec![condition];
        object
    }

    #[test]
    fn unfulfilled_are_those_that_wait_and_must_not_be_rejected() {
        let all = [
            ready("one", "Reserving", false),
            ready("two", "Reserving", false),
            ready("three", "Reserving", true),
            ready("four", "Rejected", false),
            ready("five", "Planned", false),
            testing::commitment("six", "480Gi"),
        ];
        let labels = [testing::GROUP, "memory", testing::ZONE].map(str::to_owned).to_vec();
        let store = filled(COMMITMENT_INDEXES, &ClusterName::home(), all);
        assert_eq!(unfulfilled(&store), [(labels, 2.0)]);
        assert_eq!(
            unfulfilled(&filled(COMMITMENT_INDEXES, &ClusterName::home(), [])),
            [],
            "no series without a commitment"
        );
    }
}
