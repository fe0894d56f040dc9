//! The condition Ready of a FlavorGroupCapacity.

/// Reason of `True`: the data is as fresh as the last cycle.
pub const RECONCILE_SUCCEEDED: &str = "ReconcileSucceeded";

/// Reason of `False`: the data is older than the last cycle.
pub const RECONCILE_FAILED: &str = "ReconcileFailed";

/// Message of [`RECONCILE_SUCCEEDED`].
pub const UP_TO_DATE: &str = "capacity data is up-to-date";

/// Message of [`RECONCILE_FAILED`].
pub const MAY_BE_STALE: &str = "one or more scheduler probes failed; capacity data may be stale";
