//! Hosts for slots: one, all of a commitment, or a given host. Each answer is held by an assume entry before the lock
//! is released.

use std::collections::{BTreeMap, BTreeSet};

use berth_capacity_view::{Assumed, Claim, DecisionEntries, HostState, Overlay, Question};
use berth_core::host::Amounts;
use berth_core::reservation::Reservation;
use berth_core::{HostName, Resources, SlotKey, VmId};

use super::inner::Inner;
use crate::engine::Scope;
use crate::{
    Chooser, CommitmentRequest, DryRunPlacement, HostProblem, Pin, Placed, Placement, Request, SchedulerError,
    Shortage, SlotRequest,
};

/// The result of a search for a host.
pub(super) enum Found {
    /// The host of an entry in doubt, which stays.
    InDoubt(HostName),
    /// The host that was kept for the slot.
    Kept(HostName),
    New(HostName),
    Nowhere(Shortage),
}

impl Found {
    /// The host that the slot can have from now on.
    fn given(&self) -> Option<&HostName> {
        match self {
            Self::Kept(host) | Self::New(host) => Some(host),
            Self::InDoubt(_) | Self::Nowhere(_) => None,
        }
    }

    fn into_host(self) -> Result<HostName, Shortage> {
        match self {
            Self::InDoubt(host) | Self::Kept(host) | Self::New(host) => Ok(host),
            Self::Nowhere(shortage) => Err(shortage),
        }
    }
}

impl Inner {
    pub(super) fn place(&mut self, slot: &SlotRequest) -> Result<Placed, SchedulerError> {
        if !self.planned.admits(slot) {
            return Ok(Placed::Unplanned);
        }
        let mut overlay = self.fleet.view.overlay();
        let found = self.find(&mut overlay, slot);
        let mut entries = overlay.into_entries();
        if let Some(host) = given(&found) {
            entries.assume(self.entry(slot, host));
            entries.unclaim(claimant(slot));
        }
        let freed = self.fleet.view.commit(entries);
        self.kept.remove(&slot.key);
        let placed = found.map(|found| match found.into_host() {
            Ok(host) => {
                self.waiting.leave(&slot.key);
                Placed::Host(host)
            }
            Err(shortage) => {
                self.waiting.enter(slot, shortage.clone());
                Placed::Nowhere(shortage)
            }
        });
        self.serve(freed);
        placed
    }

    pub(super) fn place_all(&mut self, commitment: &CommitmentRequest) -> Result<Placement, SchedulerError> {
        if commitment.existing && !commitment.slots.iter().all(|slot| self.planned.admits(slot)) {
            return Ok(Placement::Later);
        }
        let mut overlay = self.fleet.view.overlay();
        self.release_all(&mut overlay, commitment);
        let found = self.find_all(&mut overlay, commitment);
        let refused = !found.iter().all(is_found);
        let failed = found.iter().any(Result::is_err);
        let keeps_nothing = failed || refused && commitment.all_or_nothing;
        let (used, hosts_held) = match &commitment.handover {
            Some(handover) if !keeps_nothing => self.settle_handover(&mut overlay, handover),
            _ => Default::default(),
        };
        let mut entries = overlay.into_entries();
        for (slot, found) in commitment.slots.iter().zip(&found) {
            self.conclude(slot, found, keeps_nothing, commitment.existing, &mut entries);
        }
        match &commitment.handover {
            Some(handover) if keeps_nothing => self.keep_held(&handover.change, &mut entries),
            Some(handover) => {
                self.note_held(&handover.change, hosts_held);
                self.note_given(&handover.change, commitment, &found);
            }
            None => {}
        }
        let freed = self.fleet.view.commit(entries);
        let in_the_way = (refused && !failed && commitment.all_or_nothing)
            .then(|| self.what_is_in_the_way(std::slice::from_ref(commitment)))
            .flatten();
        self.serve(freed);
        if let Some(in_the_way) = in_the_way {
            return Err(in_the_way);
        }
        let DryRunPlacement { hosts, shortage } = into_placement(found)?;
        Ok(Placement::Decided { hosts, shortage, used })
    }

