//! Holds hosts that an external scheduler has chosen: the view keeps them like its own decisions until the objects show
//! them. Only their zone and their free capacity are checked; all else the external scheduler has decided.

use berth_capacity_view::HostState;
use berth_core::{HostName, SlotKey, VmId};

use super::BuiltIn;
use super::inner::Inner;
use super::placing::check_host;
use crate::{Chooser, Request, SchedulerError, SlotRequest};

impl BuiltIn {
    /// All hosts, whatever their state, in the order of their names.
    pub fn host_names(&self) -> Vec<HostName> {
        let inner = self.lock();
        let mut names: Vec<HostName> = inner.fleet.view.hosts().map(|(_, state)| state.host().name.clone()).collect();
        drop(inner);
        names.sort_unstable();
        names
    }

    /// The host that a slot holds already, if it is valid for its size and zone. An invalid entry in doubt is an error:
    /// its write may have happened, so it can only be repeated.
    pub fn is_held(&self, slot: &SlotRequest) -> Result<Option<HostName>, SchedulerError> {
        self.lock().slot_held(slot)
    }

    /// Lets a slot hold this host; false when the host is unknown, and an error when it is in another zone or has no
    /// capacity for the slot. An entry in doubt stays, and one for another host or a smaller size is an error.
    pub fn hold(&self, slot: &SlotRequest, host: &HostName) -> Result<bool, SchedulerError> {
        self.decide(None, |inner| inner.hold_slot(slot, host))
    }
}

impl Inner {
    fn slot_held(&self, slot: &SlotRequest) -> Result<Option<HostName>, SchedulerError> {
        let Some(entry) = self.fleet.view.assumed(&slot.key) else { return Ok(None) };
        let host = self.fleet.view.id(&entry.host).and_then(|id| self.fleet.view.state(id)).map(HostState::host);
        let in_zone = host.is_some_and(|host| slot.zone.is_empty() || slot.zone == host.zone);
        match in_zone && slot.size.fits(entry.size) {
            true => Ok(Some(entry.host.clone())),
            false if entry.doubt => Err(doubt_error(&slot.key, &entry.host)),
            false => Ok(None),
        }
    }

    fn hold_slot(&mut self, slot: &SlotRequest, host: &HostName) -> Result<bool, SchedulerError> {
        if self.fleet.view.id(host).is_none() {
            return Ok(false);
        }
        let doubted = self.fleet.view.assumed(&slot.key).filter(|entry| entry.doubt);
        if let Some(entry) = doubted {
            let same = entry.host == *host && slot.size.fits(entry.size);
            return if same { Ok(true) } else { Err(doubt_error(&slot.key, &entry.host)) };
        }
        let mut overlay = self.fleet.view.overlay();
        overlay.forget(&slot.key);
        overlay.release(&slot.key);
        let request = Request { needs: self.needs(&overlay, slot), ..Request::for_slot(slot) };
        check_host(&overlay, &request, host, || Ok(Chooser::External))?;
        let entry = self.entry(slot, host);
        let mut freed = self.fleet.view.assume(entry);
        freed.extend(self.fleet.view.unclaim(&VmId::new(slot.key.name.as_str())));
        self.waiting.leave(&slot.key);
        self.kept.remove(&slot.key);
        self.serve(freed);
        Ok(true)
    }
}

fn doubt_error(key: &SlotKey, host: &HostName) -> SchedulerError {
    SchedulerError::InDoubt { key: key.clone(), host: host.clone() }
}
