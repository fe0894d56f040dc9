//! Giving out freed free capacity to the waiting list, oldest commitment first. Only the hosts that gained something
//! are tried: nothing fitted on the others at the last try, and they have no more capacity since.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_capacity_view::HostId;
use berth_core::{HostName, Resources};

use super::inner::Inner;
use crate::engine::Scope;
use crate::{Request, SlotRequest};

impl Inner {
    /// Serves the list with what these hosts have gained. The slots that get a host hold an entry and are enqueued; the
    /// others keep their place and their counts.
    pub(super) fn serve(&mut self, freed: Vec<HostId>) {
        if freed.is_empty() || self.waiting.is_empty() {
            return;
        }
        let freed: Vec<HostId> = freed.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let slots: Vec<Arc<SlotRequest>> = self.waiting.iter().map(|(slot, _)| Arc::clone(slot)).collect();
        for slot in slots {
            if self.serve_one(&slot, &freed) {
                self.waiting.leave(&slot.key);
                self.kept.insert(slot.key.clone());
                self.served.push(slot.key.clone());
            }
        }
    }

    /// A slot of a commitment that was not planned is passed over; it is enqueued when that has happened. A pipeline that
    /// fails leaves the slot in the list; its own next try reports the error.
    fn serve_one(&mut self, slot: &SlotRequest, freed: &[HostId]) -> bool {
        let overlay = self.fleet.view.overlay();
        let needs = self.needs(&overlay, slot);
        let possible: Vec<HostId> = freed.iter().copied().filter(|id| self.could_take(slot, &needs, *id)).collect();
        if possible.is_empty() || !self.planned.admits(slot) {
            return false;
        }
        let request = Request { needs, ..Request::for_slot(slot) };
        let Ok(Ok(host)) = self.best(&overlay, &request, Scope::Only(&possible)) else { return false };
        let entry = self.entry(slot, &host);
        self.fleet.view.assume(entry);
        true
    }

    /// The two cheapest and most frequent reasons why not.
    fn could_take(&self, slot: &SlotRequest, needs: &[(HostName, Resources)], id: HostId) -> bool {
        self.fleet.view.state(id).is_some_and(|state| {
            let host = state.host();
            let need = needs.iter().find(|(name, _)| *name == host.name).map_or(slot.size, |(_, need)| *need);
            (slot.zone.is_empty() || slot.zone == host.zone)
                && state.free_capacity().is_some_and(|free| need.fits(free))
        })
    }
}
