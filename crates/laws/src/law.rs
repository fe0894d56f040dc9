//! The names of the laws, and what it is to break one.

use std::fmt;

use strum::{Display, IntoStaticStr, VariantArray};

use crate::Key;

/// What must be true. Those down to [`Law::CoresOversold`] hold after every write, those from [`Law::SlotOnGoneHost`] on are
/// about time ([`crate::Overdue`], [`crate::Disturbances`]), the others hold at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Law {
    /// A slot belongs to a commitment that exists and is served (D1, U14, U15). A slot that is not marked as made by us
    /// is old data and judged at rest only (U49).
    SlotOrphaned,
    /// A served commitment with slots carries the finalizer that releases them (D1, U50).
    FinalizerMissing,
    /// No host holds more than it has: capacity without VMs and blocks (document 21 section 9, U5, U35).
    HostOverbooked,
    /// A slot is on a host of its own zone (document 21 section 4, U54).
    SlotInWrongZone,
    /// A slot that we made is called after the commitment that it was made for and its number (document 10 section 10.3,
    /// U43).
    SlotName,
    /// A VM is confirmed in one slot of a host only (U35).
    VmInTwoSlots,
    /// No more cores of a flavor group in a zone are accepted than there are (document 20 section 13, U56), unless there
    /// are fewer than there were or somebody else brought back what had been given up.
    CoresOversold,
    /// No two slots of a commitment have the same number, also not in two clusters (U43, U54). A creation that is still
    /// under way when its process crashes may lead to that for a moment.
    SlotNumberTwice,
    /// One object is served for a UUID, over all clusters (U14).
    ServedTwice,
    /// An object says `DuplicateUUID` exactly when another one is served in its place (U14).
    DuplicateUntrue,
    /// Something is said about every commitment (document 20 section 7).
    CommitmentSilent,
    /// A commitment that is deleted goes when its slots have gone (D1).
    CommitmentLeftOver,
    /// What is said about a commitment is about its present generation (document 20 section 7).
    ConditionOutdated,
    /// A commitment is Ready exactly when its reason is `Accepted` (document 10 section 2.5).
    ReadyUntrue,
    /// The summary of a commitment begins with its reason (document 20 section 11).
    SummaryUntrue,
    /// The slots of a commitment are exactly what is wanted, or what was accepted before it was refused, in MiB (D6,
    /// U41).
    SlotSum,
    /// A slot says whose it is wherever somebody looks for that (document 20 section 12.6).
    SlotIdentity,
    /// A slot carries the annotation of those that we made (U49). Slots of old data lack it, so that a watch over a real
    /// cloud leaves this law out.
    SlotUnmarked,
    /// A commitment that is `Accepted` was accepted as it is now (document 20 section 9).
    AcceptedSpec,
    /// A commitment is `Accepted` only in a state that holds slots (document 20 section 5).
    AcceptedState,
    /// A slot of an accepted commitment is Ready and in force on its target (document 21 section 5).
    SlotNotInForce,
    /// A slot is Ready only where it is in force (document 21 section 5).
    SlotReadyUntrue,
    /// Nobody waits for cores that are there (document 20 section 19 no. 10 e).
    CoresIdle,
    /// The status of a slot in force names every VM that it expects and that its host lists, with that host; of several
    /// such slots that of the first (document 21 section 7, U35).
    VmUnconfirmed,
    /// The status of a slot in force names only VMs that it expects and that its host lists (document 21 section 15 no. 3
    /// and 5).
    VmConfirmedUntrue,
    /// A slot leaves a host that does not exist any more when its grace is over (U36).
    SlotOnGoneHost,
    /// A slot that we made goes when nobody has had its commitment for longer than its grace (U49).
    OrphanStays,
    /// Not more slots of a zone than the brake allows are deleted or lose their host within ten minutes without anybody
    /// having wished it (D14).
    DisturbedTooMany,
}

impl Law {
    /// All laws.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The value of the label `law` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A law that is broken by an object. There is at most one for each law and object, so these two are its identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// Which law.
    pub law: Law,
    /// Which commitment, slot, host or FlavorGroupCapacity.
    pub object: Key,
    /// What is wrong, in words and numbers.
    pub text: String,
}

impl Violation {
    pub(crate) fn new(law: Law, object: &Key, text: impl Into<String>) -> Self {
        Self { law, object: object.clone(), text: text.into() }
    }
}

/// `<cluster>/<name>: <text> (<law>)`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.object, self.text, self.law)
    }
}
