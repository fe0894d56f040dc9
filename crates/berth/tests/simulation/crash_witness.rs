//! Checks every answer of the scheduler of a leader: if all its claims came true at once, including the capacity that
//! is kept for the waiting list, no host may be over-booked. Claims count only where the invariants can know of them
//! (`docs/testing.md`): they are in the memory of the leader.

use berth_capacity_view::{Assumed, Claim, View};
use berth_cluster::Fence;
use berth_core::{Resources, SlotKey};
use berth_crds::facts::resource_map;
use berth_invariants::Key;
use berth_invariants::testing::{Promise, Promises};
use berth_scheduler::{BuiltIn, CommitmentRequest};
use berth_testkit::InvariantChecker;
use parking_lot::Mutex;

/// Observes the scheduler of a process.
pub struct Witness {
    pub checker: InvariantChecker,
    /// The answers of a process that must not write are not used.
    pub fence: Fence,
    pub claims: bool,
    plans: Mutex<Vec<Plan>>,
}

/// The slots of a plan and what they replace, as long as one of the claims is held.
struct Plan {
    slots: Vec<SlotKey>,
    released: Vec<Key>,
    shrunk: Vec<(SlotKey, Resources)>,
}

impl Witness {
    pub fn new(checker: InvariantChecker, fence: Fence, claims: bool) -> Self {
        Self { checker, fence, claims, plans: Mutex::default() }
    }

    pub fn listens(self, scheduler: &BuiltIn) {
        scheduler.on_answer(move |view, whole| self.reported(view, whole));
    }

    fn reported(&self, view: &View, whole: Option<&CommitmentRequest>) {
        if self.fence.check().is_err() {
            return;
        }
        let mut plans = self.plans.lock();
        plans.extend(whole.map(plan));
        plans.retain(|plan| plan.slots.iter().any(|slot| view.assumed(slot).is_some()));
        let claims = view.all_claims().filter(|_| self.claims).map(on_its_way);
        self.checker.promised(&Promises {
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

fn plan(whole: &CommitmentRequest) -> Plan {
    Plan {
        slots: whole.slots.iter().map(|slot| slot.key.clone()).collect(),
        released: whole.release.iter().map(key).collect(),
        shrunk: whole.shrink.clone(),
    }
}

fn to_be_written(entry: &Assumed) -> Promise {
    let vms = entry.vms.iter().map(|(vm, size)| (vm.to_string(), resource_map(*size))).collect();
    Promise::Slot { key: key(&entry.key), host: entry.host.to_string(), size: resource_map(entry.size), vms }
}

fn on_its_way(claim: &Claim) -> Promise {
    let (id, host) = (claim.instance.to_string(), claim.host.to_string());
    Promise::Vm { id, host, size: resource_map(claim.size), slot: claim.slot.as_ref().map(key) }
}

fn key(slot: &SlotKey) -> Key {
    Key::new(slot.cluster.clone(), slot.name.as_str())
}
