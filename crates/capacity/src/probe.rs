//! Probes: on which hosts the scheduler would place a VM of each flavor of a group, as the hosts are and if they were empty.

use std::collections::{BTreeSet, HashMap};

use berth_core::capacity::{ProbedFlavor, ProbedGroup};
use berth_core::flavor::{Flavor, FlavorGroup};
use berth_core::{HostName, Zone};
use berth_scheduler::{Hints, Intent, Options, Request, ReservationType, Scheduler, SchedulerError};
use futures::{StreamExt as _, stream};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::metrics::CapacityMetrics;
use crate::settings::Settings;

/// The project of the requests, which schedulers know from the reference.
const PROJECT: &str = "cortex-capacity-probe";
/// Requests to an external scheduler at the same time.
const CONCURRENCY: usize = 4;

/// The hosts of a zone by their names, with their positions.
pub(crate) type Positions<'h> = HashMap<&'h HostName, usize>;

/// What a probe counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeKind {
    /// If the hosts were empty.
    Total,
    /// As the hosts are.
    Placeable,
}

/// Asks the scheduler during one cycle.
pub(crate) struct Prober<'a, S> {
    pub(crate) scheduler: &'a S,
    pub(crate) settings: &'a Settings,
    pub(crate) metrics: &'a CapacityMetrics,
    /// The same for all requests of a cycle.
    pub(crate) request_id: String,
    /// A probe without an answer at this time has failed.
    pub(crate) deadline: Instant,
}

impl<S: Scheduler> Prober<'_, S> {
    /// The groups in their order; `None` for one of which a probe has failed.
    pub(crate) async fn probe_zone(
        &self,
        zone: &Zone,
        groups: &[&FlavorGroup],
        hosts: &Positions<'_>,
    ) -> Vec<Option<ProbedGroup>> {
        let flavors = groups.iter().flat_map(|group| &group.flavors);
        let probes: Vec<_> =
            flavors.flat_map(|flavor| KINDS.map(|kind| self.probe(zone, flavor, kind, hosts))).collect();
        let mut found = stream::iter(probes).buffered(CONCURRENCY).collect::<Vec<_>>().await.into_iter();
        groups.iter().map(|group| probed_group(group, &mut found)).collect()
    }

    /// The positions of the hosts that would take a VM; hosts of other zones are left out.
    async fn probe(
        &self,
        zone: &Zone,
        flavor: &Flavor,
        kind: ProbeKind,
        hosts: &Positions<'_>,
    ) -> Option<BTreeSet<usize>> {
        let pipeline = match kind {
            ProbeKind::Total => &self.settings.total_pipeline,
            ProbeKind::Placeable => &self.settings.placeable_pipeline,
        };
        let request = request(zone, flavor, kind, pipeline);
        let answer = answer_until(self.deadline, self.scheduler.probe_unranked(&request, &self.request_id)).await;
        // The scheduler in this process answers at once, and others must get their turn.
        yield_now().await;
        match answer {
            Ok(found) => Some(found.iter().filter_map(|name| hosts.get(name).copied()).collect()),
            Err(error) => {
                self.metrics.count_failed_probe(pipeline);
                warn!(zone = zone.as_str(), flavor = flavor.name.as_str(), pipeline, %error, "capacity probe failed");
                None
            }
        }
    }
}

async fn answer_until<T>(
    deadline: Instant,
    asked: impl Future<Output = Result<T, SchedulerError>>,
) -> Result<T, SchedulerError> {
    let elapsed = |_| Err(SchedulerError::External("no answer before the deadline of the cycle".to_owned()));
    timeout_at(deadline, asked).await.unwrap_or_else(elapsed)
}

const KINDS: [ProbeKind; 2] = [ProbeKind::Total, ProbeKind::Placeable];

/// Takes the answers of its flavors, all of them even if one failed.
fn probed_group(
    group: &FlavorGroup,
    answers: &mut impl Iterator<Item = Option<BTreeSet<usize>>>,
) -> Option<ProbedGroup> {
    let mut take = || answers.next().flatten();
    let of_flavor = |flavor: &Flavor| {
        let (total, placeable) = (take(), take());
        let (name, size) = (flavor.name.clone(), flavor.size());
        Some(ProbedFlavor { name, size, on_empty_hosts: total?, at_present: placeable? })
    };
    let flavors: Vec<Option<ProbedFlavor>> = group.flavors.iter().map(of_flavor).collect();
    let flavors = flavors.into_iter().collect::<Option<Vec<_>>>()?;
    Some(ProbedGroup { name: group.name.clone(), flavors, smallest: group.smallest()?.name.clone() })
}

/// The request of a probe. It changes nothing.
pub(crate) fn request(zone: &Zone, flavor: &Flavor, kind: ProbeKind, pipeline: &str) -> Request {
    let mut options = Options::read_only();
    if kind == ProbeKind::Total {
        options.assume_empty_hosts = true;
        options.ignored_reservation_types =
            [ReservationType::Committed, ReservationType::Failover, ReservationType::InFlight].into();
    }
    Request {
        project: PROJECT.into(),
        zone: zone.clone(),
        hints: Hints::for_intent(Intent::CapacityProbe),
        pipeline: pipeline.to_owned(),
        options,
        ..Request::new(format!("capacity-{}", flavor.name), flavor.clone())
    }
}

#[cfg(test)]
mod tests;
