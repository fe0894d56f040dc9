//! The pipelines that requests can name, from the mode and the objects that there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_scheduler::Pipelines;
use berth_telemetry::config;

use super::{PipelineObject, check_pipeline};

/// The pipelines that requests can name.
#[derive(Clone, Debug, Default)]
pub struct InUse {
    pub pipelines: Pipelines,
    /// Each pipeline that there is, and whether its present version is usable.
    pub usable: BTreeMap<String, bool>,
    /// The pipelines of objects among them.
    pub of_objects: Pipelines,
}

/// The pipelines in use: those compiled in, those of objects, or both. An object that is not usable in its present
/// version stays in use as it was before, if that is known. The order of the objects does not matter: names are unique
/// in a cluster.
pub fn in_use<'o>(
    mode: config::Pipelines,
    objects: impl IntoIterator<Item = PipelineObject<'o>>,
    before: &Pipelines,
) -> InUse {
    let mut pipelines = match mode {
        config::Pipelines::Crd => Pipelines::default(),
        config::Pipelines::BuiltIn | config::Pipelines::BuiltInAndCrd => Pipelines::shipped(),
    };
    let mut usable: BTreeMap<_, _> = pipelines.names().map(|name| (name.to_owned(), true)).collect();
    let objects = objects.into_iter().filter(|_| mode != config::Pipelines::BuiltIn);
    let mut of_objects = Pipelines::default();
    for (name, (pipeline, report)) in objects.filter_map(|object| Some((object.name(), check_pipeline(object)?))) {
        usable.insert(name.clone(), report.is_usable());
        match pipeline.map(Arc::new).or_else(|| before.get(&name).ok()) {
            Some(pipeline) => {
                of_objects.insert(pipeline.clone());
                pipelines.insert(pipeline);
            }
            None => pipelines.remove(&name),
        }
    }
    InUse { pipelines, usable, of_objects }
}
