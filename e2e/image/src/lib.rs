//! The image of Berth: its one static binary, the empty root file system in which it runs, and the packages it is made of.

mod empty_root;
mod error;
pub mod licences;
pub mod packages;
mod static_binary;

use std::path::{Path, PathBuf};

pub use empty_root::EmptyRoot;
pub use error::Error;
pub use static_binary::StaticBinary;

/// The root of the checkout.
pub fn checkout() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}
