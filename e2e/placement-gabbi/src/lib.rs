//! OpenStack Placement's own gabbi suite, from its package on `PyPI`, run over HTTP against any server that has the
//! flags of `berth placement`.
//!
//! [`Toolbox`] creates the Python environment, [`Description`] has the content of the suite, [`run`] runs it with a
//! fresh [`Server`] for each file, and [`Report`] evaluates the results. gabbi reads the tests, in `python/worker.py`,
//! which also creates their data over HTTP.

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

/// The number of tests in the suite of the pinned version.
pub const TESTS: usize = 1316;
