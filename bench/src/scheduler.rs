//! How fast the scheduler decides (document 60 section 13). What is measured is in one file each; each returns lines for
//! people.

mod cloud;
mod growth;
mod http;
mod in_process;
mod nova;
mod reference;
mod socket;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// Measures and prints everything, or in short the decisions of one process alone.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let row = in_process::measure(size.pick(20_000, 4_000)).await?;
    if size.is_full() {
        growth::measure().await?;
        http::measure().await?;
    }
    Ok(row)
}
