//! The requirements of types that are stored and written.

use std::fmt::Debug;

use kube::Resource;
use kube::core::ClusterResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A cluster scoped kind that is read, watched and written as a typed object.
pub trait Kind:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The name of the kind, for example `Reservation`, for logs, texts and metrics.
pub fn kind_name<K: Kind>() -> String {
    K::kind(&()).into_owned()
}
