//! The reasons and texts of the condition Ready of a History.

/// Reason: the decision found a host.
pub const SCHEDULING_SUCCEEDED: &str = "SchedulingSucceeded";

/// Reason: the run did not complete.
pub const PIPELINE_RUN_FAILED: &str = "PipelineRunFailed";

/// Reason: no host was left.
pub const NO_HOST_FOUND: &str = "NoHostFound";

/// Message of [`SCHEDULING_SUCCEEDED`].
pub const SUCCEEDED: &str = "scheduling decision selected a target host";

/// Message of [`PIPELINE_RUN_FAILED`], to be continued with the error.
pub const FAILED: &str = "pipeline run failed: ";

/// Message of [`NO_HOST_FOUND`].
pub const NO_HOST: &str = "pipeline completed but no suitable host was found";

/// Reason of the event when there is no host.
pub const SCHEDULING_FAILED: &str = "SchedulingFailed";

/// Action of the event when there is a host.
pub const SCHEDULED: &str = "Scheduled";

/// Action of the event if there is no host.
pub const FAILED_SCHEDULING: &str = "FailedScheduling";
