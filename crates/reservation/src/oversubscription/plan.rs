//! Plan: what is done about a host. A function of facts.

use std::time::Duration;

use berth_core::{Resources, SlotKey};

use super::choice::choose;
use super::facts::Facts;

/// What the configuration says.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// `oversubscriptionGracePeriod`: how long a host must be over-booked before a slot leaves it, and between two
    /// evictions.
    pub grace: Duration,
    /// `oversubscriptionMinCheckInterval`: the least time between two checks of a host.
    pub interval: Duration,
    /// `enableOversubscriptionReservationEviction`: slots may leave; otherwise hosts are only counted.
    pub evict: bool,
    /// `oversubscriptionEvictOccupied`: also those with VMs.
    pub evict_occupied: bool,
}

/// What is said and done about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// By how much it is over-booked; nothing when it is not.
    pub excess: Resources,
    /// What is done.
    pub step: Step,
}

/// What is done about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is in order, or not ready.
    Nothing,
    /// It may be over by itself; look again after this time.
    Wait(Duration),
    /// These slots leave it.
    Evict(Vec<SlotKey>),
    /// It stays over-booked until somebody acts.
    Stuck(Stuck),
}

/// Why an over-booked host is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Eviction is not configured.
    Disabled,
    /// No slot that may leave would help.
    NoSlotHelps,
}

/// Plans a look at a host that has been over-booked for `over_for`, as far as this process knows.
pub fn plan(facts: &Facts, over_for: Duration, settings: &Settings) -> Plan {
    let excess = facts.excess();
    Plan { excess, step: step(excess, facts, over_for, settings) }
}

fn step(excess: Resources, facts: &Facts, over_for: Duration, settings: &Settings) -> Step {
    if excess == Resources::ZERO {
        return Step::Nothing;
    }
    if over_for < settings.grace {
        return Step::Wait(settings.grace.saturating_sub(over_for));
    }
    if !settings.evict {
        return Step::Stuck(Stuck::Disabled);
    }
    let under_way: Resources = facts.slots.iter().filter(|slot| slot.leaving).map(|slot| slot.block).sum();
    let staying = (excess - under_way).at_least_zero();
    if staying == Resources::ZERO {
        return Step::Wait(settings.interval);
    }
    let chosen = choose(staying, &facts.slots, settings.evict_occupied);
    if chosen.is_empty() {
        return Step::Stuck(Stuck::NoSlotHelps);
    }
    Step::Evict(chosen.into_iter().map(|slot| slot.key.clone()).collect())
}

#[cfg(test)]
mod tests;
