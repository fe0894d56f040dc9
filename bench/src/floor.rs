//! The operator beside a client that only writes what has to be written (rows a and b of docs/performance.md): both do the
//! same for the same commitments, in turn, each on a control plane of its own.

mod bare;
pub mod many;
pub mod one;
pub mod scene;
pub mod watching;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// Rows a and b.
pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![many::measure(size).await?, one::measure(size).await?])
}
