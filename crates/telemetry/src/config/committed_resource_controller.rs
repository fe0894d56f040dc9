//! `committedResourceController`: keeping as many slots as a commitment wants (document 11 section 5.3).

use std::time::Duration;

use super::{
    duration,
    section::{Section, Zero},
};

const RETRY: &str = "First delay before a commitment is tried again; it doubles, to at most 64 times this.";
const LONGEST: &str = "Longest delay before a commitment is tried again.";
const DELAY: &str =
    "Pause between the creation of two slots of one commitment, only with an external scheduler; 0 = none.";
const SLOTS: &str = "Largest number of slots created in one look for a commitment that may be rejected; 0 = no limit.";
const PRE_ALLOCATION: &str = "Put running VMs of the project that belong to no commitment into slots first. Needs \
                              `datasourceName`.";

/// Settings of the controller of commitments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedResourceController {
    /// `requeueIntervalRetry`: first delay before a commitment is tried again; it doubles up to 64 times this.
    pub requeue_interval_retry: Duration,
    /// `maxRequeueInterval`: cap of that delay.
    pub max_requeue_interval: Duration,
    /// `slotCreationDelay`: pause between two slots of a commitment; zero is off. Acts only with an external scheduler
    /// (decision U1).
    pub slot_creation_delay: Duration,
    /// `maxSlotsPerCommitment`: how many slots one look may create when the commitment may be rejected; `None` is off.
    pub max_slots_per_commitment: Option<u32>,
    /// `enablePaygPreAllocation`: whether running VMs of the project are put into slots first.
    pub enable_payg_pre_allocation: bool,
}

impl CommittedResourceController {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let (half_a_minute, half_an_hour) = (Duration::from_secs(30), Duration::from_secs(1800));
        let slots = |s: &mut Section<'_>| s.integer("maxSlotsPerCommitment", 0, 0..=i64::from(u32::MAX), SLOTS);
        let this = Self {
            requeue_interval_retry: s.duration("requeueIntervalRetry", half_a_minute, Zero::Invalid, RETRY),
            max_requeue_interval: s.duration("maxRequeueInterval", half_an_hour, Zero::Invalid, LONGEST),
            slot_creation_delay: s.duration("slotCreationDelay", Duration::ZERO, Zero::Off, DELAY),
            max_slots_per_commitment: u32::try_from(slots(s)).ok().filter(|limit| *limit > 0),
            enable_payg_pre_allocation: s.flag("enablePaygPreAllocation", false, PRE_ALLOCATION),
        };
        this.check(s);
        this
    }

    fn check(&self, s: &mut Section<'_>) {
        if s.is_sound() && self.requeue_interval_retry > self.max_requeue_interval {
            let text = format!(
                "{} is longer than maxRequeueInterval ({}); shorten the one or raise the other",
                duration::format(self.requeue_interval_retry),
                duration::format(self.max_requeue_interval)
            );
            s.error("requeueIntervalRetry", text);
        }
    }
}
