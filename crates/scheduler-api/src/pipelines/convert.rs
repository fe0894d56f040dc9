//! A Pipeline object as the scheduler takes it. Nothing is checked here.

use berth_crds::pipeline::{self, PipelineParameter, PipelineStep, PipelineWeigher};
use berth_scheduler::{Param, PipelineSpec, StepSpec};
use kube::ResourceExt;

/// The steps of the object, in its order. An absent multiplier is 1.
pub fn convert(object: &pipeline::Pipeline) -> PipelineSpec {
    PipelineSpec {
        name: object.name_any(),
        ignore_preselection: object.spec.ignore_preselection,
        filters: object.spec.filters.iter().map(filter).collect(),
        weighers: object.spec.weighers.iter().map(weigher).collect(),
    }
}

fn filter(step: &PipelineStep) -> StepSpec {
    StepSpec { params: params(&step.params), ..StepSpec::new(&step.name) }
}

fn weigher(step: &PipelineWeigher) -> StepSpec {
    StepSpec { params: params(&step.params), ..StepSpec::new(&step.name) }.times(step.multiplier.unwrap_or(1.0))
}

fn params(all: &[PipelineParameter]) -> Vec<Param> {
    let param = |one: &PipelineParameter| Param {
        key: one.key.clone(),
        string_value: one.string_value.clone(),
        bool_value: one.bool_value,
        int_value: one.int_value,
        float_value: one.float_value,
        string_list_value: one.string_list_value.clone(),
        float_map_value: one.float_map_value.clone(),
    };
    all.iter().map(param).collect()
}
