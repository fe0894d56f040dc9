//! From objects to the facts of the domain: the border where texts become numbers and names become types.
//!
//! Old objects may hold what admission refuses today; reading never fails. What cannot be read as a number counts as
//! nothing, except on a host, where it makes the host unusable and says why.

mod capacity;
mod commitment;
mod host;
mod reservation;
mod slot;
mod values;

pub use capacity::{NoTotal, total_cores};
pub use commitment::{accepted_spec, spec, spec_of};
pub use host::host;
pub use reservation::reservation;
pub use slot::{slot, slot_beside};
pub use values::{resource_map, size};

#[cfg(test)]
mod tests;