    /// Counts everything as free that the plan of a commitment releases.
    pub(super) fn release_all(&self, overlay: &mut Overlay<'_>, commitment: &CommitmentRequest) {
        commitment.shrink.iter().for_each(|(key, size)| overlay.shrink(key, *size));
        commitment.release.iter().for_each(|key| overlay.release(key));
        if let Some(handover) = &commitment.handover {
            handover.slots.iter().for_each(|key| overlay.release(key));
            self.held_keys(&handover.change).for_each(|key| overlay.forget(&key));
        }
    }

    pub(super) fn find_all(
        &self,
        overlay: &mut Overlay<'_>,
        commitment: &CommitmentRequest,
    ) -> Vec<Result<Found, SchedulerError>> {
        // Slots after one that found no host find none either if they are like it, because nothing became free in between.
        let mut refused: Vec<(&SlotRequest, Shortage)> = Vec::new();
        let mut all = Vec::with_capacity(commitment.slots.len());
        for slot in &commitment.slots {
            let known = refused.iter().find(|(other, _)| other.is_like(slot) && self.is_like_any(overlay, slot));
            let found = match known {
                Some((_, shortage)) => Ok(Found::Nowhere(shortage.clone())),
                None => self.find(overlay, slot),
            };
            match &found {
                Ok(Found::Nowhere(shortage)) if known.is_none() => refused.push((slot, shortage.clone())),
                Ok(Found::Nowhere(_)) => {}
                _ => refused.clear(),
            }
            if let Some(host) = given(&found) {
                overlay.assume(self.entry(slot, host));
                overlay.unclaim(&claimant(slot));
            }
            all.push(found);
        }
        all
    }

    /// Releases what all of them release, then finds hosts for one after the other.
    pub(super) fn find_change(
        &self,
        overlay: &mut Overlay<'_>,
        change: &[CommitmentRequest],
    ) -> Vec<Vec<Result<Found, SchedulerError>>> {
        for commitment in change {
            self.release_all(overlay, commitment);
        }
        change.iter().map(|commitment| self.find_all(overlay, commitment)).collect()
    }

    /// True if no entry, claim or Reservation of the slot itself takes capacity that does not count for it, and no VM of
    /// it occupies some already.
    fn is_like_any(&self, overlay: &Overlay<'_>, slot: &SlotRequest) -> bool {
        let is_placed = |slot: &Reservation| slot.target_host.is_some() || slot.status_host.is_some();
        let view = &self.fleet.view;
        overlay.assumed(&slot.key).is_none()
            && overlay.claim_of(&claimant(slot)).is_none()
            && !view.reservation(&slot.key).is_some_and(is_placed)
            && self.hosts_of_vms(slot).is_empty()
    }

    /// The first entry in doubt, or the claims, without which the commitment would have had free capacity. The write of
    /// the entry may have failed, and a VM may never appear: neither must cause a rejection.
    pub(super) fn what_is_in_the_way(&self, change: &[CommitmentRequest]) -> Option<SchedulerError> {
        let is_own =
            |entry: &Assumed| change.iter().any(|commitment| commitment.slots.iter().any(|slot| slot.key == entry.key));
        let view = &self.fleet.view;
        let mut overlay = view.overlay();
        let mut first = None;
        for entry in view.all_assumed().filter(|entry| entry.doubt && !is_own(entry)) {
            overlay.forget(&entry.key);
            first.get_or_insert(entry);
        }
        let fits = |mut overlay| self.find_change(&mut overlay, change).iter().flatten().all(is_found);
        if let Some(entry) = first.filter(|_| fits(overlay.clone())) {
            return Some(doubt_error(entry));
        }
        self.claims_in_the_way(overlay, change)
    }

