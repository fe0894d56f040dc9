//! What the LIQUID API of Limes means for Berth: names and units of its resources, the published service info, and the way from
//! a request to specs of commitments. The server and the periodic synchronization with Limes use the same functions.

pub mod capacity;
pub mod changes;
pub mod conversion;
pub mod info;
pub mod names;
pub mod quota;
pub mod request;
pub mod resources;
pub mod units;
pub mod usage;
pub mod validation;
mod wire;

#[cfg(test)]
mod tests;
