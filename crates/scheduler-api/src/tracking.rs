//! VMs in slots: whether a VM may use a slot of its project, and writing what the scheduler has booked. Which slot it
//! is, is decided in `berth_scheduler`; whether the VM really comes, is watched by the controller of slots.

mod allocations;
mod bookings;
mod guest;
mod metrics;
#[cfg(test)]
mod tests;

pub use allocations::{Edit, enter, leave};
pub use bookings::{BookingParts, Bookings, GiveBack};
pub use guest::{Guests, guest};
pub use metrics::BookingMetrics;