    /// The same for existing slots. What those need that are not in the waiting list is unknown until they were tried.
    pub(super) fn in_the_way_of(&self, keys: &[SlotKey]) -> Option<SchedulerError> {
        if keys.is_empty() {
            return None;
        }
        let view = &self.fleet.view;
        let slots: Option<Vec<_>> = keys.iter().map(|key| self.waiting.request(key).cloned()).collect();
        match slots {
            Some(slots) => {
                let waiting = CommitmentRequest { slots, existing: true, ..CommitmentRequest::default() };
                self.what_is_in_the_way(&[waiting])
            }
            None => match view.all_assumed().find(|entry| entry.doubt) {
                Some(entry) => Some(doubt_error(entry)),
                None => promised(&view.all_claims().collect::<Vec<_>>()),
            },
        }
    }

    /// The claims on the hosts that the commitment would have got without any claim.
    fn claims_in_the_way(&self, mut overlay: Overlay<'_>, change: &[CommitmentRequest]) -> Option<SchedulerError> {
        let view = &self.fleet.view;
        view.all_claims().next()?;
        overlay.unclaim_all();
        let found: Result<Vec<_>, _> = self.find_change(&mut overlay, change).into_iter().flatten().collect();
        let hosts: BTreeSet<HostName> = found.ok()?.into_iter().map(Found::into_host).collect::<Result<_, _>>().ok()?;
        let (there, elsewhere): (Vec<&Claim>, Vec<_>) =
            view.all_claims().partition(|claim| hosts.contains(&claim.host));
        promised(if there.is_empty() { &elsewhere } else { &there })
    }

    /// Ends the new entries if the whole commitment is refused; otherwise updates the waiting list and the kept hosts.
    /// A slot that does not exist yet and does not fit enters the list with its own request.
    fn conclude(
        &mut self,
        slot: &SlotRequest,
        found: &Result<Found, SchedulerError>,
        refused: bool,
        existing: bool,
        entries: &mut DecisionEntries,
    ) {
        match found {
            Ok(Found::New(_)) if refused => entries.forget(&slot.key),
            Ok(Found::Nowhere(shortage)) if existing || self.waiting.has(&slot.key) => {
                self.waiting.enter(slot, shortage.clone());
            }
            Ok(Found::InDoubt(_) | Found::Kept(_) | Found::New(_)) if !refused => {
                self.waiting.leave(&slot.key);
                self.kept.remove(&slot.key);
            }
            _ => {}
        }
    }

    /// Finds a host: the one that is kept for the slot, the one that it prefers, the best. The former assume entry of
    /// the slot ends, unless it is in doubt.
    fn find(&self, overlay: &mut Overlay<'_>, slot: &SlotRequest) -> Result<Found, SchedulerError> {
        let standing = overlay.assumed(&slot.key).cloned();
        if let Some(entry) = standing.as_ref().filter(|entry| entry.doubt) {
            return self.doubtful(entry, slot);
        }
        overlay.forget(&slot.key);
        let own_block = !overlay.changes_slot(&slot.key);
        if own_block {
            // A slot that is placed again must not count against itself.
            overlay.release(&slot.key);
        }
        let kept = standing.as_ref().map(|entry| &entry.host);
        let request = Request { needs: self.needs(overlay, slot), ..Request::for_slot(slot) };
        let found = self.search(overlay, &request, kept, slot.prefer.as_ref());
        if own_block {
            overlay.restore(&slot.key);
        }
        Ok(match found? {
            Ok(host) if kept == Some(&host) => Found::Kept(host),
            Ok(host) => Found::New(host),
            Err(shortage) => Found::Nowhere(shortage),
        })
    }

    fn search(
        &self,
        overlay: &Overlay<'_>,
        request: &Request,
        kept: Option<&HostName>,
        prefer: Option<&HostName>,
    ) -> Result<Result<HostName, Shortage>, SchedulerError> {
        for id in kept.into_iter().chain(prefer).filter_map(|host| self.fleet.view.id(host)) {
            if let Ok(Ok(host)) = self.best(overlay, request, Scope::Only(&[id])) {
                return Ok(Ok(host));
            }
        }
        self.best(overlay, request, Scope::Request)
    }

