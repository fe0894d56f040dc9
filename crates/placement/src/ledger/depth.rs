//! How much of a provider a command needs to know. It decides that claims need neither traits nor aggregates, and that their
//! custom classes need no lock: a class that a locked provider has an inventory of cannot go.

use berth_placement_model::Command;

/// What is read of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The provider and its inventories.
    Amounts,
    /// Traits and aggregates too.
    Whole,
}

impl Depth {
    /// What `command` needs.
    pub const fn of(command: &Command) -> Self {
        match command {
            Command::SetAllocations(_) | Command::SetManyAllocations(_) | Command::DeleteAllocations { .. } => {
                Self::Amounts
            }
            _ => Self::Whole,
        }
    }
}
