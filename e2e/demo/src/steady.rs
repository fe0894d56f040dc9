//! When a commitment has settled: the operator has decided about its current spec, and no other result is coming.

use berth_crds::CommittedResource;
use berth_crds::conditions::commitment::{INSUFFICIENT_CAPACITY, Reason};

use crate::snapshot;

/// What a commitment still waits for; `None` when it has settled.
pub fn unsettled(commitment: Option<&CommittedResource>) -> Option<String> {
    let Some(commitment) = commitment else { return Some("the watch has not shown it yet".to_owned()) };
    let Some(ready) = snapshot::ready(commitment) else { return Some("it has no Ready condition".to_owned()) };
    if ready.observed_generation != commitment.metadata.generation {
        return Some(format!("{} is about an earlier generation of its spec", ready.reason));
    }
    // A commitment that lacks free capacity waits for others; every other attempt ends soon.
    let is_final = ready.reason != Reason::Reserving.as_str() || ready.message.starts_with(INSUFFICIENT_CAPACITY);
    (!is_final).then(|| format!("{}: {}", ready.reason, ready.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::testing::commitment;

    #[test]
    fn a_commitment_rests_when_the_operator_has_reported_what_becomes_of_it() {
        let accepted = commitment("u", "az-a", "Accepted", "commitment successfully reserved");
        assert_eq!(unsettled(Some(&accepted)), None);
        let refused =
            commitment("u", "az-a", "Reserving", "insufficient capacity: 1/2 reservation slots could be placed");
        assert_eq!(unsettled(Some(&refused)), None);
        for message in ["waiting for reservation placement", "the flavor groups cannot be read"] {
            let waiting = commitment("u", "az-a", "Reserving", message);
            assert_eq!(unsettled(Some(&waiting)), Some(format!("Reserving: {message}")));
        }
        assert!(unsettled(None).is_some());
    }

    #[test]
    fn what_was_reported_about_an_earlier_spec_does_not_count() {
        let mut changed = commitment("u", "az-a", "Accepted", "commitment successfully reserved");
        changed.metadata.generation = Some(3);
        assert_eq!(unsettled(Some(&changed)), Some("Accepted is about an earlier generation of its spec".to_owned()));
        changed.status = None;
        assert_eq!(unsettled(Some(&changed)), Some("it has no Ready condition".to_owned()));
    }
}
