//! Changes of commitments as Limes requests them (rows j to m and C of docs/performance.md): beside a client that only takes
//! the necessary steps, and in a cloud without free capacity.

mod bare;
pub mod clients;
mod journal;
mod limes;
pub mod quota_push;
pub mod rejections;
pub mod sale;
mod scene;
pub mod split;

use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let mut rows = vec![sale::measure(size).await?];
    rows.extend(rejections::measure(size).await?);
    rows.extend([split::measure(size).await?, clients::measure(size).await?, quota_push::measure(size).await?]);
    Ok(rows)
}
