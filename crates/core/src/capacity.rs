//! The capacity of flavor groups in a zone: what fits on its hosts, what runs, and what slots hold.

mod committed;
mod least_host;
mod occupied;
mod reserved;
mod running;
mod slots;
mod split;
mod zone;

pub use committed::committed_slots;
pub use occupied::{Occupied, OccupiedByPlace};
pub use reserved::{HeldSlot, held_slots, reserved};
pub use running::{KnownVm, running};
pub use slots::{free_capacity, slots, times, total_capacity};
pub use split::{SharingGroup, Split, split};
pub use zone::{FlavorSlots, GroupCapacity, ProbedFlavor, ProbedGroup, ProbedHost, ZoneCapacity, zone_capacity};
