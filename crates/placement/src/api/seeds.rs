//! The source of random numbers for the random order of candidates. Tests use their own.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

/// A source of seeds.
#[derive(Clone)]
pub struct Seeds(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Seeds {
    /// Seeds that cannot be predicted. Each state of the standard hasher has keys other than the one before.
    pub fn random() -> Self {
        Self::of(|| RandomState::new().build_hasher().finish())
    }

    pub fn of(source: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    pub fn draw(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Seeds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Seeds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_does_not_repeat() {
        let seeds = Seeds::random();
        assert_ne!(seeds.draw(), seeds.draw());
        assert_eq!(Seeds::of(|| 7).draw(), 7);
    }
}
