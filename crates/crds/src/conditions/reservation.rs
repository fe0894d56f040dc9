//! The condition Ready of a Reservation, in all three variants.

use strum::{IntoStaticStr, VariantArray};

/// Why a Reservation is ready or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
pub enum Reason {
    /// Slot, `False`: it has no flavor.
    MissingResourceName,
    /// Slot, `True`: it was created for VMs that run already.
    PreAllocated,
    /// Slot and failover block, `True`: the block is in force on its host.
    ReservationActive,
    /// Slot, `False`: it lost its host and waits for another.
    PlacementRevoked,
    /// Slot, `False`: there is no host at all.
    NoHostsAvailable,
    /// Slot, `False`: no host has free capacity.
    NoHostsFound,
    /// Slot, `False`: its flavor does not exist. Final for the commitment.
    FlavorNotFound,
    /// Slot, `Unknown`: the flavor groups cannot be read at the moment.
    FlavorDataUnavailable,
    /// Slot, `Unknown`: the scheduler does not answer at the moment.
    SchedulerUnavailable,
    /// Failover block, `False`: its resources have another key than cpu and memory.
    InvalidResources,
    /// In-flight, `False`: it is of another variant.
    UnexpectedType,
    /// In-flight, `False`: the data of the variant is missing.
    MissingSpec,
    /// In-flight, `Unknown`: the VM is on no host yet.
    InstanceNotFound,
    /// In-flight, `Unknown`: the VM does not have its new size yet.
    #[strum(serialize = "VMSizeMismatch")]
    VmSizeMismatch,
    /// In-flight, `Unknown`: it cannot be determined whether the VM has its new size. Only Berth has this reason,
    /// because the reference asks Nova.
    #[strum(serialize = "VMSizeUnknown")]
    VmSizeUnknown,
}

impl Reason {
    /// All reasons.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the text on the wire; none for a reason that is not ours.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
    }
}

/// Message of [`Reason::MissingResourceName`].
pub const NO_RESOURCE_NAME: &str = "reservation has no resource name";

/// Message of [`Reason::PreAllocated`].
pub const PRE_ALLOCATED: &str = "reservation pre-allocated with VM allocations";

/// Message of [`Reason::ReservationActive`] of a slot.
pub const SCHEDULED: &str = "reservation is successfully scheduled";

/// Message of [`Reason::PlacementRevoked`].
pub const HOST_CLEARED: &str = "target host was cleared; pending re-placement";

/// Message of [`Reason::NoHostsAvailable`].
pub const NO_HYPERVISORS: &str = "no hypervisors available for scheduling";

/// Message of [`Reason::NoHostsFound`]; filter counts may follow after a colon.
pub const NO_HOSTS: &str = "no hosts found for reservation";

/// Message of [`Reason::ReservationActive`] of a failover block.
pub const FAILOVER_ACTIVE: &str = "Failover reservation is active and ready";

/// Message of [`Reason::UnexpectedType`].
pub const NOT_IN_FLIGHT: &str = "Expected reservation type to be InFlightReservation";

/// Message of [`Reason::MissingSpec`].
pub const NO_IN_FLIGHT_SPEC: &str = "In-flight reservation spec is required when type is InFlightReservation";

/// Message of [`Reason::InstanceNotFound`].
pub const NOT_SPAWNED: &str = "The instance has not spawned on any hypervisor yet";

/// Message of [`Reason::VmSizeMismatch`].
pub const NOT_RESIZED: &str = "The current VM size does not match the reservation size yet";

/// Message of [`Reason::VmSizeUnknown`].
pub const SIZE_UNKNOWN: &str = "The instance runs on the host, but whether it has its new size cannot be found out";

/// Message of [`Reason::PlacementRevoked`] when the host of a slot has gone.
pub fn host_gone(host: &str) -> String {
    format!("host {host} no longer exists; looking for another")
}

/// Message of [`Reason::InvalidResources`].
pub fn invalid_resource_key(key: &str) -> String {
    format!("invalid resource key \"{key}\": only 'cpu' and 'memory' are allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All reasons of slots and in-flight blocks; reasons and texts are part of the API.
    #[test]
    fn reasons_and_messages() {
        for (reason, word, message, text) in [
            (Reason::MissingResourceName, "MissingResourceName", NO_RESOURCE_NAME, "reservation has no resource name"),
            (
                Reason::PlacementRevoked,
                "PlacementRevoked",
                HOST_CLEARED,
                "target host was cleared; pending re-placement",
            ),
            (Reason::PreAllocated, "PreAllocated", PRE_ALLOCATED, "reservation pre-allocated with VM allocations"),
            (Reason::ReservationActive, "ReservationActive", SCHEDULED, "reservation is successfully scheduled"),
            (Reason::NoHostsAvailable, "NoHostsAvailable", NO_HYPERVISORS, "no hypervisors available for scheduling"),
            (Reason::NoHostsFound, "NoHostsFound", NO_HOSTS, "no hosts found for reservation"),
            (
                Reason::UnexpectedType,
                "UnexpectedType",
                NOT_IN_FLIGHT,
                "Expected reservation type to be InFlightReservation",
            ),
            (
                Reason::MissingSpec,
                "MissingSpec",
                NO_IN_FLIGHT_SPEC,
                "In-flight reservation spec is required when type is InFlightReservation",
            ),
            (
                Reason::InstanceNotFound,
                "InstanceNotFound",
                NOT_SPAWNED,
                "The instance has not spawned on any hypervisor yet",
            ),
            (
                Reason::VmSizeMismatch,
                "VMSizeMismatch",
                NOT_RESIZED,
                "The current VM size does not match the reservation size yet",
            ),
            (
                Reason::ReservationActive,
                "ReservationActive",
                FAILOVER_ACTIVE,
                "Failover reservation is active and ready",
            ),
        ] {
            assert_eq!((reason.as_str(), message), (word, text));
        }
    }

    #[test]
    fn every_reason_reads_back() {
        for reason in Reason::ALL.iter().copied() {
            assert_eq!(Reason::parse(reason.as_str()), Some(reason));
        }
        assert_eq!(Reason::parse("Accepted"), None);
        assert_eq!(Reason::VmSizeMismatch.as_str(), "VMSizeMismatch");
    }

    #[test]
    fn texts_with_names() {
        assert_eq!(host_gone("node1"), "host node1 no longer exists; looking for another");
        assert_eq!(
            invalid_resource_key("vcpus"),
            "invalid resource key \"vcpus\": only 'cpu' and 'memory' are allowed"
        );
    }
}
