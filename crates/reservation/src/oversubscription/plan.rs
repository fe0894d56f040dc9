//! Plan: the step for a host. A function of facts.

use std::time::Duration;

use berth_core::{Resources, SlotKey};

use super::choice::choose;
use super::facts::OversubscriptionFacts;

/// The settings from the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// `oversubscriptionGracePeriod`: how long a host must be over-booked before a slot leaves it, and between two
    /// evictions.
    pub grace: Duration,
    /// `oversubscriptionMinCheckInterval`: the least time between two checks of a host.
    pub interval: Duration,
    /// `enableOversubscriptionReservationEviction`: slots may leave; otherwise hosts are only counted.
    pub evict: bool,
    pub evict_occupied: bool,
}

/// The report and the step for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OversubscriptionPlan {
    /// By how much it is over-booked; nothing when it is not.
    pub excess: Resources,
    pub step: OversubscriptionStep,
}

/// The step for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OversubscriptionStep {
    Nothing,
    /// It may end by itself; reconcile again after this time.
    Wait(Duration),
    Evict(Vec<SlotKey>),
    /// It stays over-booked until a user acts.
    Stuck(Stuck),
}

/// Why an over-booked host is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    Disabled,
    NoSlotHelps,
}

/// Plans a reconciliation of a host that has been over-booked for `over_for`, as far as this process knows.
pub fn plan(facts: &OversubscriptionFacts, over_for: Duration, settings: &Settings) -> OversubscriptionPlan {
    let excess = facts.excess();
    OversubscriptionPlan { excess, step: step(excess, facts, over_for, settings) }
}

/// The slots that the host would lose at the end of its grace period.
pub fn evictions(facts: &OversubscriptionFacts, settings: &Settings) -> Vec<SlotKey> {
    match plan(facts, settings.grace, settings).step {
        OversubscriptionStep::Evict(slots) => slots,
        _ => Vec::new(),
    }
}

fn step(
    excess: Resources,
    facts: &OversubscriptionFacts,
    over_for: Duration,
    settings: &Settings,
) -> OversubscriptionStep {
    if excess == Resources::ZERO {
        return OversubscriptionStep::Nothing;
    }
    if over_for < settings.grace {
        return OversubscriptionStep::Wait(settings.grace.saturating_sub(over_for));
    }
    if !settings.evict {
        return OversubscriptionStep::Stuck(Stuck::Disabled);
    }
    let under_way: Resources = facts.slots.iter().filter(|slot| slot.leaving).map(|slot| slot.block).sum();
    let staying = (excess - under_way).at_least_zero();
    if staying == Resources::ZERO {
        return OversubscriptionStep::Wait(settings.interval);
    }
    let chosen = choose(staying, &facts.slots, settings.evict_occupied);
    if chosen.is_empty() {
        return OversubscriptionStep::Stuck(Stuck::NoSlotHelps);
    }
    OversubscriptionStep::Evict(chosen.into_iter().map(|slot| slot.key.clone()).collect())
}

#[cfg(test)]
mod tests;
