//! What is to be thought of one Pipeline object: whether it is ours, whether it can be used, and what is wrong with it.
//! A pure function of the object.

use std::collections::BTreeMap;

use berth_cluster::Malformed;
use berth_crds::labels;
use berth_crds::pipeline::{self, PipelineType};
use berth_scheduler::{LoadFault, Pipeline};
use kube::ResourceExt;
use serde_json::Value;

use super::convert;

/// A Pipeline object as a store shows it.
#[derive(Clone, Copy, Debug)]
pub enum Object<'o> {
    /// It can be read.
    Readable(&'o pipeline::Pipeline),
    /// Its newest state cannot.
    Malformed(&'o Malformed),
}

/// What is wrong with a pipeline of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Filters that cannot be made, and steps that are listed twice, each with the reason.
    pub filters: BTreeMap<String, String>,
    /// Weighers that cannot be made, each with the reason.
    pub weighers: BTreeMap<String, String>,
    /// Steps that are not known: filters, then weighers, then detectors, which have no place in such a pipeline.
    pub unknown: Vec<String>,
    /// Why the object itself cannot be read.
    pub unreadable: Option<String>,
}

impl Report {
    /// Whether requests can use the pipeline.
    pub fn is_usable(&self) -> bool {
        self.filters.is_empty() && self.unreadable.is_none()
    }
}

impl Object<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Readable(object) => object.name_any(),
            Self::Malformed(object) => object.key.name.to_string(),
        }
    }

    /// A filter-weigher pipeline of Nova. One that does not say what it is counts as ours: to use the compiled-in one in
    /// its place would be a guess.
    fn is_ours(&self) -> bool {
        let can_be = |value: &Value, ours| value.as_str().is_none_or(|text| text == ours);
        match self {
            Self::Readable(object) => {
                object.spec.scheduling_domain == labels::NOVA && object.spec.type_ == PipelineType::FilterWeigher
            }
            Self::Malformed(object) => {
                let spec = &object.raw["spec"];
                can_be(&spec["schedulingDomain"], labels::NOVA) && can_be(&spec["type"], "filter-weigher")
            }
        }
    }
}

/// The pipeline of an object, if it can be used, and what is wrong with it; `None` if the object is not ours to load.
pub fn judge(object: Object<'_>) -> Option<(Option<Pipeline>, Report)> {
    if !object.is_ours() {
        return None;
    }
    Some(match object {
        Object::Readable(object) => load(object),
        Object::Malformed(object) => (None, Report { unreadable: Some(object.error.to_string()), ..Report::default() }),
    })
}

fn load(object: &pipeline::Pipeline) -> (Option<Pipeline>, Report) {
    let loaded = Pipeline::load(&convert(object));
    let mut unknown = loaded.unknown;
    unknown.extend(object.spec.detectors.iter().map(|detector| detector.name.clone()));
    let report = Report {
        filters: first(loaded.filter_errors),
        weighers: first(loaded.weigher_errors),
        unknown,
        unreadable: None,
    };
    (loaded.pipeline, report)
}

/// One reason for each step.
fn first(errors: Vec<(String, LoadFault)>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, error) in errors {
        all.entry(name).or_insert_with(|| error.to_string());
    }
    all
}
