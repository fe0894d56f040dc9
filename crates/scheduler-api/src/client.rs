//! The client of the scheduler API: an external scheduler behaves like the one in this process.

mod chosen;
mod external;
mod failure;
mod own;
#[cfg(test)]
mod tests;

pub use chosen::Chosen;
pub use external::External;
pub use own::is_loopback_own;
