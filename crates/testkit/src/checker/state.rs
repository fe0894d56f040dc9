//! The state of a checker: the objects, the excuses, since when something is wrong, and the violations.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation, labels, names};
use berth_invariants::testing::{Disturbances, Moment, Promises, confirms, overpromised};
use berth_invariants::{ExternalChanges, Overdue, Touched, Violation, always_touched};
use berth_telemetry::clock::Clock;
use tokio::time::Instant;

use super::objects::{Objects, is};
use super::settings::CheckerSettings;
use crate::{Event, Happened};

pub(super) struct State {
    pub(super) objects: Objects,
    pub(super) outside: ExternalChanges,
    pub(super) disturbances: Disturbances,
    pub(super) violations: BTreeSet<String>,
    pub(super) writes: usize,
    pub(super) promises: u64,
    overdue: [Overdue; 2],
    /// The annotation with which a user confirms disruption.
    confirmation: Option<String>,
    clock: Arc<dyn Clock>,
    started_at: Instant,
}

impl State {
    pub(super) fn new(rules: CheckerSettings) -> Self {
        let CheckerSettings { clock, disruption_limit, paused, overdue } = rules;
        let hosts = Overdue::on_gone_hosts(overdue, paused.clone());
        Self {
            objects: Objects::default(),
            outside: ExternalChanges::late(),
            disturbances: Disturbances::new(disruption_limit),
            violations: BTreeSet::new(),
            writes: 0,
            promises: 0,
            overdue: [hosts, Overdue::without_commitment(overdue, paused)],
            confirmation: None,
            clock,
            started_at: Instant::now(),
        }
    }

    pub(super) fn written(&mut self, cluster: &ClusterName, event: &Event, people: bool) {
        self.confirmed(event);
        let Some(touched) = self.objects.follow(cluster, event) else { return };
        self.writes += 1;
        let now = self.now();
        let mut found = if people { self.excuse(&touched, now) } else { self.check(&touched, now) };
        found.extend(always_touched(&self.objects.snapshot, &self.outside, &touched));
        let version = event.version;
        self.violations.extend(found.iter().map(|violation| format!("version {version}: {}", describe(violation))));
        for overdue in &mut self.overdue {
            overdue.learn(&self.objects.snapshot, &touched, now.elapsed);
        }
        self.check_overdue();
    }

    fn excuse(&mut self, touched: &Touched, now: Moment) -> Vec<Violation> {
        self.outside.excuse(&self.objects.snapshot, touched);
        self.disturbances.learn(&self.objects.snapshot, touched, now);
        Vec::new()
    }

    fn check(&mut self, touched: &Touched, now: Moment) -> Vec<Violation> {
        self.outside.learn(&self.objects.snapshot, touched);
        let confirmed = self.confirmation.as_ref().is_some_and(|value| confirms(value, now.wall));
        self.disturbances.check(&self.objects.snapshot, touched, now, confirmed)
    }

    /// Reports what has been wrong for too long. While objects cannot be decoded, nothing counts as missing.
    pub(super) fn check_overdue(&mut self) {
        let now = self.now().elapsed;
        let slots = self.objects.are_incomplete::<Reservation>();
        let unknown =
            [self.objects.are_incomplete::<Hypervisor>(), slots || self.objects.are_incomplete::<CommittedResource>()];
        for (overdue, _) in self.overdue.iter_mut().zip(unknown).filter(|(_, unknown)| *unknown) {
            overdue.interrupted(now);
        }
        let late = self.overdue.iter().flat_map(|overdue| overdue.violations(now));
        self.violations.extend(late.map(|violation| describe(&violation)));
    }

    pub(super) fn interrupted(&mut self) {
        let now = self.now().elapsed;
        self.overdue.iter_mut().for_each(|overdue| overdue.interrupted(now));
    }

    pub(super) fn promised(&mut self, promises: &Promises) {
        self.promises += 1;
        let found = overpromised(&self.objects.snapshot, &self.outside, promises);
        self.violations.extend(found.iter().map(|violation| format!("promised: {}", describe(violation))));
    }

    fn confirmed(&mut self, event: &Event) {
        let metadata = &event.object["metadata"];
        if is::<Knowledge>(event) && metadata["name"] == names::FLAVOR_GROUPS {
            let value = metadata["annotations"][labels::CONFIRM_DISRUPTION].as_str();
            self.confirmation = value.filter(|_| event.happened == Happened::Applied).map(str::to_owned);
        }
    }

    fn now(&self) -> Moment {
        Moment { elapsed: self.started_at.elapsed(), wall: self.clock.now() }
    }
}

pub(super) fn describe(violation: &Violation) -> String {
    format!("{}: {violation}", violation.invariant.as_str())
}
