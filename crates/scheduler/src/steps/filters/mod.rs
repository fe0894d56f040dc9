//! The filters (document 60 section 5), one per file, and which name means which.
//!
//! `filter_quota_enforcement` is not among them: it needs commitments and project quotas, which the capacity view
//! does not hold, and in the shipped configuration it removes no host. The compiled-in pipelines leave it out.

mod aggregate_metadata;
mod allowed_projects;
mod capabilities;
mod correct_az;
mod exclude_hosts;
mod external_customer;
mod has_accelerators;
mod has_enough_capacity;
mod has_requested_traits;
mod host_instructions;
mod image_properties;
mod instance_group_affinity;
mod instance_group_anti_affinity;
mod live_migratable;
mod requested_destination;
mod status_conditions;

use super::{Filter, StepFault};
use crate::{
    FilterName, Intent,
    params::{self, NoParams, Param},
};

/// The intents for which fail-over reservations are managed and capacity is probed: rules that bind VMs to images,
/// projects or groups do not apply to them (document 60 section 4.1).
const NOT_A_VM: [Intent; 3] = [Intent::ReserveForFailover, Intent::ReuseFailoverReservation, Intent::CapacityProbe];
/// The same and slot placement.
const NOT_A_VM_OR_SLOT: [Intent; 4] = [
    Intent::ReserveForFailover,
    Intent::ReuseFailoverReservation,
    Intent::ReserveForCommittedResource,
    Intent::CapacityProbe,
];

const fn name(step: &'static str, short: &'static str) -> FilterName {
    FilterName { step, short }
}

/// The filter of that name; `None` when it is unknown, an error when its parameters are wrong.
pub(crate) fn load(name: &str, params: &[Param]) -> Option<Result<Box<dyn Filter>, StepFault>> {
    let plain: Box<dyn Filter> = match name {
        "filter_external_customer" => return Some(external_customer::load(params)),
        "filter_has_enough_capacity" => return Some(has_enough_capacity::load(params)),
        "filter_exclude_hosts" => return Some(exclude_hosts::load(params)),
        "filter_status_conditions" => Box::new(status_conditions::StatusConditions),
        "filter_correct_az" => Box::new(correct_az::CorrectAz),
        "filter_host_instructions" => Box::new(host_instructions::HostInstructions),
        "filter_image_properties" => Box::new(image_properties::ImageProperties),
        "filter_capabilities" => Box::new(capabilities::Capabilities),
        "filter_has_requested_traits" => Box::new(has_requested_traits::HasRequestedTraits),
        "filter_has_accelerators" => Box::new(has_accelerators::HasAccelerators),
        "filter_instance_group_affinity" => Box::new(instance_group_affinity::InstanceGroupAffinity),
        "filter_instance_group_anti_affinity" => Box::new(instance_group_anti_affinity::InstanceGroupAntiAffinity),
        "filter_allowed_projects" => Box::new(allowed_projects::AllowedProjects),
        "filter_aggregate_metadata" => Box::new(aggregate_metadata::AggregateMetadata),
        "filter_live_migratable" => Box::new(live_migratable::LiveMigratable),
        "filter_requested_destination" => Box::new(requested_destination::RequestedDestination),
        _ => return None,
    };
    Some(params::decode::<NoParams>(params).map(|NoParams {}| plain))
}
