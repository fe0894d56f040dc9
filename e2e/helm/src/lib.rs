//! The tools of Berth's Helm chart: they are built once, write what the chart takes from other files, and check the chart with many
//! sets of values.

pub mod check;
pub mod checkout;
pub mod conformance;
mod definitions;
mod error;
pub mod generated;
mod manifests;
mod network;
pub mod pods;
pub mod program;
pub mod refused;
pub mod released;
pub mod rendering;
pub mod rights;
mod rules;
pub mod schemas;
mod tools;
pub mod values;

pub use error::Error;
pub use tools::Tools;
