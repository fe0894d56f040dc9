//! The condition Ready of a ProjectQuota.

/// Reason of `True`, the only one there is.
pub const RECONCILED: &str = "Reconciled";

/// Message of [`RECONCILED`].
pub const COMPUTED: &str = "Quota usage successfully computed";
