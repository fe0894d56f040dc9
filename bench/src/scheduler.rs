//! Measures how fast the scheduler decides. Each file measures one thing and returns lines to print.

mod cloud;
mod growth;
mod http;
mod in_process;
mod nova;
pub mod quota;
mod reference;
mod socket;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// Measures and prints everything, or in the quick mode only the decisions of one process.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let row = in_process::measure(size.pick(20_000, 4_000)).await?;
    if size.is_full() {
        growth::measure().await?;
        http::measure().await?;
    }
    Ok(row)
}
