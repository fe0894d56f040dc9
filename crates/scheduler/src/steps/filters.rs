//! The filters, one per file, and which name means which.

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
mod quota_enforcement;
mod requested_destination;
mod status_conditions;

use super::{Filter, LoadError, Made};
use crate::params::{self, NoParams, Param};

/// A filter that pipelines can name.
pub(crate) struct FilterKind {
    pub(crate) name: &'static str,
    /// What it keeps or removes, for docs/scheduler.md.
    pub(crate) does: &'static str,
    /// Its parameters and their types, for docs/scheduler.md.
    pub(crate) parameters: &'static str,
    load: Load,
}

#[derive(Clone, Copy)]
enum Load {
    Plain(fn() -> Box<dyn Filter>),
    With(fn(&[Param]) -> Made<dyn Filter>),
}

const fn plain(name: &'static str, does: &'static str, make: fn() -> Box<dyn Filter>) -> FilterKind {
    FilterKind { name, does, parameters: "", load: Load::Plain(make) }
}

/// All filters: another one is its file and its line here.
pub(crate) const ALL: [FilterKind; 17] = [
    plain("filter_status_conditions", "keeps hosts whose conditions let VMs be placed", || {
        Box::new(status_conditions::StatusConditions)
    }),
    plain("filter_correct_az", "keeps hosts of the wanted zone; a host without a zone is in none", || {
        Box::new(correct_az::CorrectAz)
    }),
    plain("filter_host_instructions", "removes `ignore_hosts`, and keeps `force_hosts` if there are any", || {
        Box::new(host_instructions::HostInstructions)
    }),
    plain("filter_image_properties", "keeps KVM hosts away from images that are made for another hypervisor", || {
        Box::new(image_properties::ImageProperties)
    }),
    plain(
        "filter_capabilities",
        "keeps hosts with the type of hypervisor and the architecture that the flavor asks for",
        || Box::new(capabilities::Capabilities),
    ),
    plain("filter_has_requested_traits", "keeps hosts with the required traits and without the forbidden ones", || {
        Box::new(has_requested_traits::HasRequestedTraits)
    }),
    plain("filter_has_accelerators", "keeps hosts with accelerators when the flavor has a device profile", || {
        Box::new(has_accelerators::HasAccelerators)
    }),
    plain(
        "filter_instance_group_affinity",
        "keeps a server group with policy `affinity` on the hosts that it is on",
        || Box::new(instance_group_affinity::InstanceGroupAffinity),
    ),
    plain(
        "filter_instance_group_anti_affinity",
        "keeps the VMs of a server group with policy `anti-affinity` apart",
        || Box::new(instance_group_anti_affinity::InstanceGroupAntiAffinity),
    ),
    plain("filter_allowed_projects", "keeps hosts whose `allowedProjects` admit the project", || {
        Box::new(allowed_projects::AllowedProjects)
    }),
    plain("filter_aggregate_metadata", "keeps hosts whose aggregates admit the project", || {
        Box::new(aggregate_metadata::AggregateMetadata)
    }),
    plain("filter_live_migratable", "keeps hosts that can take over a running VM from its source", || {
        Box::new(live_migratable::LiveMigratable)
    }),
    plain("filter_requested_destination", "keeps the host or the aggregates that the caller asks for", || {
        Box::new(requested_destination::RequestedDestination)
    }),
    FilterKind {
        name: "filter_external_customer",
        does: "keeps VMs of external customers on the hosts that are reserved for them; others may use these hosts too",
        parameters: "`domainNamePrefixes`, `ignoredDomainNames`: lists; the first one must not be empty",
        load: Load::With(external_customer::load),
    },
    FilterKind {
        name: "filter_has_enough_capacity",
        does: "keeps hosts with free capacity for all instances of the request",
        parameters: "`lockReserved`, `ignoreAllocations`: bool; `ignoredReservationTypes`: list",
        load: Load::With(has_enough_capacity::load),
    },
    FilterKind {
        name: "filter_quota_enforcement",
        does: "with `enforce` removes all hosts when a new VM exceeds the quota of its project; without, it only counts",
        parameters: "`enforce`: bool",
        load: Load::With(quota_enforcement::load),
    },
    FilterKind {
        name: "filter_exclude_hosts",
        does: "removes hosts by name",
        parameters: "`excludedHosts`: list",
        load: Load::With(exclude_hosts::load),
    },
];

/// The filter of that name.
pub(crate) fn load(name: &str, params: &[Param]) -> Result<Box<dyn Filter>, LoadError> {
    let made = match ALL.iter().find(|kind| kind.name == name).map(|kind| kind.load) {
        Some(Load::Plain(make)) => params::decode::<NoParams>(params).map(|NoParams {}| make()),
        Some(Load::With(load)) => load(params),
        None if name.starts_with("vmware_") => return Err(LoadError::VmwareFilter),
        None => return Err(LoadError::UnknownFilter),
    };
    made.map_err(LoadError::Filter)
}
