//! Gathers what the objects add to the host report of the scheduler: conditions of the host and of its reservations.

use std::collections::BTreeMap;

use berth_cluster::{ObjectKey, Stores};
use berth_core::host::Amounts;
use berth_core::{Bytes, Cores, Quantity, SlotKey};
use berth_crds::conditions::ready;
use berth_crds::{self as crds, Hypervisor, resources};
use berth_scheduler::HostReport;

/// Everything about one host.
#[derive(Clone, Debug)]
pub(super) struct ExplainedHost {
    pub(super) host: HostReport,
    pub(super) physical: Amounts,
    /// The messages of the Ready conditions, if there are any.
    pub(super) ready_messages: BTreeMap<SlotKey, String>,
}

impl ExplainedHost {
    pub(super) fn gather(host: HostReport, stores: &Stores) -> Self {
        let key = ObjectKey::new(host.host.cluster.clone(), host.host.name.as_str());
        let physical = stores.hypervisors.get(&key).map(|object| physical(&object)).unwrap_or_default();
        let mut message = BTreeMap::new();
        for held in &host.reservations {
            let slot = &held.reservation.key;
            let object = stores.reservations.get(&ObjectKey::new(slot.cluster.clone(), slot.name.as_str()));
            message.extend(object.and_then(|object| condition(&object)).map(|text| (slot.clone(), text)));
        }
        // An invalid reservation is shown as invalid, whatever its last valid condition was.
        for invalid in stores.reservations.invalid_entries() {
            let slot = SlotKey::new(invalid.key.cluster, &*invalid.key.name);
            message.insert(slot, format!("the object cannot be read: {}", invalid.error));
        }
        Self { host, physical, ready_messages: message }
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
