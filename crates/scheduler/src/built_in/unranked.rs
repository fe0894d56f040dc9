//! The hosts that a request would get, for counting: they are not ranked, and not found in one critical section.

use berth_capacity_view::HostId;
use berth_core::HostName;
use parking_lot::MutexGuard;

use super::BuiltIn;
use crate::engine::{self, Scope};
use crate::{Candidates, Request, SchedulerError};

/// Hosts per critical section: about as long as a slot takes to be placed, which then hardly waits.
const CHUNK: usize = 32;

impl BuiltIn {
    /// All hosts of the view that the filters leave.
    pub(super) fn feasible_hosts(&self, request: &Request) -> Result<Vec<HostName>, SchedulerError> {
        let (mut found, mut from) = (Vec::new(), Some(0));
        while let Some(begin) = from {
            let inner = self.lock();
            let view = &inner.fleet.view;
            let ids: Vec<HostId> = view.present().iter_from(begin).take(CHUNK).collect();
            from = ids.last().filter(|_| ids.len() == CHUNK).map(|last| last.index() + 1);
            let pipeline = inner.settings.pipelines.get(request.pipeline_name()?)?;
            let overlay = view.overlay();
            let feasible = engine::feasible(&pipeline, request, (&inner.fleet, &overlay, None), Scope::Only(&ids));
            // Without fairness this thread would take the lock again before one that waits.
            MutexGuard::unlock_fair(inner);
            found.extend(feasible?);
        }
        Ok(found)
    }

    /// The hosts of a request that does not list any; others are ranked, because what they list may be more than the view has.
    pub(super) fn find_unranked(&self, request: &Request) -> Result<Vec<HostName>, SchedulerError> {
        if !request.options.read_only {
            return Err(SchedulerError::Options("a probe must set read_only"));
        }
        if request.candidates == Candidates::All && request.options.max_candidates == 0 {
            return self.feasible_hosts(request);
        }
        let decision = self.run(request)?;
        decision.failed.map_or(Ok(decision.hosts), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tests::{gib, host, now, request, slot, with_intent};
    use crate::{Intent, Options, Scheduler as _, Settings};

    /// More hosts than a chunk has, of which some are too small or full.
    #[test]
    fn they_are_the_hosts_that_a_ranking_has() {
        let scheduler = BuiltIn::new(Settings::default(), Box::new(|_| {}));
        for number in 0..3 * CHUNK + 7 {
            let name = format!("h{number}");
            let size = if number % 5 == 0 { gib(1, 1) } else { gib(16, 64) };
            scheduler.host_changed(&name.as_str().into(), Some(host(&name, size)));
            if number % 7 == 0 {
                let held = slot(&format!("s{number}"), &name, gib(16, 60), &[]);
                scheduler.reservation_changed(&held.key.clone(), Some(held));
            }
        }
        scheduler.host_changed(&"h300".into(), None);
        let asked =
            with_intent(request(4, 16 * 1024, &[("capabilities:hypervisor_type", "CH")]), Intent::CapacityProbe);
        let pipeline = "kvm-general-purpose-load-balancing".to_owned();
        let asked = Request { pipeline, options: Options::read_only(), ..asked };
        let ranked: BTreeSet<HostName> = now(scheduler.probe(&asked, "")).unwrap().into_iter().collect();
        let counted = now(scheduler.probe_unranked(&asked, "")).unwrap();
        assert!(ranked.len() > CHUNK && ranked.len() == counted.len());
        assert_eq!(counted.into_iter().collect::<BTreeSet<_>>(), ranked);
        let changing = Request { options: Options::default(), ..asked };
        assert!(matches!(now(scheduler.probe_unranked(&changing, "")), Err(SchedulerError::Options(_))));
    }
}
