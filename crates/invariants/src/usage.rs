//! Which commitments list a VM.

use std::collections::BTreeMap;

use crate::{Invariant, Key, Snapshot, Violation};

/// Commitments that list a VM which another one, that comes first, lists as well.
pub(crate) fn listed_twice(snapshot: &Snapshot) -> Vec<Violation> {
    let mut first: BTreeMap<&str, &Key> = BTreeMap::new();
    let mut twice: BTreeMap<&Key, Vec<String>> = BTreeMap::new();
    for (key, object) in &snapshot.commitments {
        for vm in object.status.iter().flat_map(|status| &status.assigned_instances) {
            let by = *first.entry(vm).or_insert(key);
            if by != key {
                twice.entry(key).or_default().push(format!("{vm} counts in {by} as well"));
            }
        }
    }
    let violation = |(key, texts): (&Key, Vec<String>)| {
        Violation::new(Invariant::VmInTwoCommitments, key, format!("its VM {}", texts.join(", ")))
    };
    twice.into_iter().map(violation).collect()
}
