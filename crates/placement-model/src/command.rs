//! Everything that changes something, as values. It decides what a write is about; whether it may happen is decided by
//! [`crate::decide`], whether its body is well-formed by the protocol.
//!
//! Fields that differ between microversions are already resolved: a command does not know the version that it came with.

use crate::{ClassName, Inventory, Key, TraitName};

/// One write request. Amounts are in the unit of the class, at least 1.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant names the section that has its fields")]
pub enum Command {
    /// POST `/resource_providers`; section 4.1.
    CreateProvider { uuid: Key, name: String, parent: Option<Key> },
    /// PUT `/resource_providers/{uuid}`; section 4.2. `reparents` from 1.37.
    UpdateProvider { uuid: Key, name: String, parent: Parent, reparents: bool },
    /// DELETE `/resource_providers/{uuid}`; section 4.2.
    DeleteProvider { uuid: Key },
    /// POST inventories; section 5.
    AddInventory { provider: Key, class: ClassName, inventory: Inventory, reserved: ReservedRule },
    /// PUT all inventories, each class once, in the order of the request; section 5.
    SetInventories { provider: Key, generation: i64, inventories: Vec<(ClassName, Inventory)>, reserved: ReservedRule },
    /// PUT one inventory; section 5.
    SetInventory { provider: Key, generation: i64, class: ClassName, inventory: Inventory, reserved: ReservedRule },
    /// DELETE one inventory; section 5.
    DeleteInventory { provider: Key, class: ClassName },
    /// DELETE all inventories; section 5.
    DeleteInventories { provider: Key },
    /// PUT aggregates as sent; section 8. Without a generation (before 1.19) none is checked or raised.
    SetAggregates { provider: Key, generation: Option<i64>, aggregates: Vec<String> },
    /// PUT traits of a provider; section 7.
    SetTraits { provider: Key, generation: i64, traits: Vec<TraitName> },
    /// DELETE traits of a provider; section 7.
    DeleteTraits { provider: Key },
    /// PUT `/traits/{name}`; section 7.
    EnsureTrait { name: TraitName },
    /// DELETE `/traits/{name}`; section 7.
    DeleteTrait { name: TraitName },
    /// POST `/resource_classes`; section 6.
    CreateClass { name: ClassName },
    /// PUT `/resource_classes/{name}` from 1.7; section 6.
    EnsureClass { name: ClassName },
    /// PUT `/resource_classes/{name}` before 1.7; section 6.
    RenameClass { from: ClassName, to: ClassName },
    /// DELETE `/resource_classes/{name}`; section 6.
    DeleteClass { name: ClassName },
    /// PUT `/allocations/{consumer}`; section 9.
    SetAllocations(ConsumerWrite),
    /// POST `/allocations`, consumers in the order of the request; section 9.
    SetManyAllocations(Vec<ConsumerWrite>),
    /// DELETE `/allocations/{consumer}`; section 9.5.
    DeleteAllocations { consumer: Key },
    /// POST `/reshaper`; section 11.
    Reshape { inventories: Vec<NewInventories>, allocations: Vec<ConsumerWrite> },
}

impl Command {
    /// The one provider that it names, if it is about one.
    pub fn subject(&self) -> Option<&Key> {
        match self {
            Self::CreateProvider { uuid, .. } | Self::UpdateProvider { uuid, .. } => Some(uuid),
            Self::AddInventory { provider, .. }
            | Self::SetInventories { provider, .. }
            | Self::SetInventory { provider, .. }
            | Self::DeleteInventory { provider, .. }
            | Self::DeleteInventories { provider }
            | Self::SetAggregates { provider, .. }
            | Self::SetTraits { provider, .. }
            | Self::DeleteTraits { provider } => Some(provider),
            _ => None,
        }
    }
}

/// What becomes of the parent of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// It stays (absent, or before 1.14).
    Unchanged,
    /// It becomes this; `None` makes it a root.
    Set(Option<Key>),
}

/// Whether everything may be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedRule {
    /// Before 1.26: something must be left.
    BelowTotal,
    /// From 1.26.
    UpToTotal,
}

/// Project and user of consumers whose owner no request has named: all before 1.8.
pub const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// What one consumer is to have afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerWrite {
    /// Whose allocations these are.
    pub consumer: Key,
    /// As sent, else (before 1.8) [`NOBODY`].
    pub project: String,
    /// As sent, else (before 1.8) [`NOBODY`].
    pub user: String,
    /// Sent from 1.38 on; `None` leaves the type as it is, and unset for a new consumer.
    pub kind: Option<String>,
    /// What the consumer must be like.
    pub generation: ConsumerGuard,
    /// Providers in the order of the request, each once, with amounts in the order of the request. Empty: it gives up all.
    pub allocations: Vec<(Key, Vec<(ClassName, u64)>)>,
}

/// What a write expects of the generation of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerGuard {
    /// Before 1.28 nothing.
    Unchecked,
    /// From 1.28: this generation; `None` (null) means that there is no such consumer.
    Expected(Option<i64>),
}

/// The inventories of one provider after a reshape.
#[derive(Debug, Clone, PartialEq)]
pub struct NewInventories {
    /// Whose.
    pub provider: Key,
    /// What its generation must be.
    pub generation: i64,
    /// Each class once, in the order of the request.
    pub inventories: Vec<(ClassName, Inventory)>,
}
