//! Generated ids, random or counted for simulations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

/// Makes ids that do not repeat. Clones share the source.
#[derive(Clone)]
pub struct FreshIds {
    source: Arc<dyn Fn() -> Uuid + Send + Sync>,
}

impl FreshIds {
    pub fn random() -> Self {
        Self { source: Arc::new(Uuid::new_v4) }
    }

    /// The same ids in the same order each time, for simulations.
    pub fn counted() -> Self {
        let count = AtomicU64::new(0);
        Self { source: Arc::new(move || Uuid::from_u64_pair(0, count.fetch_add(1, Ordering::Relaxed))) }
    }

    pub fn fresh(&self) -> Uuid {
        (self.source)()
    }
}

impl fmt::Debug for FreshIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FreshIds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_count_and_chance_does_not_repeat() {
        let ids = FreshIds::counted();
        assert_eq!([ids.fresh(), ids.clone().fresh()], [Uuid::from_u128(0), Uuid::from_u128(1)]);
        assert_eq!(FreshIds::counted().fresh(), Uuid::from_u128(0));
        assert_ne!(FreshIds::random().fresh(), FreshIds::random().fresh());
    }
}
