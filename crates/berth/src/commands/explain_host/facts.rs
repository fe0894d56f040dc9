//! What is known of a host besides what the scheduler knows: what its object says of itself and what its reservations say
//! of themselves.

use std::collections::BTreeMap;

use berth_cluster::{ObjectKey, Stores};
use berth_core::host::Amounts;
use berth_core::{Bytes, Cores, Quantity, SlotKey};
use berth_crds::conditions::ready;
use berth_crds::{self as crds, Hypervisor, resources};
use berth_scheduler::HostReport;

/// Everything about one host.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) host: HostReport,
    /// `status.capacity`: before overcommit.
    pub(super) physical: Amounts,
    /// What each reservation says, where it says something.
    pub(super) said: BTreeMap<SlotKey, String>,
}

impl Facts {
    pub(super) fn gather(host: HostReport, stores: &Stores) -> Self {
        let key = ObjectKey::new(host.host.cluster.clone(), host.host.name.as_str());
        let physical = stores.hypervisors.get(&key).map(|object| physical(&object)).unwrap_or_default();
        let mut said = BTreeMap::new();
        for held in &host.reservations {
            let slot = &held.reservation.key;
            let object = stores.reservations.get(&ObjectKey::new(slot.cluster.clone(), slot.name.as_str()));
            said.extend(object.and_then(|object| condition(&object)).map(|text| (slot.clone(), text)));
        }
        // What cannot be read says so, whatever it said before.
        for malformed in stores.reservations.malformed() {
            let slot = SlotKey::new(malformed.key.cluster, &*malformed.key.name);
            said.insert(slot, format!("the object cannot be read: {}", malformed.error));
        }
        Self { host, physical, said }
    }
}

fn physical(object: &Hypervisor) -> Amounts {
    let capacity = object.status.as_ref().map(|status| &status.capacity);
    let amount = |name: &str| {
        let quantity = Quantity::parse(capacity?.get(name)?.as_str()).ok()?;
        Some(quantity.round_down())
    };
    Amounts { memory: amount(resources::MEMORY).map(Bytes::new), cpu: amount(resources::CPU).map(Cores::new) }
}

/// Why it is ready or not, in its own words.
fn condition(object: &crds::Reservation) -> Option<String> {
    let ready = ready(&object.status.as_ref()?.conditions)?;
    Some(if ready.message.is_empty() { ready.reason.clone() } else { format!("{}: {}", ready.reason, ready.message) })
}