    /// The best host, or the shortage; a failing filter is an error here, and so is a host that the slot cannot have.
    pub(super) fn best(
        &self,
        overlay: &Overlay<'_>,
        request: &Request,
        scope: Scope<'_>,
    ) -> Result<Result<HostName, Shortage>, SchedulerError> {
        let decision = self.run(overlay, request, scope)?;
        if let Some(error) = decision.failed {
            return Err(error);
        }
        let Some(host) = decision.hosts.into_iter().next() else { return Ok(Err(decision.removed)) };
        let by = || Ok(Chooser::Pipeline(request.pipeline_name()?.to_owned()));
        check_host(overlay, request, &host, by).map(|()| Ok(host))
    }

    /// The write that an entry in doubt belongs to may have happened, so it can only be repeated.
    fn doubtful(&self, entry: &Assumed, slot: &SlotRequest) -> Result<Found, SchedulerError> {
        let view = &self.fleet.view;
        let host = view.id(&entry.host).and_then(|id| view.state(id)).map(HostState::host);
        let good = host.is_some_and(|host| slot.zone.is_empty() || slot.zone == host.zone);
        if good && slot.size.fits(entry.size) {
            Ok(Found::InDoubt(entry.host.clone()))
        } else {
            Err(doubt_error(entry))
        }
    }

    pub(super) fn pin(&mut self, pin: &Pin) -> Result<bool, SchedulerError> {
        let former = self.fleet.view.assumed(&pin.key).filter(|entry| entry.doubt);
        if let Some(entry) = former.filter(|entry| entry.host != pin.host || entry.vms != pin.vms) {
            return Err(doubt_error(entry));
        }
        if !self.may_hold(pin) {
            return Ok(false);
        }
        let size = former.map_or(pin.size, |entry| entry.size.max(pin.size));
        let (doubt, vms) = (former.is_some(), pin.vms.clone());
        let entry = Assumed { key: pin.key.clone(), host: pin.host.clone(), size, vms, doubt };
        let mut overlay = self.fleet.view.overlay();
        if !pin.vms.is_empty() && !self.fits_around_vms(&overlay, &entry) {
            return Ok(false);
        }
        overlay.assume(entry);
        let fits = overlay.free(&pin.host).is_some_and(|free| free.known().is_some() && !free.overbooked());
        if pin.vms.is_empty() && !fits {
            return Ok(false);
        }
        let freed = self.fleet.view.commit(overlay.into_entries());
        self.waiting.leave(&pin.key);
        self.kept.remove(&pin.key);
        self.serve(freed);
        Ok(true)
    }

    /// Whether a slot with its VMs leaves the host with free capacity, or takes nothing from it: VMs that started outside
    /// of slots may have over-booked it.
    fn fits_around_vms(&self, overlay: &Overlay<'_>, entry: &Assumed) -> bool {
        if entry.vms.keys().any(|vm| self.fleet.view.is_vm_of_other_slot(vm, &entry.key)) {
            return false;
        }
        let mut before = overlay.clone();
        before.forget(&entry.key);
        let free = |of: Option<Amounts>| of.and_then(Amounts::known);
        let (Some(before), Some(after)) = (free(before.free(&entry.host)), free(overlay.free_if(entry))) else {
            return false;
        };
        let least = Resources::new(before.memory.min(Resources::ZERO.memory), before.cpu.min(Resources::ZERO.cpu));
        least.fits(after)
    }

    /// The entry of a slot. The object of one that exists shows its VMs: those of an older request do not count.
    pub(super) fn entry(&self, slot: &SlotRequest, host: &HostName) -> Assumed {
        let is_new = self.fleet.view.reservation(&slot.key).is_none();
        let vms = if is_new { slot.vms.clone() } else { BTreeMap::new() };
        Assumed { key: slot.key.clone(), host: host.clone(), size: slot.size, vms, doubt: false }
    }

