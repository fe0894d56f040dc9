//! How fast the scheduler decides (document 60 section 13). What is measured is in one file each; each returns lines for
//! people.

mod chance;
mod cloud;
mod growth;
mod http;
mod in_process;
mod nova;
mod reference;
mod socket;
mod times;

use crate::error::Error;

/// Hosts of the cloud that most figures are of.
const HOSTS: usize = 2_000;
/// Reservations on each host at the start.
const PER_HOST: usize = 10;

/// Measures and prints everything.
pub async fn measure() -> Result<(), Error> {
    in_process::measure().await?;
    growth::measure().await?;
    http::measure().await
}
