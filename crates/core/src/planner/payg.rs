//! Pre-allocation of pay-as-you-go VMs: a commitment that grows first gets slots around VMs that its project runs outside
//! of slots already. Such a slot has the host of its VM, and takes no more capacity there than the VM does.

use std::cmp::Reverse;

use super::{MAX_NEW_SLOTS, NewSlot, PlanDraft, PlannerInput, RunningVm, Target};
use crate::flavor::{Flavor, FlavorGroup};
use crate::units::Bytes;

impl PlanDraft<'_> {
    /// The largest VM that fits comes first. When none fits, the smallest one gets a slot of what is missing. A roll-back
    /// brings back the slots from before, so nothing else is taken over in it.
    pub(super) fn take_over_vms(&mut self, target: &Target, group: &FlavorGroup, world: &PlannerInput<'_>) {
        let rolls_back = world.change.as_ref().is_some_and(|change| !change.former.is_empty());
        if world.vms.is_empty() || rolls_back {
            return;
        }
        // What is missing only becomes less: a VM that was passed over as too large does not fit later.
        let mut too_large = None;
        let most = usize::try_from(MAX_NEW_SLOTS).unwrap_or(usize::MAX);
        for (flavor, vm) in largest_first(world.vms, group).into_iter().take(most) {
            let (memory, missing) = (flavor.size().memory, self.missing(target.memory));
            if memory <= missing {
                self.create_around(target, flavor, vm, world);
            } else if missing > Bytes::ZERO {
                too_large = Some((flavor, vm));
            }
        }
        if let Some((flavor, vm)) = too_large.filter(|_| self.missing(target.memory) > Bytes::ZERO) {
            self.create_around(target, flavor, vm, world);
        }
    }

    fn create_around(&mut self, target: &Target, flavor: &Flavor, vm: &RunningVm, world: &PlannerInput<'_>) {
        let memory = flavor.size().memory.min(self.missing(target.memory));
        let new = self.new_slot(target, flavor, memory, world);
        self.held += memory;
        self.create.push(NewSlot { around: Some(vm.clone()), ..new });
    }
}

/// The VMs of the group by memory descending, then UUID, each once.
fn largest_first<'w>(vms: &'w [RunningVm], group: &'w FlavorGroup) -> Vec<(&'w Flavor, &'w RunningVm)> {
    let mut vms: Vec<_> = vms.iter().filter_map(|vm| Some((group.flavor(&vm.flavor)?, vm))).collect();
    vms.sort_by(|(a, vm_a), (b, vm_b)| (Reverse(a.memory_mib), &vm_a.id).cmp(&(Reverse(b.memory_mib), &vm_b.id)));
    vms.dedup_by(|(_, later), (_, earlier)| later.id == earlier.id);
    vms
}
