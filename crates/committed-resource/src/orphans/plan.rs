//! Plan: whether an orphaned slot is deleted. A function of facts.

use std::time::Duration;

use berth_cluster::{CompletenessProof, Partial};
use berth_crds::Reservation;

/// A slot, as far as its being an orphan is concerned.
#[derive(Clone, Debug)]
pub struct OrphanFacts {
    /// Berth created it, or Limes has not listed its commitment since before it was created; and it is not being deleted yet.
    pub is_ours: bool,
    /// Another client created it, and Limes may list its commitment.
    pub awaits_limes: bool,
    /// It must not be touched now: it is paused, or the outcome of a write to it is unknown.
    pub untouchable: bool,
    /// Set if no known commitment has its UUID: for how long no cluster has had one, with the proof that everything was
    /// read; or the reason why a read is partial.
    pub missing: Option<Result<(Duration, CompletenessProof<Reservation>), Partial>>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct OrphanDelays {
    /// `requeueIntervalGracePeriod`: how long its commitment must be missing.
    pub grace: Duration,
    /// `requeueIntervalRetry`: reconcile again what cannot be decided now.
    pub retry: Duration,
}

/// The decision about the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrphanVerdict {
    /// It has a commitment, or is not ours to delete.
    Leave,
    /// It may be an orphan; reconcile again then.
    Wait(Duration),
    Delete(CompletenessProof<Reservation>),
}

pub fn plan(facts: &OrphanFacts, delays: OrphanDelays) -> OrphanVerdict {
    let Some(missing) = &facts.missing else { return OrphanVerdict::Leave };
    match missing {
        // Nothing tells when Limes has been read.
        _ if facts.awaits_limes => OrphanVerdict::Wait(delays.retry),
        _ if !facts.is_ours => OrphanVerdict::Leave,
        _ if facts.untouchable => OrphanVerdict::Wait(delays.retry),
        Err(_) => OrphanVerdict::Wait(delays.retry),
        Ok((time, proof)) if *time >= delays.grace => OrphanVerdict::Delete(proof.clone()),
        Ok((time, _)) => OrphanVerdict::Wait(delays.grace.saturating_sub(*time)),
    }
}

#[cfg(test)]
mod tests {
    use berth_cluster::testing::completeness_proof;
    use berth_core::ClusterName;

    use super::*;

    const DELAYS: OrphanDelays = OrphanDelays { grace: Duration::from_secs(900), retry: Duration::from_secs(60) };

    fn orphan(seconds: u64) -> OrphanFacts {
        let missing = Some(Ok((Duration::from_secs(seconds), completeness_proof(&ClusterName::home()))));
        OrphanFacts { is_ours: true, awaits_limes: false, untouchable: false, missing }
    }

    #[test]
    fn an_orphan_of_ours_is_deleted_after_the_grace() {
        assert_eq!(plan(&orphan(600), DELAYS), OrphanVerdict::Wait(Duration::from_secs(300)));
        assert_eq!(plan(&orphan(900), DELAYS), OrphanVerdict::Delete(completeness_proof(&ClusterName::home())));
    }

    #[test]
    fn slots_with_a_commitment_or_of_other_creators_stay() {
        assert_eq!(plan(&OrphanFacts { missing: None, ..orphan(900) }, DELAYS), OrphanVerdict::Leave);
        assert_eq!(plan(&OrphanFacts { is_ours: false, ..orphan(900) }, DELAYS), OrphanVerdict::Leave);
    }

    #[test]
    fn a_slot_of_another_creator_waits_until_limes_does_not_list_its_commitment() {
        let foreign = OrphanFacts { is_ours: false, awaits_limes: true, ..orphan(900) };
        assert_eq!(plan(&foreign, DELAYS), OrphanVerdict::Wait(DELAYS.retry));
        let with_commitment = OrphanFacts { missing: None, ..foreign };
        assert_eq!(plan(&with_commitment, DELAYS), OrphanVerdict::Leave);
    }

    #[test]
    fn nothing_is_deleted_on_a_partial_read_while_paused_or_in_doubt() {
        let wait = OrphanVerdict::Wait(DELAYS.retry);
        let partial = Partial { kind: "Reservation".to_owned(), cluster: "b".into(), object: None, why: String::new() };
        assert_eq!(plan(&OrphanFacts { missing: Some(Err(partial)), ..orphan(900) }, DELAYS), wait);
        assert_eq!(plan(&OrphanFacts { untouchable: true, ..orphan(900) }, DELAYS), wait);
    }
}
