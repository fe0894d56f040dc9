//! Writes the conditions of Pipelines: on the leader, after each change of an object. Whether the pipeline
//! is in use does not depend on it.

use std::sync::Arc;

use berth_cluster::{
    Action, Change, InvalidEntry, ObjectField, ObjectKey, Reconciler, Right, Verb, Watches, WriteError, Writer,
};
use berth_core::ClusterName;
use berth_crds::{Pipeline, PipelineStatus};
use berth_telemetry::clock::Clock;
use berth_telemetry::config;

use super::{PipelineObject, check_pipeline, status, status_of_foreign};

/// The dependencies of the controller.
pub struct Context {
    /// Pipelines, read and written while the fence of the writer is open.
    pub pipelines: Writer<Pipeline>,
    pub clock: Arc<dyn Clock>,
}

/// Says in the objects what became of them.
pub struct PipelineController {
    context: Context,
}

impl Reconciler for PipelineController {
    const NAME: &'static str = "nova-pipeline";
    const OBJECT: ObjectField = ObjectField::Pipeline;
    type Key = ObjectKey;
    type Settings = config::Pipelines;
    type Error = WriteError;

    /// It writes nothing where Pipeline objects do not count.
    fn rights(pipelines: &config::Pipelines) -> Vec<Right> {
        if *pipelines == config::Pipelines::BuiltIn {
            return Vec::new();
        }
        let status = Right::status::<Pipeline>(&[Verb::Patch]).at_home().optional();
        vec![status.because("Whether a pipeline can be used. Pipelines belong to the deployment.")]
    }

    /// Objects outside of the home cluster have no owner here.
    fn watches(&self, watches: &mut Watches<ObjectKey>) {
        let at_home =
            |change: &Change<Pipeline>| Some(change.key.clone()).filter(|key| key.cluster == ClusterName::home());
        watches.changes(self.context.pipelines.store(), at_home);
    }

    fn first_keys(&self) -> Vec<ObjectKey> {
        self.context.pipelines.store().keys()
    }

    async fn reconcile(&self, key: ObjectKey) -> Result<Action, WriteError> {
        let store = self.context.pipelines.store();
        if let Some(invalid) = store.invalid_entry(&key) {
            self.write_conditions(&key, &shell(&invalid), PipelineObject::Invalid(&invalid)).await?;
        } else if let Some(object) = store.get(&key) {
            self.write_conditions(&key, &object, PipelineObject::Readable(&object)).await?;
        }
        Ok(Action::AwaitChange)
    }
}

impl PipelineController {
    pub fn new(context: Context) -> Self {
        Self { context }
    }

    async fn write_conditions(
        &self,
        key: &ObjectKey,
        old: &Pipeline,
        object: PipelineObject<'_>,
    ) -> Result<(), WriteError> {
        let (before, generation) = (old.status.clone().unwrap_or_default(), old.metadata.generation);
        let after = match check_pipeline(object) {
            Some((_, report)) => status(&before, &report, generation, self.context.clock.now()),
            None => status_of_foreign(&before, generation),
        };
        if after == before {
            return Ok(());
        }
        let new = Pipeline { status: Some(after), ..old.clone() };
        // Through a store of its own: after a write without an answer nothing is in doubt, which would need the right to get
        // Pipelines. The same conditions are then written again, unless the watch has shown them.
        match self.context.pipelines.without_limiter().patch_status(key, old, &new).await {
            // The write took effect: the object itself is invalid.
            Err(WriteError::Malformed { .. }) if matches!(object, PipelineObject::Invalid(_)) => Ok(()),
            written => written.map(drop),
        }
    }
}

/// The parts of an invalid object that are needed to write its status.
fn shell(invalid: &InvalidEntry) -> Pipeline {
    let status = serde_json::from_value::<PipelineStatus>(invalid.raw["status"].clone()).ok();
    Pipeline { metadata: invalid.metadata.clone(), status, ..Pipeline::default() }
}
