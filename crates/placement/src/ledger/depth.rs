//! How much of a provider a command needs. Claims need neither traits nor aggregates, and their custom classes need no
//! lock, because a class with an inventory cannot be deleted.

use berth_placement_model::Command;

/// The properties of providers that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Amounts,
    Whole,
}

impl Depth {
    pub const fn of(command: &Command) -> Self {
        match command {
            Command::SetAllocations(_) | Command::SetManyAllocations(_) | Command::DeleteAllocations { .. } => {
                Self::Amounts
            }
            _ => Self::Whole,
        }
    }
}
