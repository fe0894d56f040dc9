//! Reports problems of the flavor groups: in `/readyz` of every replica, and by events of the leader on their Knowledge
//! object. They are no reason to take a process out of service.

use berth_cluster::{Event, EventKind, Events, FlavorGroupsCache};
use berth_http::Component;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use super::home::EVERY;

/// What waits, with the reason.
const WAITING: &str = "new and growing commitments wait";

/// Says in `/readyz` what is wrong until `stop`.
pub(super) async fn show(flavor_groups: FlavorGroupsCache, component: Component, stop: CancellationToken) {
    follow(&flavor_groups, stop, |problem| match problem {
        Some(problem) => component.impaired(format!("{WAITING}: {problem}")),
        None => component.ready(),
    })
    .await;
}

/// Publishes an event for each new problem until `stop`.
pub(super) async fn publish(flavor_groups: FlavorGroupsCache, events: Events, stop: CancellationToken) {
    follow(&flavor_groups, stop, |problem| {
        if let Some(problem) = problem {
            flavor_groups.publish(&events, outdated(problem));
        }
    })
    .await;
}

fn outdated(problem: &str) -> Event {
    let note = format!("{problem}; the former flavor groups stay in use, {WAITING}");
    let [reason, action] = ["FlavorGroupsOutdated", "ReadFlavorGroups"].map(str::to_owned);
    Event { kind: EventKind::Warning, reason, action, note }
}

/// Calls `report` at first and whenever the problem has changed.
async fn follow(flavor_groups: &FlavorGroupsCache, stop: CancellationToken, report: impl Fn(Option<&str>)) {
    let (mut tick, mut reported) = (interval(EVERY), None);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let problem = flavor_groups.problem().map(|problem| problem.error.to_string());
        if reported.as_ref() != Some(&problem) {
            report(problem.as_deref());
            reported = Some(problem);
        }
    }
}
