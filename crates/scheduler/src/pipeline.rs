//! Pipelines as data and as steps that can run, and the registry in which a request finds them. The loader reads the
//! data and writes the conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::pipeline_spec::PipelineSpec;
use crate::steps::{Filter, Weigher, filters, weighers};
use crate::{LoadError, SchedulerError, shipped};

/// A pipeline that can run.
pub struct Pipeline {
    pub(crate) name: String,
    pub(crate) ignore_preselection: bool,
    pub(crate) filters: Vec<Box<dyn Filter>>,
    pub(crate) weighers: Vec<(Box<dyn Weigher>, f64)>,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The result of loading a pipeline.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The pipeline, unless a filter has an error: without one of its filters it would let hosts pass.
    pub pipeline: Option<Pipeline>,
    /// Filters that cannot be used, and why. A step that is listed twice counts here.
    pub filter_errors: Vec<(String, LoadError)>,
    pub weigher_errors: Vec<(String, LoadError)>,
    /// Weighers that this version does not have and leaves out.
    pub unknown: Vec<String>,
}

impl Pipeline {
    /// Makes the steps of a pipeline. A pure function, so that it serves as validation as well.
    pub fn load(spec: &PipelineSpec) -> Loaded {
        let mut loaded = Loaded::default();
        let mut names = BTreeSet::new();
        let (mut filters, mut weighers) = (Vec::new(), Vec::new());
        for step in spec.filters.iter().chain(&spec.weighers) {
            if !names.insert(&step.name) {
                loaded.filter_errors.push((step.name.clone(), LoadError::Duplicate(step.name.clone())));
            }
        }
        for step in &spec.filters {
            match filters::load(&step.name, &step.params) {
                Ok(filter) => filters.push(filter),
                Err(error) => loaded.filter_errors.push((step.name.clone(), error)),
            }
        }
        for step in &spec.weighers {
            match weighers::load(&step.name, &step.params) {
                None => loaded.unknown.push(step.name.clone()),
                Some(Ok(weigher)) => weighers.push((weigher, step.multiplier)),
                Some(Err(error)) => {
                    loaded.weigher_errors.push((step.name.clone(), LoadError::Weigher(error)));
                }
            }
        }
        loaded.pipeline = loaded.filter_errors.is_empty().then(|| Self {
            name: spec.name.clone(),
            ignore_preselection: spec.ignore_preselection,
            filters,
            weighers,
        });
        loaded
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn steps(&self) -> impl Iterator<Item = &'static str> {
        let filters = self.filters.iter().map(|filter| filter.name().step);
        filters.chain(self.weighers.iter().map(|(weigher, _)| weigher.name()))
    }
}

/// The pipelines that requests can name. Replacing one never disturbs a run in progress.
#[derive(Clone, Debug, Default)]
pub struct Pipelines {
    by_name: BTreeMap<String, Arc<Pipeline>>,
}

impl Pipelines {
    pub fn shipped() -> Self {
        let pipelines = shipped::specs().into_iter().filter_map(|spec| Pipeline::load(&spec).pipeline).map(Arc::new);
        Self { by_name: pipelines.map(|pipeline| (pipeline.name.clone(), pipeline)).collect() }
    }

    /// Adds a pipeline in place of the one of the same name.
    pub fn insert(&mut self, pipeline: impl Into<Arc<Pipeline>>) {
        let pipeline = pipeline.into();
        self.by_name.insert(pipeline.name.clone(), pipeline);
    }

    pub fn remove(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    pub fn get(&self, name: &str) -> Result<Arc<Pipeline>, SchedulerError> {
        self.by_name.get(name).cloned().ok_or_else(|| SchedulerError::Pipeline(name.to_owned()))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Param, StepError, StepSpec};

    fn spec(filters: &[&str], weighers: &[&str]) -> PipelineSpec {
        let steps = |names: &[&str]| names.iter().map(|name| StepSpec::new(name)).collect();
        PipelineSpec { filters: steps(filters), weighers: steps(weighers), ..PipelineSpec::default() }
    }

    #[test]
    fn filter_error_makes_the_pipeline_unusable() {
        let loaded = Pipeline::load(&spec(&["filter_correct_az", "filter_external_customer"], &[]));
        assert!(loaded.pipeline.is_none());
        assert_eq!(
            loaded.filter_errors,
            [("filter_external_customer".to_owned(), LoadError::Filter(StepError::NoDomainNamePrefixes))]
        );
    }

    #[test]
    fn weigher_errors_and_unknown_weighers_are_left_out() {
        let weighers = ["kvm_binpack", "vmware_binpack", "kvm_foo"];
        let loaded = Pipeline::load(&spec(&["filter_correct_az"], &weighers));
        assert_eq!(loaded.pipeline.unwrap().steps().collect::<Vec<_>>(), ["filter_correct_az"]);
        assert_eq!(loaded.unknown, ["vmware_binpack", "kvm_foo"]);
        assert_eq!(loaded.weigher_errors.len(), 1);
        let error = loaded.weigher_errors[0].1.to_string();
        assert_eq!(error, "failed to initialize weigher: at least one resource weight must be specified");
    }

    #[test]
    fn a_filter_that_this_version_does_not_have_makes_the_pipeline_unusable() {
        for (name, text) in [
            ("filter_has_enough_capacty", "unknown filter"),
            ("", "unknown filter"),
            ("vmware_binpack", "this scheduler has no hosts of VMware, so it has no filters and weighers for them"),
        ] {
            let loaded = Pipeline::load(&spec(&["filter_correct_az", name], &[]));
            assert!(loaded.pipeline.is_none() && loaded.unknown.is_empty(), "{name}");
            assert_eq!(loaded.filter_errors[0].1.to_string(), text, "{name}");
        }
    }

    #[test]
    fn a_misspelt_parameter_of_the_quota_filter_makes_the_pipeline_unusable() {
        let quota = |params: &[Param]| {
            let step = StepSpec { params: params.to_vec(), ..StepSpec::new("filter_quota_enforcement") };
            Pipeline::load(&PipelineSpec { filters: vec![step], ..PipelineSpec::default() })
        };
        let enforce = |value| Param { key: "enforce".to_owned(), bool_value: Some(value), ..Param::default() };
        for params in [&[][..], &[enforce(false)], &[enforce(true)]] {
            let loaded = quota(params);
            assert_eq!(loaded.pipeline.unwrap().steps().collect::<Vec<_>>(), ["filter_quota_enforcement"]);
            assert!(loaded.unknown.is_empty());
        }
        let misspelt = Param { key: "enforced".to_owned(), ..enforce(true) };
        assert!(quota(&[misspelt]).pipeline.is_none(), "a parameter that is not known may mean to enforce it");
    }

    #[test]
    fn a_step_listed_twice_is_a_filter_error() {
        let twice = ["kvm_instance_group_soft_affinity", "kvm_instance_group_soft_affinity"];
        let loaded = Pipeline::load(&spec(&[], &twice));
        assert!(loaded.pipeline.is_none());
        assert_eq!(loaded.filter_errors[0].1.to_string(), "duplicate step \"kvm_instance_group_soft_affinity\"");
    }

    #[test]
    fn unknown_pipelines_are_an_error() {
        let error = Pipelines::shipped().get("kvm-foo").unwrap_err();
        assert_eq!(error.to_string(), "pipeline not found or not ready: \"kvm-foo\"");
    }
}
