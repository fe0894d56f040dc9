//! Requests and answers as they travel. It decides what a body means and what is wrong with it; what is answered is
//! decided by the scheduler, and with which status by the server.

mod answer;
mod fill;
mod incoming;
mod malformed;
mod members;
mod outgoing;
#[cfg(test)]
mod tests;
mod values;

pub use answer::{decode_answer, encode_answer};
pub use incoming::{Incoming, decode};
pub use malformed::Malformed;
pub(crate) use malformed::one_line;
pub use outgoing::{Ids, encode};

/// The path of the endpoint; with a slash at its end it does not exist.
pub const PATH: &str = "/scheduler/nova/external";
