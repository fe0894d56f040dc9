//! The conditions of a Pipeline besides Ready, and their reasons.

/// Condition type: all steps of the pipeline could be made.
pub const ALL_STEPS_READY: &str = "AllStepsReady";

/// Condition type: all steps of the pipeline are known.
pub const ALL_STEPS_INDEXED: &str = "AllStepsIndexed";

/// Reason of Ready: the pipeline is in use.
pub const PIPELINE_READY: &str = "PipelineReady";

/// Reason of Ready and [`ALL_STEPS_READY`]: a filter could not be made, so the pipeline is not in use.
pub const PIPELINE_INIT_FAILED: &str = "PipelineInitFailed";

/// Reason of [`ALL_STEPS_READY`]: a weigher could not be made and is left out.
pub const SOME_STEPS_NOT_READY: &str = "SomeStepsNotReady";

/// Reason of [`ALL_STEPS_INDEXED`]: a step is unknown and is left out.
pub const PIPELINE_CONTAINS_UNKNOWN_STEPS: &str = "PipelineContainsUnknownSteps";

/// Message of [`PIPELINE_READY`].
pub const IS_READY: &str = "pipeline is ready";

/// Message of Ready for [`PIPELINE_INIT_FAILED`].
pub const FILTERS_FAILED: &str = "one or more filters failed to initialize";

/// Message of [`ALL_STEPS_READY`] when it is `True`.
pub const STEPS_READY: &str = "all pipeline steps are ready";

/// Message of [`ALL_STEPS_INDEXED`] when it is `True`.
pub const STEPS_INDEXED: &str = "all pipeline steps are indexed and known by the controller";
