//! Rejections in a zone and flavor group, one after the other. Two commitments that hold a part of the free capacity each
//! do not fit because of each other: once the first has released its slots, the second may fit.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_core::{GroupName, Zone};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long others wait for a rejected commitment to release its slots.
const LONGEST: Duration = Duration::from_secs(30);

/// The rejected commitments that have slots to release, at most one in each zone and flavor group.
#[derive(Debug, Default)]
pub struct Rejections {
    under_way: Mutex<BTreeMap<(Zone, GroupName), UnderWay>>,
}

#[derive(Debug)]
struct UnderWay {
    commitment: ObjectKey,
    since: Instant,
}

impl Rejections {
    /// Whether a commitment may be rejected now; otherwise the commitment to wait for. `has_slots` says that it has slots to
    /// release, so that the next one waits for it.
    pub(crate) fn begin(&self, key: &ObjectKey, place: (Zone, GroupName), has_slots: bool) -> Result<(), ObjectKey> {
        let mut under_way = self.under_way.lock();
        let other = under_way.get(&place).filter(|other| other.commitment != *key && other.since.elapsed() < LONGEST);
        if let Some(other) = other {
            return Err(other.commitment.clone());
        }
        under_way.remove(&place);
        if has_slots {
            under_way.insert(place, UnderWay { commitment: key.clone(), since: Instant::now() });
        }
        Ok(())
    }

    /// It has released its slots, or is not rejected any more.
    pub(crate) fn end(&self, key: &ObjectKey) {
        self.under_way.lock().retain(|_, one| one.commitment != *key);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(ClusterName::home(), name)
    }

    fn place(zone: &str) -> (Zone, GroupName) {
        (zone.into(), "g".into())
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_waits_until_the_first_has_released_its_slots() {
        let rejections = Rejections::default();
        assert_eq!(rejections.begin(&key("a"), place("az-a"), true), Ok(()));
        assert_eq!(rejections.begin(&key("b"), place("az-a"), true), Err(key("a")));
        assert_eq!(rejections.begin(&key("a"), place("az-a"), true), Ok(()), "again the same");
        assert_eq!(rejections.begin(&key("c"), place("az-b"), true), Ok(()), "in another zone");
        rejections.end(&key("a"));
        assert_eq!(rejections.begin(&key("b"), place("az-a"), true), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_for_a_commitment_without_slots_or_for_long() {
        let rejections = Rejections::default();
        assert_eq!(rejections.begin(&key("a"), place("az-a"), false), Ok(()));
        assert_eq!(rejections.begin(&key("b"), place("az-a"), true), Ok(()));
        tokio::time::sleep(LONGEST).await;
        assert_eq!(rejections.begin(&key("c"), place("az-a"), true), Ok(()));
        rejections.end(&key("b"));
        assert_eq!(rejections.begin(&key("d"), place("az-a"), true), Err(key("c")));
    }
}
