//! The VMs of the cloud: one immutable snapshot of Nova's servers and flavors per process, read from the database that a
//! Datasource names. What the numbers mean is decided elsewhere.

mod snapshot;
mod source;

pub use snapshot::{Vm, VmRow, VmSnapshot};
pub use source::{SnapshotChange, Unavailable, VmSource};
