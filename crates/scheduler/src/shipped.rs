//! The compiled-in pipelines for KVM hosts, as data. They equal the Pipeline objects of the reference.

use std::collections::BTreeMap;

use crate::params::Param;
use crate::pipeline_spec::{PipelineSpec, StepSpec};

pub(crate) const GENERAL_PURPOSE: &str = "kvm-general-purpose-load-balancing";
pub(crate) const HANA: &str = "kvm-hana-bin-packing";

pub(crate) fn specs() -> Vec<PipelineSpec> {
    vec![
        pipeline(GENERAL_PURPOSE, true, long_chain(capacity()), weighers(-1.0)),
        pipeline(HANA, true, long_chain(capacity()), weighers(1.0)),
        pipeline("kvm-general-purpose-load-balancing-no-history", true, long_chain(unlocked()), weighers(-1.0)),
        pipeline("kvm-hana-bin-packing-no-history", true, long_chain(unlocked()), weighers(1.0)),
        new_failover_reservation(),
        pipeline("kvm-valid-host-reuse-failover-reservation", false, failover_chain(None), Vec::new()),
        pipeline(
            "kvm-acknowledge-failover-reservation",
            false,
            failover_chain(Some(capacity())),
            steps(&["kvm_failover_evacuation"]),
        ),
        report_capacity(),
    ]
}

fn pipeline(name: &str, all: bool, filters: Vec<StepSpec>, weighers: Vec<StepSpec>) -> PipelineSpec {
    PipelineSpec { name: name.to_owned(), ignore_preselection: all, filters, weighers }
}

fn long_chain(capacity: StepSpec) -> Vec<StepSpec> {
    let mut chain = steps(&[
        "filter_status_conditions",
        "filter_correct_az",
        "filter_host_instructions",
        "filter_image_properties",
        "filter_capabilities",
        "filter_has_requested_traits",
    ]);
    chain.push(external_customer());
    chain.extend(steps(&[
        "filter_has_accelerators",
        "filter_instance_group_affinity",
        "filter_instance_group_anti_affinity",
    ]));
    chain.push(capacity);
    chain.extend(steps(&[
        "filter_allowed_projects",
        "filter_aggregate_metadata",
        "filter_live_migratable",
        "filter_requested_destination",
        "filter_quota_enforcement",
    ]));
    chain
}

fn weighers(binpack: f64) -> Vec<StepSpec> {
    vec![
        by_memory("kvm_prefer_smaller_hosts"),
        StepSpec::new("kvm_instance_group_soft_affinity"),
        by_memory("kvm_binpack").times(binpack),
        StepSpec::new("kvm_failover_evacuation"),
        StepSpec::new("kvm_committed_resource_reservation"),
    ]
}

fn new_failover_reservation() -> PipelineSpec {
    let mut filters = steps(&["filter_status_conditions", "filter_host_instructions", "filter_correct_az"]);
    filters.push(capacity().with(flag("lockReserved", true)));
    filters.extend(steps(&[
        "filter_has_requested_traits",
        "filter_has_accelerators",
        "filter_allowed_projects",
        "filter_capabilities",
        "filter_instance_group_affinity",
        "filter_instance_group_anti_affinity",
        "filter_live_migratable",
        "filter_requested_destination",
    ]));
    let weighers = vec![
        by_memory("kvm_prefer_smaller_hosts"),
        StepSpec::new("kvm_instance_group_soft_affinity"),
        by_memory("kvm_binpack").times(-1.0),
    ];
    pipeline("kvm-new-failover-reservation", true, filters, weighers)
}

fn failover_chain(capacity: Option<StepSpec>) -> Vec<StepSpec> {
    let mut chain = steps(&["filter_status_conditions", "filter_host_instructions", "filter_correct_az"]);
    chain.extend(capacity);
    chain.extend(steps(&["filter_has_requested_traits", "filter_has_accelerators"]));
    chain.push(external_customer());
    chain.extend(steps(&["filter_allowed_projects", "filter_capabilities"]));
    chain
}

fn report_capacity() -> PipelineSpec {
    let ignored = ["CommittedResourceReservation", "FailoverReservation"];
    let mut filters = steps(&["filter_status_conditions", "filter_correct_az"]);
    filters.push(capacity().with(flag("ignoreAllocations", true)).with(list("ignoredReservationTypes", &ignored)));
    filters.extend(steps(&["filter_has_requested_traits", "filter_capabilities"]));
    pipeline("kvm-report-capacity", true, filters, Vec::new())
}

fn steps(names: &[&str]) -> Vec<StepSpec> {
    names.iter().map(|name| StepSpec::new(name)).collect()
}

fn capacity() -> StepSpec {
    StepSpec::new("filter_has_enough_capacity")
}

fn unlocked() -> StepSpec {
    capacity().with(flag("lockReserved", false))
}

fn external_customer() -> StepSpec {
    StepSpec::new("filter_external_customer").with(list("domainNamePrefixes", &["iaas-"]))
}

fn by_memory(name: &str) -> StepSpec {
    let weights = BTreeMap::from([("memory".to_owned(), 1.0)]);
    StepSpec::new(name).with(Param {
        key: "resourceWeights".to_owned(),
        float_map_value: Some(weights),
        ..Param::default()
    })
}

fn flag(key: &str, value: bool) -> Param {
    Param { key: key.to_owned(), bool_value: Some(value), ..Param::default() }
}

fn list(key: &str, values: &[&str]) -> Param {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Param { key: key.to_owned(), string_list_value: Some(values), ..Param::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pipeline, Pipelines};

    #[test]
    fn every_compiled_in_pipeline_loads_completely() {
        for spec in specs() {
            let loaded = Pipeline::load(&spec);
            assert_eq!((loaded.filter_errors, loaded.weigher_errors, loaded.unknown), (vec![], vec![], vec![]));
            let pipeline = loaded.pipeline.unwrap();
            assert_eq!(pipeline.steps().count(), spec.filters.len() + spec.weighers.len(), "{}", spec.name);
        }
        assert_eq!(
            Pipelines::shipped().names().collect::<Vec<_>>(),
            [
                "kvm-acknowledge-failover-reservation",
                "kvm-general-purpose-load-balancing",
                "kvm-general-purpose-load-balancing-no-history",
                "kvm-hana-bin-packing",
                "kvm-hana-bin-packing-no-history",
                "kvm-new-failover-reservation",
                "kvm-report-capacity",
                "kvm-valid-host-reuse-failover-reservation",
            ]
        );
    }
}
