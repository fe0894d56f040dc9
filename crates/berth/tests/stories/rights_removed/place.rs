//! The cluster in which rights are removed: that of the operator, or another one, which has the objects of the usual zone.

use std::ops::Deref;
use std::path::PathBuf;

use kube::Client;
use serde_json::{Value, json};

use crate::support::api_proxy::ApiProxy;
use crate::support::cloud::Cloud;
use crate::support::objects::ZONE;
use crate::support::two_clusters::{Side, TwoClusters};
use crate::support::world::World;

/// Every kind that a remote can have.
const KINDS: [&str; 7] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "cortex.cloud/v1alpha1/ProjectQuota",
    "cortex.cloud/v1alpha1/History",
    "cortex.cloud/v1alpha1/Knowledge",
    "kvm.cloud.sap/v1/Hypervisor",
];

pub enum Place {
    Home(Box<World>),
    Remote(Box<TwoClusters>),
}

impl Deref for Place {
    type Target = World;

    fn deref(&self) -> &World {
        match self {
            Self::Home(world) => world,
            Self::Remote(two) => two,
        }
    }
}

impl Place {
    pub async fn home() -> Self {
        Self::Home(Box::new(World::without_operator().await))
    }

    pub async fn remote() -> Self {
        Self::Remote(Box::new(TwoClusters::without_operator().await))
    }

    pub fn world(&mut self) -> &mut World {
        match self {
            Self::Home(world) => world,
            Self::Remote(two) => two.home(),
        }
    }

    /// The objects in the cluster.
    pub fn objects(&self) -> &Cloud {
        match self {
            Self::Home(world) => world,
            Self::Remote(two) => two.at(Side::Remote),
        }
    }

    /// Somebody who may write roles there.
    pub async fn admin(&self) -> Client {
        match self {
            Self::Home(world) => world.client().await,
            Self::Remote(two) => two.client_of_remote().await,
        }
    }

    /// The kubeconfig of the operator for the cluster.
    pub fn account_of_operator(&self) -> PathBuf {
        match self {
            Self::Home(world) => world.account().to_owned(),
            Self::Remote(two) => two.account_in_remote(),
        }
    }

    /// Lets the operator talk to the cluster through the proxy; returns its kubeconfig for its own cluster.
    pub fn use_proxy(&mut self, proxy: &ApiProxy, mut keys: Value) -> PathBuf {
        let kubeconfig = match self {
            Self::Home(_) => proxy.kubeconfig().to_owned(),
            Self::Remote(two) => {
                let remote = json!({ "host": proxy.url(), "labels": { "availabilityZone": ZONE }, "gvks": KINDS });
                keys["apiservers"] = json!({ "home": { "gvks": KINDS }, "remotes": [remote] });
                two.account().to_owned()
            }
        };
        self.world().use_kubeconfig(&kubeconfig);
        self.world().use_keys(&keys);
        kubeconfig
    }

    /// Waits until a commitment of the usual zone is accepted with its current spec.
    pub async fn accepted(&self, uuid: &str) {
        match self {
            Self::Home(world) => drop(world.accepted(uuid).await),
            Self::Remote(two) => drop(two.accepted(Side::Remote, uuid).await),
        }
    }
}
