//! Logs each object that cannot be read once, so that users can correct it.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::{InvalidEntry, ObjectKey};

/// More than this many at a time are counted instead of named.
const NAMED: usize = 10;

/// The objects that have been named.
#[derive(Default)]
pub(super) struct Naming {
    named: Mutex<BTreeSet<ObjectKey>>,
}

impl Naming {
    /// Names those that are new among the invalid objects of a kind, and those that can be read again.
    pub fn log_invalid_entries(&self, kind: &str, invalid_entry: &[InvalidEntry]) {
        let now: BTreeSet<_> = invalid_entry.iter().map(|one| one.key.clone()).collect();
        let before = std::mem::replace(&mut *self.named.lock(), now.clone());
        let new: Vec<_> = invalid_entry.iter().filter(|one| !before.contains(&one.key)).collect();
        for one in new.iter().take(NAMED) {
            warn!(kind, object = %one.key, error = %one.error, "object cannot be decoded; correct or delete it");
        }
        if new.len() > NAMED {
            warn!(kind, objects = new.len() - NAMED, "further objects cannot be decoded; correct or delete them");
        }
        for key in before.difference(&now).take(NAMED) {
            info!(kind, object = %key, "object can be decoded again, or is gone");
        }
    }
}
