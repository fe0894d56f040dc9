//! The initial objects that operator and floor find, and the pattern for the floor.

use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::fill::{all, create, flavor_groups, pattern};
use crate::plane::Plane;

/// The objects that the operator writes for a commitment of `slots` slots.
pub async fn learned(slots: usize) -> Result<Pattern, Error> {
    let plane = with_hosts(1).await?;
    let made = pattern(&plane, slots).await?;
    plane.stop().await?;
    Ok(made)
}

/// A control plane with empty hosts in three zones.
pub async fn with_hosts(hosts: usize) -> Result<Plane, Error> {
    let plane = Plane::start().await?;
    flavor_groups(plane.admin()).await?;
    all(0..hosts, async |number| create(plane.admin(), &cloud::host_in(number, number)).await.map(drop)).await?;
    Ok(plane)
}
