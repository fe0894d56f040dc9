//! Where VMs were when their in-flight reservations were first seen: a VM has landed when it is on another host. The
//! records start empty after a restart, because no process observed the time in between.

use std::collections::{BTreeMap, BTreeSet};

use berth_cluster::ObjectKey;
use berth_core::HostName;
use parking_lot::Mutex;

/// First sights, each with the uid of the object, as one of the same name may follow it.
#[derive(Debug, Default)]
pub(super) struct FirstSeenObjects {
    first: Mutex<BTreeMap<ObjectKey, (String, BTreeSet<HostName>)>>,
}

impl FirstSeenObjects {
    /// The hosts that listed the VM at first sight; that is now, with the hosts `now`, if there was none before. Without
    /// hosts nothing is observed.
    pub(super) fn first(
        &self,
        key: &ObjectKey,
        uid: &str,
        now: Option<&BTreeSet<HostName>>,
    ) -> Option<BTreeSet<HostName>> {
        let mut first = self.first.lock();
        if let Some((_, hosts)) = first.get(key).filter(|(known, _)| known == uid) {
            return Some(hosts.clone());
        }
        first.insert(key.clone(), (uid.to_owned(), now?.clone()));
        now.cloned()
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.first.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    #[test]
    fn the_first_sight_of_an_object_stays_until_it_is_gone_or_another_one() {
        let (first_seen, key) = (FirstSeenObjects::default(), ObjectKey::new(ClusterName::home(), "i1"));
        let hosts = |names: &[&str]| -> BTreeSet<HostName> { names.iter().map(|name| (*name).into()).collect() };
        let (a, b) = (hosts(&["a"]), hosts(&["b"]));
        assert_eq!(first_seen.first(&key, "u", None), None, "the hosts cannot be read");
        assert_eq!(first_seen.first(&key, "u", Some(&a)), Some(a.clone()));
        assert_eq!(first_seen.first(&key, "u", Some(&b)), Some(a.clone()));
        assert_eq!(first_seen.first(&key, "u", None), Some(a.clone()));
        assert_eq!(first_seen.first(&key, "another", Some(&b)), Some(b.clone()));
        first_seen.forget(&key);
        assert_eq!(first_seen.first(&key, "another", Some(&a)), Some(a));
    }
}
