//! The fixture of the command tests: doubles of API servers, an operator that reconciles when a test calls it, and the
//! view that a command has of the servers. A test has one commitment of one to a few slots and one or two hosts.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Clusters, Fence, Kind, ReadBy, Reconciler as _};
use berth_crds::{CommittedResource, Hypervisor, Reservation, names};
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::config::{self, Configuration};
use berth_testkit::{Server, seeds};
use serde_json::{Value, json};

use super::cluster_snapshot::ClusterSnapshot;
use super::dry_run::controllers;
use super::leader::AskedOperator;

pub(super) const UUID: &str = "story-1";

/// No operator can be asked.
pub(super) fn unasked() -> AskedOperator {
    let failure = Some("no process holds the Lease berth".to_owned());
    AskedOperator { address: None, failure, answer: None }
}

/// API servers of one or more clusters, and an operator.
pub(super) struct Scene {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) home: Server,
    pub(super) remotes: Vec<(&'static str, Server)>,
    pub(super) configuration: Configuration,
}

impl Scene {
    /// Flavor groups, and hosts with free capacity for this many slots.
    pub(super) fn new(hosts: &[(&str, u64)]) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let home = Server::new(clock.clone());
        home.create(&seeds::flavor_groups(clock.now())).unwrap();
        for (name, free) in hosts {
            home.create(&seeds::host(name, *free)).unwrap();
        }
        Self { clock, home, remotes: Vec::new(), configuration: Configuration::default() }
    }

    /// Like `new`, with a remote cluster for the other zone.
    pub(super) fn with_remote(hosts: &[(&str, u64)]) -> Self {
        let scene = Self::new(hosts);
        let remote = Server::new(scene.clock.clone());
        Self { remotes: vec![(seeds::OTHER_ZONE, remote)], configuration: two_clusters(), ..scene }
    }

    pub(super) async fn snapshot(&self) -> ClusterSnapshot {
        let remotes = self.remotes.iter().map(|(name, server)| server.cluster_as((*name).into(), "somebody"));
        let clusters = Clusters::new(self.home.cluster(), remotes);
        ClusterSnapshot::read(clusters, self.configuration.clone(), ReadBy::Controllers).await.unwrap()
    }

    /// The operator reconciles everything until it has nothing left to do.
    pub(super) async fn operate(&self) {
        let snapshot = self.snapshot().await;
        let chosen = Arc::new(Chosen::BuiltIn(snapshot.memory.scheduler.clone()));
        let controllers = controllers(&snapshot, self.clock.clone(), chosen, &Fence::open()).unwrap();
        let stores = &snapshot.memory.stores;
        for _ in 0..4 {
            for entry in stores.commitments.all() {
                Box::pin(controllers.commitments().reconcile(entry.key)).await.unwrap();
            }
            for entry in stores.reservations.all() {
                Box::pin(controllers.slots().reconcile(entry.key)).await.unwrap();
            }
        }
        self.home.take_log();
    }

    pub(super) fn hold<K: Kind>(&self, name: &str) {
        let mut finalizers = self.home.get::<K>(name).unwrap().meta().finalizers.clone().unwrap_or_default();
        finalizers.push("example.com/hold".to_owned());
        self.home.edit::<K>(name, &json!({ "metadata": { "finalizers": finalizers } })).unwrap();
    }

    pub(super) async fn later(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(super) async fn commit(&self, commitment: &CommittedResource) {
        self.home.create(commitment).unwrap();
        self.operate().await;
        self.later(60).await;
    }

    pub(super) fn edit(&self, patch: &Value) {
        self.home.edit::<CommittedResource>(&names::commitment(UUID), patch).unwrap();
    }

    pub(super) fn edit_slot(&self, number: u64, patch: &Value) {
        self.home.edit::<Reservation>(&seeds::slot_name(UUID, number), patch).unwrap();
    }

    /// Patches a slot without validation, as an object of an older version could be.
    pub(super) fn old_slot(&self, number: u64, patch: &Value) {
        let kind = berth_testkit::path_of::<Reservation>("");
        self.home.edit_raw(&kind, &seeds::slot_name(UUID, number), patch).unwrap();
    }

    /// After one change the screen has a sentence that was missing before.
    pub(super) async fn changes(
        self,
        screen: impl AsyncFn(&Self) -> String,
        change: impl FnOnce(&Self),
        sentence: &str,
    ) {
        let before = screen(&self).await;
        assert!(!before.contains(sentence), "{sentence:?} is there too early:\n{before}");
        change(&self);
        let after = screen(&self).await;
        assert!(after.contains(sentence), "{sentence:?} is missing:\n{after}");
    }

    /// Adds a VM of half a slot to the allocations of a slot.
    pub(super) fn expect_vm(&self, number: u64, vm: &str) {
        let vm = json!({ vm: { "creationTimestamp": self.clock.now().to_string(),
                               "resources": { "memory": "240Gi", "cpu": "15" } } });
        self.edit_slot(number, &json!({ "spec": { "committedResourceReservation": { "allocations": vm } } }));
    }

    /// Runs these VMs of half a slot on a host.
    pub(super) fn run_vms(&self, host: &str, vms: &[&str]) {
        let instance = |vm: &&str| json!({ "id": vm, "name": vm, "active": true });
        let (count, instances) = (vms.len(), vms.iter().map(instance).collect::<Vec<_>>());
        let used = json!({ "memory": format!("{}Gi", 240 * count), "cpu": (15 * count).to_string() });
        let status = json!({ "status": { "instances": instances, "allocation": used } });
        self.home.edit_status::<Hypervisor>(host, &status).unwrap();
    }
}

const ROUTED: [&str; 3] =
    ["cortex.cloud/v1alpha1/CommittedResource", "cortex.cloud/v1alpha1/Reservation", "kvm.cloud.sap/v1/Hypervisor"];

fn two_clusters() -> Configuration {
    let home: Vec<&str> = ROUTED.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
    let remote = json!({ "host": "https://remote.example", "gvks": ROUTED,
                         "labels": { "availabilityZone": seeds::OTHER_ZONE } });
    let keys = json!({ "apiservers": { "home": { "gvks": home }, "remotes": [remote] } });
    config::decode(keys.as_object().unwrap(), false).unwrap().configuration
}
