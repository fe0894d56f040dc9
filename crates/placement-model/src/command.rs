//! All writes as values. [`crate::decide`] decides whether a write may happen.
//!
//! Differences between microversions are already resolved: a command does not know the version that it came with.

use crate::{ClassName, Inventory, Key, TraitName};

/// One write request. Amounts are in the unit of the class, at least 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// POST `/resource_providers`.
    CreateProvider { uuid: Key, name: String, parent: Option<Key> },
    /// PUT `/resource_providers/{uuid}`. `reparents` from 1.37.
    UpdateProvider { uuid: Key, name: String, parent: Parent, reparents: bool },
    /// DELETE `/resource_providers/{uuid}`.
    DeleteProvider { uuid: Key },
    /// POST inventories.
    AddInventory { provider: Key, class: ClassName, inventory: Inventory, reserved: ReservedRule },
    /// PUT all inventories, each class once, in the order of the request.
    SetInventories { provider: Key, generation: i64, inventories: Vec<(ClassName, Inventory)>, reserved: ReservedRule },
    /// PUT one inventory.
    SetInventory { provider: Key, generation: i64, class: ClassName, inventory: Inventory, reserved: ReservedRule },
    /// DELETE one inventory.
    DeleteInventory { provider: Key, class: ClassName },
    /// DELETE all inventories.
    DeleteInventories { provider: Key },
    /// PUT aggregates as sent. Without a generation (before 1.19) none is checked or raised.
    SetAggregates { provider: Key, generation: Option<i64>, aggregates: Vec<String> },
    /// PUT traits of a provider.
    SetTraits { provider: Key, generation: i64, traits: Vec<TraitName> },
    /// DELETE traits of a provider.
    DeleteTraits { provider: Key },
    /// PUT `/traits/{name}`.
    EnsureTrait { name: TraitName },
    /// DELETE `/traits/{name}`.
    DeleteTrait { name: TraitName },
    /// POST `/resource_classes`.
    CreateClass { name: ClassName },
    /// PUT `/resource_classes/{name}` from 1.7.
    EnsureClass { name: ClassName },
    /// PUT `/resource_classes/{name}` before 1.7.
    RenameClass { from: ClassName, to: ClassName },
    /// DELETE `/resource_classes/{name}`.
    DeleteClass { name: ClassName },
    /// PUT `/allocations/{consumer}`.
    SetAllocations(ConsumerWrite),
    /// POST `/allocations`, consumers in the order of the request.
    SetManyAllocations(Vec<ConsumerWrite>),
    /// DELETE `/allocations/{consumer}`.
    DeleteAllocations { consumer: Key },
    /// POST `/reshaper`.
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

/// The change of the parent of a provider.
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
pub const UNKNOWN_OWNER: &str = "00000000-0000-0000-0000-000000000000";

/// The allocations of one consumer after the write.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerWrite {
    pub consumer: Key,
    /// As sent, else (before 1.8) [`UNKNOWN_OWNER`].
    pub project: String,
    /// As sent, else (before 1.8) [`UNKNOWN_OWNER`].
    pub user: String,
    /// Sent from 1.38 on; `None` leaves the type as it is, and unset for a new consumer.
    pub kind: Option<String>,
    /// The required state of the consumer.
    pub generation: ConsumerGuard,
    /// Providers in the order of the request, each once, with amounts in the order of the request. Empty: it gives up all.
    pub allocations: Vec<(Key, Vec<(ClassName, u64)>)>,
}

/// The expected generation of a consumer.
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
    pub provider: Key,
    /// The required generation.
    pub generation: i64,
    /// Each class once, in the order of the request.
    pub inventories: Vec<(ClassName, Inventory)>,
}
