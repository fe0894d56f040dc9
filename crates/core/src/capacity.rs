//! The capacity of flavor groups in a zone: what fits on its hosts.

mod least_key;
mod slots;
mod split;
mod zone;

pub use slots::{free_capacity, slots, times, total_capacity};
pub use split::{SharingGroup, Split, split};
pub use zone::{FlavorSlots, GroupCapacity, ProbedFlavor, ProbedGroup, ProbedHost, zone_capacity};
