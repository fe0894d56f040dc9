//! Hosts for slots: one, all of a commitment, or a given host. Each answer is held by an assume entry before the
//! lock is released (D13, U1).

use berth_capacity_view::{Assumed, HostId, HostState};
use berth_core::{HostName, SlotKey, VmId, mutants::Mutant};

use super::inner::Inner;
use crate::{Pin, Placed, Placement, Request, SchedulerError, Shortage, SlotRequest, WholeRequest, engine::Scope};

/// What looking for a host gives.
enum Found {
    /// The slot has an entry that is good for it.
    Standing(HostName),
    /// A host that has room, with an entry now.
    New(HostName),
    Nowhere(Shortage),
}

impl Inner {
    pub(super) fn place(&mut self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        let mut freed = Vec::new();
        let found = self.find(slot, &mut freed);
        self.kept.remove(&slot.key);
        let placed = found.map(|found| match found {
            Found::Standing(host) | Found::New(host) => {
                self.waiting.leave(&slot.key);
                Placed::Host(host)
            }
            Found::Nowhere(shortage) => {
                self.waiting.enter(slot, shortage.clone());
                Placed::Nowhere(shortage)
            }
        });
        self.serve(freed);
        placed
    }

    pub(super) fn place_all(&mut self, whole: &WholeRequest) -> Result<Placement, SchedulerError> {
        let mut freed = Vec::new();
        let found = self.find_all(whole, &mut freed);
        let refused = !found.iter().all(is_found);
        let failed = found.iter().any(Result::is_err);
        for (slot, found) in whole.slots.iter().zip(&found) {
            self.conclude(slot, found, failed || refused && whole.all_or_nothing, whole.existing);
        }
        let doubt = (refused && !failed && whole.all_or_nothing).then(|| self.doubt_in_the_way(whole)).flatten();
        self.serve(freed);
        if let Some(entry) = doubt {
            return Err(in_doubt(&entry));
        }
        let mut shortage = None;
        let hosts = found.into_iter().map(|found| Ok(host(found?, &mut shortage))).collect::<Result<_, _>>()?;
        Ok(Placement::Decided { hosts, shortage })
    }

    fn find_all(&mut self, whole: &WholeRequest, freed: &mut Vec<HostId>) -> Vec<Result<Found, SchedulerError>> {
        self.fleet.view.pretend(&whole.release, &whole.shrink);
        let found = whole.slots.iter().map(|slot| self.find(slot, freed)).collect();
        self.fleet.view.face_facts();
        found
    }

    /// Of the entries in doubt without which the whole would have had room the first: the write that it belongs to may have
    /// come to nothing, and what nobody knows is no reason to reject (U37).
    fn doubt_in_the_way(&mut self, whole: &WholeRequest) -> Option<Assumed> {
        let is_own = |entry: &Assumed| whole.slots.iter().any(|slot| slot.key == entry.key);
        let entries = self.fleet.view.all_assumed().filter(|entry| entry.doubt || is_own(entry));
        let (own, doubts): (Vec<Assumed>, Vec<Assumed>) = entries.cloned().partition(is_own);
        if doubts.is_empty() {
            return None;
        }
        for entry in &doubts {
            drop(self.fleet.view.forget(&entry.key));
        }
        let fits = self.find_all(whole, &mut Vec::new()).iter().all(is_found);
        whole.slots.iter().for_each(|slot| drop(self.fleet.view.forget(&slot.key)));
        own.iter().chain(&doubts).for_each(|entry| drop(self.fleet.view.assume(entry.clone())));
        doubts.into_iter().next().filter(|_| fits)
    }

    /// Takes back what was found when the whole is refused; else the list and the keepsakes follow the outcome. A slot
    /// that does not exist yet and does not fit enters the list when it asks for itself.
    fn conclude(&mut self, slot: &SlotRequest, found: &Result<Found, SchedulerError>, refused: bool, existing: bool) {
        match found {
            Ok(Found::New(_)) if refused || Mutant::AssumeEntryDropped.is_on() => {
                drop(self.fleet.view.forget(&slot.key));
            }
            Ok(Found::Standing(_) | Found::New(_)) if !refused => {
                self.waiting.leave(&slot.key);
                self.kept.remove(&slot.key);
            }
            Ok(Found::Nowhere(shortage)) if existing || self.waiting.has(&slot.key) => {
                self.waiting.enter(slot, shortage.clone());
            }
            _ => {}
        }
    }