    /// What the slot needs on the hosts that list its VMs. It must not count itself in the overlay.
    pub(super) fn needs(&self, overlay: &Overlay<'_>, slot: &SlotRequest) -> Vec<(HostName, Resources)> {
        let need = |host: HostName| {
            let before = overlay.free(&host)?.known()?;
            let after = overlay.free_if(&self.entry(slot, &host))?.known()?;
            Some((host, before - after))
        };
        self.hosts_of_vms(slot).into_iter().filter_map(need).collect()
    }

    fn hosts_of_vms(&self, slot: &SlotRequest) -> BTreeSet<HostName> {
        let view = &self.fleet.view;
        let shown = view.reservation(&slot.key).map(|known| known.expected().map(|(vm, _)| vm).collect::<Vec<_>>());
        let vms = shown.unwrap_or_else(|| slot.vms.keys().collect());
        vms.into_iter().flat_map(|vm| view.hosts_of_vm(vm)).collect()
    }

    fn may_hold(&self, pin: &Pin) -> bool {
        let view = &self.fleet.view;
        let host = view.id(&pin.host).and_then(|id| view.state(id)).map(HostState::host);
        host.is_some_and(|host| host.invalid_amount.is_none() && (pin.zone.is_empty() || pin.zone == host.zone))
    }
}

/// Checks that a host is in the zone of a slot and has free capacity for it, whatever chose it.
pub(super) fn check_host(
    overlay: &Overlay<'_>,
    request: &Request,
    host: &HostName,
    by: impl FnOnce() -> Result<Chooser, SchedulerError>,
) -> Result<(), SchedulerError> {
    let Some(problem) = host_problem(overlay, request, host) else { return Ok(()) };
    Err(SchedulerError::Unfit { by: by()?, host: host.clone(), problem })
}

fn host_problem(overlay: &Overlay<'_>, request: &Request, host: &HostName) -> Option<HostProblem> {
    let known = overlay.view().id(host).and_then(|id| Some((id, overlay.state(id)?.host())));
    let Some((id, known)) = known else { return Some(HostProblem::UnknownCapacity) };
    if !request.zone.is_empty() && request.zone != known.zone {
        return Some(HostProblem::Zone { found: known.zone.clone(), wanted: request.zone.clone() });
    }
    // What the capacity filter asks without parameters.
    let question = Question { count_ungrouped: true, vm: Some(&request.instance), ..Question::default() };
    let needed = request.need_on(host);
    match overlay.free_capacities(&question).at(id) {
        Some(free) if needed.fits(free) => None,
        Some(free) => Some(HostProblem::Capacity { free, needed }),
        None => Some(HostProblem::UnknownCapacity),
    }
}

pub(super) fn given(found: &Result<Found, SchedulerError>) -> Option<&HostName> {
    found.as_ref().ok().and_then(Found::given)
}

pub(super) fn is_found(found: &Result<Found, SchedulerError>) -> bool {
    !matches!(found, Err(_) | Ok(Found::Nowhere(_)))
}

/// The hosts of a commitment, and the first shortage.
pub(super) fn into_placement(found: Vec<Result<Found, SchedulerError>>) -> Result<DryRunPlacement, SchedulerError> {
    let mut shortage = None;
    let mut host = |found: Found| found.into_host().map_err(|first| _ = shortage.get_or_insert(first)).ok();
    let hosts = found.into_iter().map(|found| Ok(host(found?))).collect::<Result<_, _>>()?;
    Ok(DryRunPlacement { hosts, shortage })
}

/// The instance whose claim an earlier response about the slot has made; it did not count for the decision.
fn claimant(slot: &SlotRequest) -> VmId {
    VmId::new(slot.key.name.as_str())
}

fn promised(claims: &[&Claim]) -> Option<SchedulerError> {
    let last = claims.iter().max_by_key(|claim| (claim.until, &claim.instance))?;
    Some(SchedulerError::Promised { last: Box::new(Claim::clone(last)), more: claims.len() - 1 })
}

fn doubt_error(entry: &Assumed) -> SchedulerError {
    SchedulerError::InDoubt { key: entry.key.clone(), host: entry.host.clone() }
}
