//! A process with two clusters. Its test feeds the stores, and reconciles.

use berth_capacity::{CapacityKey, Error};
use berth_cluster::testing::{applied, doubtful, failing, sync};
use berth_cluster::{Clusters, ObjectKey, Reconciler, feed_hosts};
use berth_telemetry::config;
use berth_testkit::{Fault, Verb};

use super::*;

const KINDS: [&str; 4] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "kvm.cloud.sap/v1/Hypervisor",
];

/// The zone of the tests is in `home`, the other one in a remote cluster. Each has a host of ten slots.
pub struct TwoClusters {
    stores: Stores,
    pub home: Server,
    pub remote: Server,
    controller: CapacityController<BuiltIn>,
}

/// It is named after its zone.
fn remote() -> ClusterName {
    seeds::OTHER_ZONE.into()
}

fn routes() -> Routes {
    let home: Vec<&str> = KINDS.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
    let labels = json!({ "availabilityZone": seeds::OTHER_ZONE });
    let away = json!({ "host": "https://remote.example", "gvks": KINDS, "labels": labels });
    let keys = json!({ "apiservers": { "home": { "gvks": home }, "remotes": [away] } });
    Routes::new(&config::decode(keys.as_object().unwrap(), false).unwrap().configuration.api_servers)
}

impl TwoClusters {
    pub fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let (home, away) = (Server::new(clock.clone()), Server::new(clock.clone()));
        let (stores, routes) = (Stores::default(), routes());
        for cluster in [ClusterName::home(), remote()] {
            sync(&stores, &cluster);
        }
        let scheduler = Arc::new(BuiltIn::new(berth_scheduler::Settings::default(), Box::new(|_| {})));
        let view = scheduler.clone();
        feed_hosts(&stores.hypervisors, &routes, move |name, host| view.host_changed(name, host));
        let clusters = Clusters::new(home.cluster(), [away.cluster_as(remote(), "berth")]);
        let capacities = Writer::new(stores.capacities.clone(), clusters);
        let (metrics, unit) = (Metrics::new(&[].into()).unwrap(), Arc::new(AtomicU64::new(240)));
        let vms = VmSource::none();
        let context = context((&stores, capacities, scheduler, routes), (&vms, &unit), &clock, &metrics);
        applied(&stores.knowledges, &ClusterName::home(), seeds::flavor_groups(clock.now()));
        let new = Self { stores, home, remote: away, controller: CapacityController::new(context) };
        new.set_hosts(10);
        new
    }

    pub fn set_hosts(&self, slots: u64) {
        let host = |name| seeds::host(name, slots);
        applied(&self.stores.hypervisors, &ClusterName::home(), host(NODE1));
        applied(&self.stores.hypervisors, &remote(), seeds::in_zone(host(NODE2), seeds::OTHER_ZONE));
    }

    /// A cycle after the least interval.
    pub async fn cycle(&self) -> Result<(), Error> {
        tokio::time::advance(LEAST).await;
        self.controller.reconcile(CapacityKey).await.map(drop)
    }

    /// The remote cluster does not answer any more, and has not answered the last write.
    pub fn lose_remote(&self) {
        failing(&self.stores.capacities, &remote(), Some("no route to host"));
        let name = names::flavor_group_capacity(testing::GROUP, seeds::OTHER_ZONE);
        doubtful(&self.stores.capacities, &ObjectKey::new(remote(), name));
        for verb in [Verb::Get, Verb::Patch] {
            self.remote.fail_always(verb, "flavorgroupcapacities", Fault::Unavailable);
        }
    }
}

/// The free slots of the zone of a server.
pub fn free_slots(server: &Server, zone: &str) -> Option<i64> {
    let object: FlavorGroupCapacity = server.get(&names::flavor_group_capacity(testing::GROUP, zone)).unwrap();
    object.status.unwrap().exclusively_free_slots
}
