//! What a type must offer to be kept in a store and written: the custom resource types of `berth-crds` do, and so does
//! any other cluster scoped resource with typed fields.

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

/// The name of the kind as people know it, for example `Reservation`: in logs, texts and metrics.
pub fn kind_name<K: Kind>() -> String {
    K::kind(&()).into_owned()
}
