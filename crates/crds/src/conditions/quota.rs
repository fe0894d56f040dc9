//! The condition Ready of a ProjectQuota (document 10 section 5.2).

/// Reason of `True`, the only one there is.
pub const RECONCILED: &str = "Reconciled";

/// Message of [`RECONCILED`].
pub const COMPUTED: &str = "Quota usage successfully computed";
