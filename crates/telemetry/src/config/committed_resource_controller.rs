//! `committedResourceController`: the controller of commitments.

use std::time::Duration;

use super::duration;
use super::section::{Section, Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of the controller of commitments.
    pub struct CommittedResourceController = read(s) check {
        /// First delay before a commitment is tried again; it doubles, to at most 64 times this.
        requeue_interval_retry: Duration = duration("requeueIntervalRetry", seconds(30), Zero::Invalid),
        /// Longest delay before a commitment is tried again.
        max_requeue_interval: Duration = duration("maxRequeueInterval", seconds(1800), Zero::Invalid),
        /// Pause between the creation of two slots of one commitment, only with an external scheduler; 0 = none.
        slot_creation_delay: Duration = duration("slotCreationDelay", Duration::ZERO, Zero::Off),
        /// Largest number of slots created in one reconciliation for a commitment that may be rejected; 0 = no limit.
        max_slots_per_commitment: Option<u32> = limit("maxSlotsPerCommitment"),
        /// Put running VMs of the project that belong to no commitment into slots first. Needs `datasourceName`.
        enable_payg_pre_allocation: bool = flag("enablePaygPreAllocation", false),
    }
}

impl CommittedResourceController {
    fn check(&self, s: &mut Section<'_>) {
        let keys = ["requeueIntervalRetry", "maxRequeueInterval"];
        if s.are_sound(&keys) && self.requeue_interval_retry > self.max_requeue_interval {
            let text = format!(
                "{} is longer than maxRequeueInterval ({}); shorten the one or raise the other",
                duration::format(self.requeue_interval_retry),
                duration::format(self.max_requeue_interval)
            );
            s.error("requeueIntervalRetry", text);
        }
    }
}
