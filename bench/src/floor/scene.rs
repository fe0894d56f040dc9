//! What operator and floor find, and what the floor has to write.

use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::fill::{all, create, flavor_groups, pattern};
use crate::plane::Plane;

/// What the operator makes of a commitment of so many slots.
pub async fn learned(slots: usize) -> Result<Pattern, Error> {
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
