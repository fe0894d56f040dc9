//! What is decided about a command.

use crate::changes::ProviderChange;
use crate::{Changes, Outcome, ProviderId, Refusal};

/// What changes and what is answered, or why nothing does.
pub(super) type Decision = Result<(Changes, Outcome), Refusal>;

/// A change of one provider and nothing else.
pub(super) fn only(provider: ProviderId, change: ProviderChange) -> Changes {
    Changes { providers: [(provider, change)].into(), ..Changes::default() }
}

/// One step of the generation.
pub(super) fn raised() -> ProviderChange {
    ProviderChange { raised: 1, touched: true, ..ProviderChange::default() }
}
