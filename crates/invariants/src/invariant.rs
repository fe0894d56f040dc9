//! The names of the invariants, and their violations.

use std::fmt;

use strum::{Display, IntoStaticStr, VariantArray};

use crate::Key;

/// The invariants. Those down to [`Invariant::CoresOversold`] hold after every write, those from
/// [`Invariant::SlotOnGoneHost`] on are about time ([`crate::Overdue`], `testing::Disturbances`), those from
/// [`Invariant::UsageSum`] on need the VMs or quotas (`testing::broken_usage`, `testing::broken_payg`), the others hold at
/// rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Invariant {
    /// A slot belongs to a commitment that exists and is served. A slot that is not marked as made by us is old data
    /// and checked at rest only.
    SlotOrphaned,
    /// A served commitment with slots carries the finalizer that releases them.
    FinalizerMissing,
    /// No host holds more than it has: capacity without VMs and blocks.
    HostOverbooked,
    /// A slot is on a host of its own zone.
    SlotInWrongZone,
    /// A slot that we made is called after the commitment that it was made for and its number.
    SlotName,
    /// A VM is confirmed in one slot of a host only.
    VmInTwoSlots,
    /// At most one change of a zone is under way: pending, being applied or being undone. One that cannot be undone lets
    /// others proceed.
    ZoneChangedTwice,
    /// A change that ends as accepted is applied to all its commitments, and one that was undone to none. It is checked at
    /// the write that ends the change, because later changes are legal.
    ChangeHalfDone,
    /// A change that was undone has taken no capacity from its commitments, checked like [`Invariant::ChangeHalfDone`].
    CapacityLost,
    /// The version of the published info never goes back, and one version has one content.
    InfoVersion,
    /// No more cores of a flavor group in a zone are accepted than there are, unless there are fewer than there were or
    /// another client brought back what had been given up.
    CoresOversold,
    /// No two slots of a commitment have the same number, also not in two clusters. A creation that is still under way
    /// when its process crashes may lead to that for a moment.
    SlotNumberTwice,
    /// One object is served for a UUID, over all clusters.
    ServedTwice,
    /// An object has `DuplicateUUID` exactly if another one is served in its place.
    DuplicateUntrue,
    CommitmentSilent,
    /// A commitment that is deleted goes when its slots have gone.
    CommitmentLeftOver,
    /// The condition of a commitment is about its present generation.
    ConditionOutdated,
    /// A commitment is Ready exactly when its reason is `Accepted`.
    ReadyUntrue,
    /// The summary of a commitment begins with its reason.
    SummaryUntrue,
    /// The slots of a commitment are exactly what is wanted, or what was accepted before it was refused, in MiB.
    SlotSum,
    /// A slot names its owner in all places.
    SlotIdentity,
    /// A slot carries the annotation of those that we made. Slots of old data lack it, so that a watch over a real
    /// cloud leaves this invariant out.
    SlotUnmarked,
    /// A commitment that is `Accepted` was accepted as it is now.
    AcceptedSpec,
    /// A commitment is `Accepted` only in a state that holds slots.
    AcceptedState,
    /// A slot of an accepted commitment is Ready and in force on its target.
    SlotNotInForce,
    /// A slot is Ready only where it is in force.
    SlotReadyUntrue,
    CoresIdle,
    /// The status of a slot in force names every VM that it expects and that its host lists, with that host; of several
    /// such slots that of the first.
    VmUnconfirmed,
    /// The status of a slot in force names only VMs that it expects and that its host lists.
    VmConfirmedUntrue,
    /// A VM counts in at most one commitment of memory.
    VmInTwoCommitments,
    /// A slot leaves a host that no longer exists after its grace period.
    SlotOnGoneHost,
    /// A slot without VMs leaves a host that was given another zone; one with VMs stays and is reported.
    SlotOnRelabelledHost,
    /// A slot that Berth created is deleted when its commitment has been gone for longer than its grace period.
    OrphanStays,
    /// Not more slots of a zone than the disruption limit allows are deleted or lose their host within ten minutes
    /// although no user asked for it.
    DisturbedTooMany,
    /// The usage of a commitment is the sum over the VMs that it lists.
    UsageSum,
    /// Not more is used of a commitment than was accepted.
    UsageAboveAccepted,
    /// A commitment that has ended has no usage.
    UsageAfterEnd,
    /// The usage of a commitment is that of an assignment from scratch.
    UsageUntrue,
    /// The usage report of a project has the same VMs in a commitment as its object, with the same declared memory.
    UsageReportDiffers,
    /// The usage of quota that no commitment pays for is the usage of all VMs, for RAM without what commitments pay for.
    PaygSum,
    /// What runs, is held and is free of all flavor groups of a zone is at most what its hosts have.
    CapacityAboveHosts,
    /// The VMs of a flavor group that count as running are those that usage reports have, as far as hosts list them.
    RunningDiffers,
    /// No capacity is ready beyond its maximum age.
    CapacityTooOld,
}

impl Invariant {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The value of the label `invariant` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An invariant that is broken by an object. There is at most one for each invariant and object, so these two are its
/// identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    pub invariant: Invariant,
    pub object: Key,
    pub text: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, object: &Key, text: impl Into<String>) -> Self {
        Self { invariant, object: object.clone(), text: text.into() }
    }
}

/// `<cluster>/<name>: <text> (<invariant>)`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.object, self.text, self.invariant)
    }
}
