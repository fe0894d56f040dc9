//! How long calls to the API server may take.

use std::time::Duration;

/// How long a write may take before its outcome counts as unknown.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(4);

pub(crate) const READ_DEADLINE: Duration = Duration::from_secs(10);

/// The API server ends a watch after this time, and we begin the next one where it ended. A connection that has died
/// silently is noticed a little later.
pub(crate) const WATCH_TIMEOUT: Duration = Duration::from_secs(60);
