//! Which zones can be read, over two clusters.

use berth_cluster::Stores;
use berth_cluster::testing::{applied, applied_raw, failing, sync};
use berth_core::Resources;
use berth_core::host::Amounts;
use berth_core::testing::{at, host};
use berth_crds::conditions::commitment::Reason;
use berth_crds::conditions::{self, Status};
use berth_crds::{CommittedResourceStatus, Knowledge, testing};
use berth_telemetry::config;
use serde_json::json;

use super::*;

const KINDS: [&str; 4] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "kvm.cloud.sap/v1/Hypervisor",
];

/// Home has zone `a`, the remote cluster has zone `b`.
struct Scene {
    stores: Stores,
    routes: Routes,
}

fn remote() -> ClusterName {
    "b".into()
}

fn host_in(zone: &str, cluster: ClusterName) -> HostCapacity {
    let host = Host { zone: zone.into(), cluster, ..host(&format!("host-{zone}"), Resources::ZERO) };
    HostCapacity { host: Arc::new(host), free: Amounts::default(), slots: Vec::new() }
}

impl Scene {
    fn new() -> Self {
        let home: Vec<&str> = KINDS.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
        let away = json!({ "host": "https://b.example", "gvks": KINDS, "labels": { "availabilityZone": "b" } });
        let keys = json!({ "apiservers": { "home": { "gvks": home }, "remotes": [away] } });
        let servers = config::decode(keys.as_object().unwrap(), false).unwrap().configuration.api_servers;
        let stores = Stores::default();
        for cluster in [ClusterName::home(), remote()] {
            sync(&stores, &cluster);
        }
        Self { stores, routes: Routes::new(&servers) }
    }

    fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> T) -> T {
        let (unit_of, vms): (UnitOf, _) = (Arc::new(|_| RamUnit::default()), VmSource::none());
        let flavor_groups = FlavorGroupsCache::new(Store::<Knowledge>::new(&[]));
        read(&Reader {
            capacities: &self.stores.capacities,
            hypervisors: &self.stores.hypervisors,
            reservations: &self.stores.reservations,
            commitments: &self.stores.commitments,
            flavor_groups: &flavor_groups,
            vms: &vms,
            routes: &self.routes,
            unit_of: &unit_of,
        })
    }

    /// The zones that can be read, those that cannot, and whether there can be no others.
    fn zones(&self) -> (Vec<String>, Vec<String>, bool) {
        let hosts = [host_in("a", ClusterName::home()), host_in("b", remote()), host_in("", ClusterName::home())];
        let zones = self.read(|reader| reader.zones(&hosts));
        let names = |zones: Vec<&Zone>| zones.into_iter().map(Zone::to_string).collect();
        (names(zones.readable.keys().collect()), names(zones.unreadable.keys().collect()), zones.is_complete)
    }
}

fn found(readable: &[&str], unreadable: &[&str], is_complete: bool) -> (Vec<String>, Vec<String>, bool) {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
    (names(readable), names(unreadable), is_complete)
}

#[test]
fn a_cluster_that_cannot_be_read_stops_its_own_zones_only() {
    let scene = Scene::new();
    assert_eq!(scene.zones(), found(&["a", "b"], &[], true));
    let why = Some("no route to host");
    failing(&scene.stores.hypervisors, &remote(), why);
    assert_eq!(scene.zones(), found(&["a"], &["b"], false));
    failing(&scene.stores.hypervisors, &remote(), None);
    failing(&scene.stores.reservations, &remote(), why);
    assert_eq!(scene.zones(), found(&["a"], &["b"], false));
    failing(&scene.stores.reservations, &remote(), None);
    failing(&scene.stores.commitments, &ClusterName::home(), why);
    assert_eq!(scene.zones(), found(&["b"], &["a"], false));
    failing(&scene.stores.commitments, &ClusterName::home(), None);
    failing(&scene.stores.capacities, &remote(), why);
    assert_eq!(scene.zones(), found(&["a", "b"], &[], false), "nothing may be deleted");
}

/// The other object with its UUID counts.
#[test]
fn a_commitment_that_is_not_served_is_not_counted() {
    let scene = Scene::new();
    for (name, reason) in [("served", Reason::Accepted), ("copy", Reason::DuplicateUuid)] {
        let mut object = testing::commitment("uuid-1", "8Gi");
        object.metadata.name = Some(name.to_owned());
        let ready = conditions::ready_condition(Status::True, reason.as_str(), "", None, at(0));
        let (accepted_spec, conditions) = (Some(object.spec.clone()), vec![ready]);
        object.status = Some(CommittedResourceStatus { accepted_spec, conditions, ..Default::default() });
        applied(&scene.stores.commitments, &ClusterName::home(), object);
    }
    let counted = scene.read(|reader| reader.accepted().values().map(Vec::len).sum::<usize>());
    assert_eq!(counted, 1);
}

/// What it takes is not known.
#[test]
fn a_slot_that_does_not_decode_stops_its_zone() {
    let scene = Scene::new();
    let slot = |zone: &str| {
        json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
                "metadata": { "name": format!("slot-{zone}"), "uid": zone, "resourceVersion": "7" },
                "spec": { "availabilityZone": zone, "resources": 7 } })
    };
    applied_raw(&scene.stores.reservations, &remote(), slot("b")).unwrap();
    assert_eq!(scene.zones(), found(&["a"], &["b"], false));
    let other = Scene::new();
    applied_raw(&other.stores.reservations, &remote(), slot("c")).unwrap();
    assert_eq!(other.zones(), found(&["a", "b"], &[], true), "it is of another zone");
}
