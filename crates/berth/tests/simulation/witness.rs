//! Judges every answer of the scheduler of a process that leads: if everything that it holds for answers came true at once,
//! what is kept for the waiting list included, no host may be over-booked. Claims count only where the laws can know of
//! them (`docs/testing.md`): they are the memory of whoever leads.

use berth_capacity_view::{Assumed, Claim, View};
use berth_cluster::Fence;
use berth_core::{Resources, SlotKey};
use berth_crds::facts::resource_map;
use berth_laws::Key;
use berth_laws::testing::{Promise, Promises};
use berth_scheduler::{BuiltIn, WholeRequest};
use berth_testkit::Judge;
use parking_lot::Mutex;

/// Who listens to the scheduler of a process.
pub struct Witness {
    pub judge: Judge,
    /// Nobody relies on what a process answers that may not write.
    pub fence: Fence,
    /// Claims are judged, too.
    pub claims: bool,
    plans: Mutex<Vec<Plan>>,
}

/// What goes before the slots of a plan stand, as long as one of them is held.
struct Plan {
    slots: Vec<SlotKey>,
    released: Vec<Key>,
    shrunk: Vec<(SlotKey, Resources)>,
}

impl Witness {
    pub fn new(judge: Judge, fence: Fence, claims: bool) -> Self {
        Self { judge, fence, claims, plans: Mutex::default() }
    }

    /// From now on.
    pub fn listens(self, scheduler: &BuiltIn) {
        scheduler.on_answer(move |view, whole| self.told(view, whole));
    }

    fn told(&self, view: &View, whole: Option<&WholeRequest>) {
        if self.fence.check().is_err() {
            return;
        }
        let mut plans = self.plans.lock();
        plans.extend(whole.map(plan));
        plans.retain(|plan| plan.slots.iter().any(|slot| view.assumed(slot).is_some()));
        let claims = view.all_claims().filter(|_| self.claims).map(on_its_way);
        self.judge.promised(&Promises {
            given: view.all_assumed().map(to_be_written).chain(claims).collect(),
            released: plans.iter().flat_map(|plan| plan.released.clone()).collect(),
            shrunk: plans
                .iter()
                .flat_map(|plan| &plan.shrunk)
                .map(|(slot, size)| (key(slot), resource_map(*size)))
                .collect(),
        });
    }
}

fn plan(whole: &WholeRequest) -> Plan {
    Plan {
        slots: whole.slots.iter().map(|slot| slot.key.clone()).collect(),
        released: whole.release.iter().map(key).collect(),
        shrunk: whole.shrink.clone(),
    }
}

fn to_be_written(entry: &Assumed) -> Promise {
    Promise::Slot { key: key(&entry.key), host: entry.host.to_string(), size: resource_map(entry.size) }
}

fn on_its_way(claim: &Claim) -> Promise {
    let (id, host) = (claim.instance.to_string(), claim.host.to_string());
    Promise::Vm { id, host, size: resource_map(claim.size), slot: claim.slot.as_ref().map(key) }
}

fn key(slot: &SlotKey) -> Key {
    Key::new(slot.cluster.clone(), slot.name.as_str())
}
