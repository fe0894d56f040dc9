//! OpenStack Placement's own gabbi suite, from its package on `PyPI`, run over HTTP against any server that has the flags
//! of `berth placement`.
//!
//! [`Toolbox`] makes the Python environment, [`Description`] knows what there is to run, [`run`] runs it with a fresh
//! [`Server`] for each file, and [`Report`] says what the results mean. The tests themselves are read by gabbi, in
//! `python/worker.py`; the data that they find are made there as well, over HTTP.

mod contradictions;
mod database;
mod description;
mod error;
mod report;
mod server;
mod settings;
mod suite;
mod toolbox;
mod worker;

pub use contradictions::Contradictions;
pub use database::{Cluster, Database};
pub use description::{Description, File};
pub use error::Error;
pub use report::Report;
pub use server::Server;
pub use suite::run;
pub use toolbox::Toolbox;
pub use worker::{Outcome, Tested};

/// How many tests the suite of the pinned version has.
pub const TESTS: usize = 1316;