    /// Looks for a host and makes the entry: the host that is kept for the slot, the one that it prefers, the best.
    fn find(&mut self, slot: &SlotRequest, freed: &mut Vec<HostId>) -> Result<Found, SchedulerError> {
        let standing = self.fleet.view.assumed(&slot.key).cloned();
        if let Some(entry) = standing.as_ref().filter(|entry| entry.doubt) {
            return self.doubtful(entry, slot);
        }
        let request = Request::for_slot(slot);
        freed.extend(self.fleet.view.forget(&slot.key));
        let own_block = !self.fleet.view.pretends(&slot.key);
        if own_block {
            // A slot that is placed anew must not be in its own way.
            self.fleet.view.pretend(std::slice::from_ref(&slot.key), &[]);
        }
        let kept = standing.as_ref().map(|entry| &entry.host);
        let found = self.search(&request, kept, slot.prefer.as_ref());
        if own_block {
            self.fleet.view.face(&slot.key);
        }
        Ok(match found? {
            Ok(host) => {
                let entry = Assumed { key: slot.key.clone(), host: host.clone(), size: slot.size, doubt: false };
                freed.extend(self.fleet.view.assume(entry));
                // The claim of an earlier answer about the slot did not count for this decision.
                freed.extend(self.fleet.view.unclaim(&VmId::new(slot.key.name.as_str())));
                if kept == Some(&host) { Found::Standing(host) } else { Found::New(host) }
            }
            Err(shortage) => Found::Nowhere(shortage),
        })
    }

    fn search(
        &self,
        request: &Request,
        kept: Option<&HostName>,
        prefer: Option<&HostName>,
    ) -> Result<Result<HostName, Shortage>, SchedulerError> {
        for id in kept.into_iter().chain(prefer).filter_map(|host| self.fleet.view.id(host)) {
            if let Ok(host) = self.best(request, Scope::Only(&[id]))? {
                return Ok(Ok(host));
            }
        }
        self.best(request, Scope::Request)
    }

    /// The best host, or why there is none; a failing filter is an error here (U37).
    pub(super) fn best(
        &self,
        request: &Request,
        scope: Scope<'_>,
    ) -> Result<Result<HostName, Shortage>, SchedulerError> {
        let decision = self.run(request, scope)?;
        match decision.failed {
            Some(error) => Err(error),
            None => Ok(decision.hosts.into_iter().next().ok_or(decision.removed)),
        }
    }

    /// The write that an entry in doubt belongs to may have happened, so it can only be repeated.
    fn doubtful(&self, entry: &Assumed, slot: &SlotRequest) -> Result<Found, SchedulerError> {
        let view = &self.fleet.view;
        let host = view.id(&entry.host).and_then(|id| view.state(id)).map(HostState::host);
        let good = host.is_some_and(|host| slot.zone.is_empty() || slot.zone == host.zone);
        if good && slot.size.fits(entry.size) { Ok(Found::Standing(entry.host.clone())) } else { Err(in_doubt(entry)) }
    }

    pub(super) fn pin(&mut self, pin: &Pin) -> Result<bool, SchedulerError> {
        let former = self.fleet.view.assumed(&pin.key).cloned();
        let doubt = former.as_ref().is_some_and(|entry| entry.doubt);
        if let Some(entry) = former.as_ref().filter(|entry| entry.doubt && entry.host != pin.host) {
            return Err(in_doubt(entry));
        }
        if !self.may_hold(pin) {
            return Ok(false);
        }
        let size = former.as_ref().filter(|_| doubt).map_or(pin.size, |entry| entry.size.max(pin.size));
        let freed = self.fleet.view.assume(Assumed { key: pin.key.clone(), host: pin.host.clone(), size, doubt });
        let fits = self.fleet.view.free(&pin.host).is_some_and(|free| free.known().is_some() && !free.overbooked());
        if !fits {
            self.restore(&pin.key, former);
            return Ok(false);
        }
        self.waiting.leave(&pin.key);
        self.kept.remove(&pin.key);
        self.serve(freed);
        Ok(true)
    }

    fn may_hold(&self, pin: &Pin) -> bool {
        let view = &self.fleet.view;
        let host = view.id(&pin.host).and_then(|id| view.state(id)).map(HostState::host);
        host.is_some_and(|host| host.nonsense.is_none() && (pin.zone.is_empty() || pin.zone == host.zone))
    }

    /// Takes back a try: as nothing has changed, nobody has gained room.
    fn restore(&mut self, key: &SlotKey, former: Option<Assumed>) {
        match former {
            Some(entry) => self.fleet.view.assume(entry),
            None => self.fleet.view.forget(key),
        };
    }
}

fn is_found(found: &Result<Found, SchedulerError>) -> bool {
    matches!(found, Ok(Found::Standing(_) | Found::New(_)))
}

fn in_doubt(entry: &Assumed) -> SchedulerError {
    SchedulerError::InDoubt { key: entry.key.clone(), host: entry.host.clone() }
}

fn host(found: Found, first: &mut Option<Shortage>) -> Option<HostName> {
    match found {
        Found::Standing(host) | Found::New(host) => Some(host),
        Found::Nowhere(shortage) => {
            first.get_or_insert(shortage);
            None
        }
    }
}
