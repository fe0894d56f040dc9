//! Checks one Pipeline object: whether it is ours, whether it can be used, and its problems. A pure function of the
//! object.

use std::collections::BTreeMap;

use berth_cluster::InvalidEntry;
use berth_crds::labels;
use berth_crds::pipeline::{self, PipelineType};
use berth_scheduler::{LoadError, Pipeline};
use kube::ResourceExt;
use serde_json::Value;

use super::convert;

/// A Pipeline object as a store shows it.
#[derive(Clone, Copy, Debug)]
pub enum PipelineObject<'o> {
    Readable(&'o pipeline::Pipeline),
    Invalid(&'o InvalidEntry),
}

/// The problems of a pipeline of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipelineReport {
    /// Filters that cannot be made, and steps that are listed twice, each with the reason.
    pub filters: BTreeMap<String, String>,
    /// Weighers that cannot be made, each with the reason.
    pub weighers: BTreeMap<String, String>,
    /// Steps that are not known: filters, then weighers, then detectors, which have no place in such a pipeline.
    pub unknown: Vec<String>,
    pub unreadable: Option<String>,
}

impl PipelineReport {
    pub fn is_usable(&self) -> bool {
        self.filters.is_empty() && self.unreadable.is_none()
    }
}

impl PipelineObject<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Readable(object) => object.name_any(),
            Self::Invalid(object) => object.key.name.to_string(),
        }
    }

    /// A filter-weigher pipeline of Nova. An object without these fields counts as ours, because using the compiled-in
    /// pipeline instead would be a guess.
    fn is_ours(&self) -> bool {
        let can_be = |value: &Value, ours| value.as_str().is_none_or(|text| text == ours);
        match self {
            Self::Readable(object) => {
                object.spec.scheduling_domain == labels::NOVA && object.spec.type_ == PipelineType::FilterWeigher
            }
            Self::Invalid(object) => {
                let spec = &object.raw["spec"];
                can_be(&spec["schedulingDomain"], labels::NOVA) && can_be(&spec["type"], "filter-weigher")
            }
        }
    }
}

/// The pipeline of an object, if it can be used, and its problems; `None` if the object is not ours to load.
pub fn check_pipeline(object: PipelineObject<'_>) -> Option<(Option<Pipeline>, PipelineReport)> {
    if !object.is_ours() {
        return None;
    }
    Some(match object {
        PipelineObject::Readable(object) => load(object),
        PipelineObject::Invalid(object) => {
            (None, PipelineReport { unreadable: Some(object.error.to_string()), ..PipelineReport::default() })
        }
    })
}

fn load(object: &pipeline::Pipeline) -> (Option<Pipeline>, PipelineReport) {
    let loaded = Pipeline::load(&convert(object));
    let mut unknown = loaded.unknown;
    unknown.extend(object.spec.detectors.iter().map(|detector| detector.name.clone()));
    let report = PipelineReport {
        filters: keep_first_errors(loaded.filter_errors),
        weighers: keep_first_errors(loaded.weigher_errors),
        unknown,
        unreadable: None,
    };
    (loaded.pipeline, report)
}

fn keep_first_errors(errors: Vec<(String, LoadError)>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, error) in errors {
        all.entry(name).or_insert_with(|| error.to_string());
    }
    all
}
