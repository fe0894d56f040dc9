//! Requests and answers as they travel.

mod answer;
mod fill;
mod incoming;
mod invalid_request;
mod members;
mod outgoing;
#[cfg(test)]
mod tests;
mod values;

pub use answer::{decode_answer, encode_answer};
pub use incoming::{Incoming, decode};
pub use invalid_request::Malformed;
pub use outgoing::{Ids, encode};

/// The path of the endpoint; with a slash at its end it does not exist.
pub const PATH: &str = "/scheduler/nova/external";
