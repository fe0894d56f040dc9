//! Keys of resource maps. They differ between fields and are part of the API, so there is no shared "CPU".

/// Memory in bytes, in every resource map.
pub const MEMORY: &str = "memory";

/// CPU cores in Hypervisor capacities, `spec.overcommit`, sizes of Reservations and allocations, and
/// `status.usedResources` of a CommittedResource.
pub const CPU: &str = "cpu";

/// CPU cores in the maps of a FlavorGroupCapacity.
pub const CORES: &str = "cores";
