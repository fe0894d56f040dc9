//! Where the leader answers, for programs that do not take part in the election.

use k8s_openapi::api::coordination::v1::Lease;

use super::Leader;
use super::object::{address, record};
use crate::{Clusters, Single, WriteError};

/// The holder of the Lease `name` of the home cluster, in our own namespace or in another one that we may read; `None`
/// if there is no such Lease or no process holds it.
pub async fn published_leader(clusters: &Clusters, name: &str) -> Result<Option<Leader>, WriteError> {
    let (single, unsearched) = Single::<Lease>::find(clusters, name).await;
    let lease = single.read().await?;
    single.or_unsearched(unsearched)?;
    Ok(lease.and_then(|lease| leader(&lease)))
}

fn leader(lease: &Lease) -> Option<Leader> {
    Some(Leader { identity: record(lease).holder?, address: address(lease).map(str::to_owned) })
}
