//! Updates the scheduler's pipelines from the Pipeline objects, on every replica and with every change. A run in
//! progress is not affected. The leader writes the conditions, see `controller`.

use std::sync::Arc;

use berth_cluster::Store;
use berth_core::ClusterName;
use berth_crds::{Pipeline, labels};
use berth_scheduler::BuiltIn;
use berth_telemetry::config;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use parking_lot::Mutex;
use tracing::{info, warn};

use super::{InUse, PipelineObject, in_use};

const STATE: Metric = Metric {
    name: "cortex_pipeline_state",
    kind: Kind::Gauge,
    labels: &["domain", "pipeline", "state"],
    help: "Always 1 for each pipeline, compiled in or from an object: state is ready if it can be used as it is now, else unknown.",
};

/// Loads pipelines into a scheduler. Clones share it.
#[derive(Clone)]
pub struct PipelineLoader {
    store: Store<Pipeline>,
    mode: config::Pipelines,
    scheduler: Arc<BuiltIn>,
    in_use: Arc<Mutex<InUse>>,
}

impl PipelineLoader {
    /// Passes the existing pipelines to the scheduler, and from now on every change. To be called before anything is
    /// fed into `store`.
    pub fn new(store: &Store<Pipeline>, mode: config::Pipelines, scheduler: Arc<BuiltIn>) -> Self {
        let loader = Self { store: store.clone(), mode, scheduler, in_use: Arc::default() };
        loader.load();
        let listening = loader.clone();
        store.on_state(move |change| {
            if change.key.cluster == ClusterName::home() {
                listening.load();
            }
        });
        loader
    }

    pub fn follows_objects(&self) -> bool {
        self.mode != config::Pipelines::BuiltIn
    }

    /// Resolves when the pipelines are those of the objects: at once when objects do not count, otherwise when all of
    /// them are known, or when it is known that there are none because the kind is not installed.
    pub async fn loaded(&self) {
        let home = ClusterName::home();
        if self.follows_objects() && self.store.clusters().contains(&home) {
            self.store.synced(&home).await;
        }
    }

    /// The present problem of the pipelines, in a line for users: it stops only requests that need them.
    pub fn problem(&self) -> Option<String> {
        let usable = &self.in_use.lock().usable;
        if self.mode == config::Pipelines::Crd && usable.is_empty() {
            return Some(self.none().to_owned());
        }
        let broken: Vec<_> = usable.iter().filter(|(_, usable)| !**usable).map(|(name, _)| name.as_str()).collect();
        (!broken.is_empty()).then(|| {
            let names = broken.join(", ");
            format!("these pipelines cannot be used as they are now, their conditions say why: {names}")
        })
    }

    pub fn register(&self, metrics: &Metrics) -> Result<(), MetricsError> {
        let in_use = self.in_use.clone();
        metrics.computed(&STATE, move || {
            let usable = &in_use.lock().usable;
            let state = |usable: bool| if usable { "ready" } else { "unknown" };
            let row = |(name, usable): (&String, &bool)| {
                (vec![labels::NOVA.to_owned(), name.clone(), state(*usable).to_owned()], 1.0)
            };
            usable.iter().map(row).collect()
        })
    }

    fn none(&self) -> &'static str {
        if self.store.is_served(&ClusterName::home()) {
            "scheduler.pipelines is crd, and there is no Pipeline of Nova: create one, or set it to builtin+crd"
        } else {
            "scheduler.pipelines is crd, and the kind Pipeline is not installed: install its CRD, \
             or set it to builtin+crd"
        }
    }

    fn load(&self) {
        let (home, mut before) = (ClusterName::home(), self.in_use.lock());
        let (mut objects, mut invalid) = (self.store.all(), self.store.invalid_entries());
        invalid.retain(|object| object.key.cluster == home);
        // The store shows the last valid state of an invalid object, which is no longer what the user has configured.
        objects.retain(|entry| entry.key.cluster == home && invalid.iter().all(|other| other.key != entry.key));
        let readable = objects.iter().map(|entry| PipelineObject::Readable(&entry.object));
        let all = readable.chain(invalid.iter().map(PipelineObject::Invalid));
        let now = in_use(self.mode, all, &before.of_objects);
        self.scheduler.set_pipelines(now.pipelines.clone());
        log_changes(&before, &now);
        *before = now;
    }
}

/// Logs pipelines that have become invalid or valid again.
fn log_changes(before: &InUse, now: &InUse) {
    for (pipeline, usable) in &now.usable {
        match (before.usable.get(pipeline), usable) {
            (None | Some(true), false) if now.of_objects.get(pipeline).is_ok() => {
                warn!(pipeline, "pipeline not usable, its previous version stays in use; see its conditions");
            }
            (None | Some(true), false) => {
                warn!(pipeline, "pipeline not usable, requests that name it fail; see its conditions");
            }
            (Some(false), true) => info!(pipeline, "pipeline usable again"),
            _ => {}
        }
    }
}
