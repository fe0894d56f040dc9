//! `slotCreationDelay`: how many slots of a plan a reconciliation creates when an external scheduler wants pauses
//! between them. The rest follows in later reconciliations, so that nothing sleeps.

use std::time::Duration;

use berth_cluster::{FirstSeen, ObjectKey};
use tokio::time::Instant;

/// How much of a plan a reconciliation creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacedCreates {
    /// The number of its new slots that may be created, first ones first.
    pub slots: usize,
    /// When the next one may be created, if any is left.
    pub requeue_after: Option<Duration>,
}

/// When each commitment got its last slot.
#[derive(Debug, Default)]
pub struct CreatePace {
    last: FirstSeen<ObjectKey>,
}

impl CreatePace {
    /// Lets a reconciliation of a commitment create some of the `wanted` slots, with this pause between two of them.
    pub(crate) fn step(&self, key: &ObjectKey, wanted: usize, pause: Duration) -> PacedCreates {
        let now = Instant::now();
        let paced = paced(wanted, pause, self.last.held_for(key, now));
        if paced.slots > 0 {
            self.last.restart(key, now);
        }
        paced
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.last.forget(key);
    }
}

fn paced(wanted: usize, pause: Duration, since_last: Option<Duration>) -> PacedCreates {
    let left = since_last.and_then(|since| pause.checked_sub(since)).filter(|left| !left.is_zero());
    match left {
        _ if wanted == 0 => PacedCreates { slots: 0, requeue_after: None },
        Some(left) => PacedCreates { slots: 0, requeue_after: Some(left) },
        None => PacedCreates { slots: 1, requeue_after: (wanted > 1).then_some(pause) },
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(ClusterName::home(), name)
    }

    fn create(requeue_after: Option<u64>) -> PacedCreates {
        PacedCreates { slots: 1, requeue_after: requeue_after.map(Duration::from_secs) }
    }

    fn wait(seconds: u64) -> PacedCreates {
        PacedCreates { slots: 0, requeue_after: Some(Duration::from_secs(seconds)) }
    }

    #[tokio::test(start_paused = true)]
    async fn one_slot_per_pause_and_events_do_not_cut_it_short() {
        let pace = CreatePace::default();
        assert_eq!(pace.step(&key("a"), 3, PAUSE), create(Some(10)));
        for left in [8, 6] {
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(pace.step(&key("a"), 2, PAUSE), wait(left), "an event comes in between");
        }
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)));
        tokio::time::sleep(PAUSE).await;
        assert_eq!(pace.step(&key("a"), 1, PAUSE), create(None), "the last attempt");
        assert_eq!(pace.step(&key("a"), 0, PAUSE), PacedCreates { slots: 0, requeue_after: None });
    }

    #[tokio::test(start_paused = true)]
    async fn commitments_do_not_wait_for_each_other() {
        let pace = CreatePace::default();
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)));
        assert_eq!(pace.step(&key("b"), 2, PAUSE), create(Some(10)));
        pace.forget(&key("a"));
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)), "another object of that name");
    }
}
