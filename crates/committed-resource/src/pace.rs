//! `slotCreationDelay`: an external scheduler is asked slot by slot, and may want a pause between them. It decides how
//! many slots of a plan a look creates; the rest is left to later looks, so that nobody sleeps and no event cuts the
//! pause short. After a restart a pause may be missing.

use std::time::Duration;

use berth_cluster::{FirstSeen, ObjectKey};
use tokio::time::Instant;

/// How much of a plan a look creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paced {
    /// So many of its new slots, the first ones.
    pub slots: usize,
    /// When the next one may be created, if any is left.
    pub again: Option<Duration>,
}

/// When each commitment got its last slot.
#[derive(Debug, Default)]
pub struct Pace {
    last: FirstSeen<ObjectKey>,
}

impl Pace {
    /// Lets a look for a commitment create some of the `wanted` slots, with this pause between two of them.
    pub(crate) fn step(&self, key: &ObjectKey, wanted: usize, pause: Duration) -> Paced {
        let now = Instant::now();
        let paced = paced(wanted, pause, self.last.held_for(key, now));
        if paced.slots > 0 {
            self.last.restart(key, now);
        }
        paced
    }

    /// The commitment is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.last.forget(key);
    }
}

fn paced(wanted: usize, pause: Duration, since_last: Option<Duration>) -> Paced {
    let left = since_last.and_then(|since| pause.checked_sub(since)).filter(|left| !left.is_zero());
    match left {
        _ if wanted == 0 => Paced { slots: 0, again: None },
        Some(left) => Paced { slots: 0, again: Some(left) },
        None => Paced { slots: 1, again: (wanted > 1).then_some(pause) },
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

    fn create(again: Option<u64>) -> Paced {
        Paced { slots: 1, again: again.map(Duration::from_secs) }
    }

    fn wait(seconds: u64) -> Paced {
        Paced { slots: 0, again: Some(Duration::from_secs(seconds)) }
    }

    #[tokio::test(start_paused = true)]
    async fn document_20_section_19_no_20_one_slot_per_pause_and_events_do_not_cut_it_short() {
        let pace = Pace::default();
        assert_eq!(pace.step(&key("a"), 3, PAUSE), create(Some(10)));
        for left in [8, 6] {
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(pace.step(&key("a"), 2, PAUSE), wait(left), "an event comes in between");
        }
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)));
        tokio::time::sleep(PAUSE).await;
        assert_eq!(pace.step(&key("a"), 1, PAUSE), create(None), "the last one");
        assert_eq!(pace.step(&key("a"), 0, PAUSE), Paced { slots: 0, again: None });
    }

    #[tokio::test(start_paused = true)]
    async fn commitments_do_not_wait_for_each_other() {
        let pace = Pace::default();
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)));
        assert_eq!(pace.step(&key("b"), 2, PAUSE), create(Some(10)));
        pace.forget(&key("a"));
        assert_eq!(pace.step(&key("a"), 2, PAUSE), create(Some(10)), "another object of that name");
    }
}
