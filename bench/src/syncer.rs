//! The syncer over many projects and commitments (rows o and p of docs/performance.md): a run that finds nothing to do, and
//! one that creates everything. The operator does nothing else meanwhile.

pub mod created;
mod doubles;
mod list_size;
pub mod unchanged;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![unchanged::measure(size).await?, created::measure(size).await?])
}
