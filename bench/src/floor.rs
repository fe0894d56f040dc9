//! Compares the operator with a client that only writes what has to be written (rows a and b of docs/performance.md).
//! Both serve the same commitments, in turn, each on its own control plane.

mod bare;
pub mod many;
pub mod one;
pub mod scene;
pub mod watching;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![many::measure(size).await?, one::measure(size).await?])
}
