//! Converts objects into domain values: texts become numbers and names become types.
//!
//! Old objects may have values that admission refuses today, so reading never fails. A value that is not a number
//! counts as 0, except on a host, which becomes unusable with a reason.

mod capacity;
mod change;
mod commitment;
mod given_up;
mod host;
mod reservation;
mod slot;
mod values;

pub use capacity::{NoAmount, NoTotal, is_up_to_date, lacks_running_units, place_capacity, total_cores};
pub use change::{accepted_spec_before, former_slot, is_open, members, spec_after, spec_before};
pub use commitment::{accepted_spec, is_duplicate, spec, spec_of, superseded_spec, written_spec};
pub use given_up::given_up_clusters;
pub use host::host;
pub use reservation::reservation;
pub use slot::{slot, slot_beside};
pub use values::{resource_map, size};

#[cfg(test)]
mod tests;
