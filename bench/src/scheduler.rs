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

use crate::{Size, error::Error, table::Row};

/// Hosts of the cloud that most figures are of.
const HOSTS: usize = 2_000;
/// Reservations on each host at the start.
const PER_HOST: usize = 10;

/// Measures and prints everything, or in short the decisions of one process alone.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let row = in_process::measure(size.pick(20_000, 4_000)).await?;
    if size.is_full() {
        growth::measure().await?;
        http::measure().await?;
    }
    Ok(row)
}
