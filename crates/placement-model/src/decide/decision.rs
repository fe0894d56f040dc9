//! The result of a decision.

use crate::write_set::ProviderChange;
use crate::{Outcome, ProviderId, Refusal, WriteSet};

/// The changes and the outcome, or the refusal.
pub(super) type Decision = Result<(WriteSet, Outcome), Refusal>;

/// A change of one provider and nothing else.
pub(super) fn only(provider: ProviderId, change: ProviderChange) -> WriteSet {
    WriteSet { providers: [(provider, change)].into(), ..WriteSet::default() }
}

pub(super) fn raised() -> ProviderChange {
    ProviderChange { raised: 1, touched: true, ..ProviderChange::default() }
}
