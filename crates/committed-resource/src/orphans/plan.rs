//! Plan: whether a slot without a commitment is deleted. A function of facts.

use std::time::Duration;

use berth_cluster::{Partial, Whole};
use berth_crds::Reservation;

/// A slot, as far as its being an orphan is concerned.
#[derive(Clone, Debug)]
pub struct Facts {
    /// We made it, and nobody has deleted it yet.
    pub is_ours: bool,
    /// It must not be touched now: it is frozen, or the outcome of a write to it is unknown.
    pub untouchable: bool,
    /// When no commitment that we know has its UUID: for how long no cluster has had one, with the proof that everything was
    /// read; or what was not.
    pub missing: Option<Result<(Duration, Whole<Reservation>), Partial>>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// `requeueIntervalGracePeriod`: how long its commitment must be missing.
    pub grace: Duration,
    /// `requeueIntervalRetry`: look again at what cannot be decided now.
    pub retry: Duration,
}

/// What becomes of the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It has a commitment, or is not ours to delete.
    Leave,
    /// It may be an orphan; look again then.
    Wait(Duration),
    /// It is one.
    Delete(Whole<Reservation>),
}

/// Plans a look.
pub fn plan(facts: &Facts, delays: Delays) -> Course {
    let Some(missing) = facts.missing.as_ref().filter(|_| facts.is_ours) else { return Course::Leave };
    match missing {
        _ if facts.untouchable => Course::Wait(delays.retry),
        Err(_) => Course::Wait(delays.retry),
        Ok((time, whole)) if *time >= delays.grace => Course::Delete(whole.clone()),
        Ok((time, _)) => Course::Wait(delays.grace.saturating_sub(*time)),
    }
}

#[cfg(test)]
mod tests {
    use berth_cluster::testing::whole;
    use berth_core::ClusterName;

    use super::*;

    const DELAYS: Delays = Delays { grace: Duration::from_secs(900), retry: Duration::from_secs(60) };

    fn orphan(seconds: u64) -> Facts {
        let missing = Some(Ok((Duration::from_secs(seconds), whole(&ClusterName::home()))));
        Facts { is_ours: true, untouchable: false, missing }
    }

    #[test]
    fn u49_an_orphan_of_ours_is_deleted_after_the_grace() {
        assert_eq!(plan(&orphan(600), DELAYS), Course::Wait(Duration::from_secs(300)));
        assert_eq!(plan(&orphan(900), DELAYS), Course::Delete(whole(&ClusterName::home())));
    }

    #[test]
    fn u49_whoever_has_a_commitment_or_was_made_by_others_stays() {
        assert_eq!(plan(&Facts { missing: None, ..orphan(900) }, DELAYS), Course::Leave);
        assert_eq!(plan(&Facts { is_ours: false, ..orphan(900) }, DELAYS), Course::Leave);
    }

    #[test]
    fn u49_nothing_is_deleted_on_a_partial_read_while_frozen_or_in_doubt() {
        let wait = Course::Wait(DELAYS.retry);
        let partial = Partial { kind: "Reservation".to_owned(), cluster: "b".into(), object: None, why: String::new() };
        assert_eq!(plan(&Facts { missing: Some(Err(partial)), ..orphan(900) }, DELAYS), wait);
        assert_eq!(plan(&Facts { untouchable: true, ..orphan(900) }, DELAYS), wait);
    }
}
