//! Names objects that cannot be read in the log, each once, so that somebody can correct them.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::{Malformed, ObjectKey};

/// More than this many at a time are counted instead of named.
const NAMED: usize = 10;

/// The objects that have been named.
#[derive(Default)]
pub(super) struct Naming {
    named: Mutex<BTreeSet<ObjectKey>>,
}

impl Naming {
    /// Names those that are new among the malformed objects of a kind, and those that can be read again.
    pub fn look(&self, kind: &str, malformed: &[Malformed]) {
        let now: BTreeSet<_> = malformed.iter().map(|one| one.key.clone()).collect();
        let before = std::mem::replace(&mut *self.named.lock(), now.clone());
        let new: Vec<_> = malformed.iter().filter(|one| !before.contains(&one.key)).collect();
        for one in new.iter().take(NAMED) {
            warn!(kind, object = %one.key, error = %one.error, "this object cannot be read; correct or delete it");
        }
        if new.len() > NAMED {
            warn!(kind, objects = new.len() - NAMED, "more objects cannot be read; correct or delete them");
        }
        for key in before.difference(&now).take(NAMED) {
            info!(kind, object = %key, "this object can be read again, or is gone");
        }
    }
}
