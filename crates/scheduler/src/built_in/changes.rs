//! Capacity that an open change has released and not given out yet. It is held per host, so that no other commitment gets it
//! before the change has ended: a roll-back needs it again.

use std::collections::{BTreeMap, BTreeSet};

use berth_capacity_view::{Assumed, DecisionEntries, HostId, Overlay};
use berth_core::host::Amounts;
use berth_core::{ClusterName, HostName, Resources, SlotKey};

use super::inner::Inner;
use super::placing::{Found, given, into_placement, is_found};
use crate::{CommitmentRequest, DryRunPlacement, Handover, SchedulerError};

impl Inner {
    pub(super) fn dry_run(&self, change: &[CommitmentRequest]) -> Result<Vec<DryRunPlacement>, SchedulerError> {
        let found = self.find_change(&mut self.fleet.view.overlay(), change);
        let failed = found.iter().flatten().any(Result::is_err);
        if !failed
            && !found.iter().flatten().all(is_found)
            && let Some(in_the_way) = self.what_is_in_the_way(change)
        {
            return Err(in_the_way);
        }
        found.into_iter().map(into_placement).collect()
    }

    /// Counts the slots of others again that the decision does not need, and holds what the others leave. Returns the
    /// slots that it needs, and the hosts on which something is held.
    pub(super) fn settle_handover(
        &self,
        overlay: &mut Overlay<'_>,
        handover: &Handover,
    ) -> (Vec<SlotKey>, BTreeSet<HostName>) {
        let view = &self.fleet.view;
        let mut used = Vec::new();
        let mut hosts: BTreeSet<HostName> = self.held.get(&handover.change).cloned().unwrap_or_default();
        for key in &handover.slots {
            let Some(slot) = view.reservation(key) else { continue };
            overlay.restore(key);
            if slot.hosts().any(|host| self.is_worse(overlay, &handover.change, host)) {
                overlay.release(key);
                hosts.extend(slot.hosts().cloned());
                used.push(key.clone());
            }
        }
        let left = |host: &HostName| Some((overlay.free(host)?.known()?, view.free(host)?.or_zero()));
        let held: BTreeMap<_, _> = hosts.iter().filter_map(|host| Some((host.clone(), left(host)?))).collect();
        let mut holding = BTreeSet::new();
        for (host, (after, before)) in held {
            let size = (after - before.at_least_zero()).at_least_zero();
            if size != Resources::ZERO {
                overlay.assume(hold(&handover.change, &host, size));
                holding.insert(host);
            }
        }
        (used, holding)
    }

    /// Whether a host has less than nothing free, and less than before the decision without what was held.
    fn is_worse(&self, overlay: &Overlay<'_>, change: &str, host: &HostName) -> bool {
        let free = |of: Option<Amounts>| of.map(Amounts::or_zero).unwrap_or_default();
        let (after, before) =
            (free(overlay.free(host)), free(self.fleet.view.free(host)) + self.amount_held(change, host));
        let least = Resources::new(before.memory.min(Resources::ZERO.memory), before.cpu.min(Resources::ZERO.cpu));
        !least.fits(after)
    }

    /// The decision keeps nothing, so what was held stays so.
    pub(super) fn keep_held(&self, change: &str, entries: &mut DecisionEntries) {
        for entry in self.held_keys(change).filter_map(|key| self.fleet.view.assumed(&key)) {
            entries.assume(entry.clone());
        }
    }

    pub(super) fn note_held(&mut self, change: &str, hosts: BTreeSet<HostName>) {
        if hosts.is_empty() {
            self.held.remove(change);
        } else {
            self.held.insert(change.to_owned(), hosts);
        }
    }

    pub(super) fn note_given(
        &mut self,
        change: &str,
        commitment: &CommitmentRequest,
        found: &[Result<Found, SchedulerError>],
    ) {
        let slots = commitment.slots.iter().zip(found).filter(|(_, found)| given(found).is_some());
        self.given.extend(slots.map(|(slot, _)| (slot.key.clone(), change.to_owned())));
    }

    /// Ends the entry of a slot. The change gets the capacity back that it has given to a slot that was not created.
    /// Returns the hosts that gained free capacity.
    pub(super) fn end_entry(&mut self, key: &SlotKey) -> Vec<HostId> {
        let entry = self.fleet.view.assumed(key).cloned();
        let freed = self.fleet.view.forget(key);
        let change = self.given.remove(key);
        let has_host = self.fleet.view.reservation(key).is_some_and(|slot| slot.hosts().next().is_some());
        match (entry, change) {
            (Some(entry), Some(change)) if !has_host => {
                self.hold_more(&change, &entry.host, entry.size);
                Vec::new()
            }
            _ => freed,
        }
    }

    /// As much as the entry has held, whatever is free: a slot whose deletion is not observed yet may still be counted.
    fn hold_more(&mut self, change: &str, host: &HostName, size: Resources) {
        let all = self.amount_held(change, host) + size;
        self.fleet.view.assume(hold(change, host, all));
        self.held.entry(change.to_owned()).or_default().insert(host.clone());
    }

    fn amount_held(&self, change: &str, host: &HostName) -> Resources {
        self.fleet.view.assumed(&hold_key(change, host)).map(|entry| entry.size).unwrap_or_default()
    }

    pub(super) fn held_keys<'a>(&'a self, change: &'a str) -> impl Iterator<Item = SlotKey> + 'a {
        self.held.get(change).into_iter().flatten().map(move |host| hold_key(change, host))
    }

    pub(super) fn hold_for_change(&mut self, change: &str, slots: &[(HostName, Resources)]) {
        let mut wanted: BTreeMap<&HostName, Resources> = BTreeMap::new();
        for (host, size) in slots {
            *wanted.entry(host).or_default() += *size;
        }
        for (host, wanted) in wanted {
            let Some(free) = self.fleet.view.free(host).and_then(Amounts::known) else { continue };
            let free = free.at_least_zero();
            let size = Resources::new(wanted.memory.min(free.memory), wanted.cpu.min(free.cpu));
            self.fleet.view.assume(hold(change, host, size));
            self.held.entry(change.to_owned()).or_default().insert(host.clone());
        }
    }

    pub(super) fn end_change(&mut self, change: &str) {
        let keys: Vec<SlotKey> = self.held_keys(change).collect();
        self.held.remove(change);
        self.given.retain(|_, of| of != change);
        let freed = keys.iter().flat_map(|key| self.fleet.view.forget(key)).collect();
        self.serve(freed);
    }
}

fn hold(change: &str, host: &HostName, size: Resources) -> Assumed {
    Assumed { key: hold_key(change, host), host: host.clone(), size, vms: [].into(), doubt: false }
}

/// The slash is in no name of an object, so that this is the key of no slot.
fn hold_key(change: &str, host: &HostName) -> SlotKey {
    SlotKey::new(ClusterName::home(), format!("{change}/{host}"))
}
