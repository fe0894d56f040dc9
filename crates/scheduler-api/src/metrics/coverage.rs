//! What is counted about VMs and the commitments of their projects (document 60 sections 10.1 and 10.2, document 21 section
//! 13). What a commitment does for a VM is decided by the scheduler.

use berth_scheduler::{Answer, Guest, Intent, Request};
use berth_telemetry::declare_metrics;
use prometheus::IntCounterVec;

use crate::GuestLookup;

declare_metrics! {
    /// The counters.
    pub(super) struct CoverageMetrics {
        placements: IntCounterVec["flavor_group", "intent", "cr_slot"], "cortex_nova_placement_total",
            "VMs that got a host, by what the commitments of their project do for them: no_cr, slot_missed, slot_used or error.";
        no_host: IntCounterVec["cr_slot", "flavor_group", "intent"], "cortex_nova_no_host_found_total",
            "Requests without a host, by what the commitments of their project could do for them: no_cr, cr_exhausted, \
           slot_exhausted, slot_blocked or error.";
    }
}

impl CoverageMetrics {
    /// A run that failed is not counted, nor is a VM of no flavor group.
    pub(super) fn covered(&self, request: &Request, guest: &GuestLookup, answer: &Answer) {
        let (group, slot) = match (guest, answer.coverage) {
            (Ok(Some(Guest { group, .. })), Some(coverage)) => (group.as_str(), coverage.as_str()),
            (Err(_), _) if answer.decision.failed.is_none() && is_counted(request, answer) => ("unknown", "error"),
            _ => return,
        };
        let intent = request.intent().map_or("Unknown", Intent::as_str);
        if answer.hosts.is_empty() {
            self.no_host.with_label_values(&[slot, group, intent]).inc();
        } else {
            self.placements.with_label_values(&[group, intent, slot]).inc();
        }
    }
}

/// Trials and what is not to be tracked are no placements.
fn is_counted(request: &Request, answer: &Answer) -> bool {
    let options = &request.options;
    answer.hosts.is_empty() || !(options.read_only || options.skip_committed_resource_tracking)
}
