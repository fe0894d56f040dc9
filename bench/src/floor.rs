//! The operator beside a client that only writes what has to be written (rows a and b of docs/performance.md): both do the
//! same for the same commitments, in turn, each on a control plane of its own.

mod bare;
pub mod many;
pub mod one;
pub mod watching;

use crate::{
    Size,
    cloud::{self, Pattern},
    error::Error,
    fill::{all, create, flavor_groups, pattern},
    plane::Plane,
    table::Row,
};

/// Rows a and b.
pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    Ok(vec![many::measure(size).await?, one::measure(size).await?])
}

/// What the operator makes of a commitment of so many slots.
async fn learned(slots: usize) -> Result<Pattern, Error> {
    let plane = with_hosts(1).await?;
    let made = pattern(&plane, slots).await?;
    plane.stop().await?;
    Ok(made)
}

/// A control plane with so many hosts in three zones, and nothing promised on them yet.
pub async fn with_hosts(hosts: usize) -> Result<Plane, Error> {
    let plane = Plane::start().await?;
    flavor_groups(plane.admin()).await?;
    all(0..hosts, async |number| create(plane.admin(), &cloud::host_in(number, number)).await.map(drop)).await?;
    Ok(plane)
}
