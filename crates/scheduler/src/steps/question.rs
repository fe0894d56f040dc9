//! Which reservations count for a request, from its intent, its options and the parameters of the capacity filter.

use std::collections::BTreeSet;

use berth_capacity_view::Question;
use berth_core::{GroupName, ProjectId};

use crate::request::HW_VERSION;
use crate::run::Run;
use crate::{Intent, ReservationType};

/// The hint that names the flavor group of the request.
pub(crate) const RESOURCE_GROUP: &str = "_cortex_resource_group";

/// Parameters that are combined with the options of the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) lock: bool,
    pub(crate) empty: bool,
    pub(crate) ignored: BTreeSet<ReservationType>,
}

/// The project and group whose slots are unlocked, as long as the question lives.
pub(crate) struct Owner(ProjectId, GroupName);

/// The owner whose slots the request may use, if any.
pub(crate) fn owner(run: &Run<'_>, extra: &Extra) -> Option<Owner> {
    let locked = extra.lock || run.request.options.lock_reservations;
    let group = run.extra_spec(HW_VERSION).filter(|group| !group.is_empty())?;
    let may = !locked && run.intent != Some(Intent::ReserveForCommittedResource);
    may.then(|| Owner(run.request.project.clone(), GroupName::new(group)))
}

pub(crate) fn question<'q>(run: &'q Run<'_>, extra: &Extra, owner: Option<&'q Owner>) -> Question<'q> {
    let options = &run.request.options;
    let ignores = |of| extra.ignored.contains(&of) || options.ignored_reservation_types.contains(&of);
    Question {
        assume_empty: extra.empty || options.assume_empty_hosts,
        ignore_committed: ignores(ReservationType::Committed),
        ignore_failover: ignores(ReservationType::Failover),
        ignore_in_flight: ignores(ReservationType::InFlight),
        count_ungrouped: run.intent == Some(Intent::ReserveForCommittedResource),
        owner: owner.map(|Owner(project, group)| (project, group)),
        own_failover: run.intent == Some(Intent::Evacuate),
        any_failover: run.intent == Some(Intent::ReuseFailoverReservation),
        vm: Some(&run.request.instance),
    }
}
