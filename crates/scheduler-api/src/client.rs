//! The client of the scheduler API (document 22 section 7): an external scheduler looks like the one in this process
//! (D4).

mod chosen;
mod external;
mod failure;
mod own;
#[cfg(test)]
mod tests;

pub use chosen::Chosen;
pub use external::External;
pub use own::is_loopback_own;
