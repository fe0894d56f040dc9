//! Everything that a judge remembers: the objects, who is excused for what, since when something is wrong, and what was
//! broken.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation, labels, names};
use berth_laws::testing::{Disturbances, Moment, Promises, confirms, overpromised};
use berth_laws::{Outside, Overdue, Touched, Violation, always_touched};
use berth_telemetry::clock::Clock;
use tokio::time::Instant;

use super::objects::{Objects, is};
use super::rules::Rules;
use crate::{Event, Happened};

pub(super) struct State {
    pub(super) objects: Objects,
    pub(super) outside: Outside,
    pub(super) disturbances: Disturbances,
    pub(super) broken: BTreeSet<String>,
    pub(super) writes: usize,
    pub(super) promises: u64,
    overdue: [Overdue; 2],
    /// The annotation with which a person switches the brake off.
    confirmation: Option<String>,
    clock: Arc<dyn Clock>,
    began: Instant,
}

impl State {
    pub(super) fn new(rules: Rules) -> Self {
        let Rules { clock, brake, frozen, overdue } = rules;
        let hosts = Overdue::on_gone_hosts(overdue, frozen.clone());
        Self {
            objects: Objects::default(),
            outside: Outside::late(),
            disturbances: Disturbances::new(brake),
            broken: BTreeSet::new(),
            writes: 0,
            promises: 0,
            overdue: [hosts, Overdue::without_commitment(overdue, frozen)],
            confirmation: None,
            clock,
            began: Instant::now(),
        }
    }

    pub(super) fn written(&mut self, cluster: &ClusterName, event: &Event, people: bool) {
        self.confirmed(event);
        let Some(touched) = self.objects.follow(cluster, event) else { return };
        self.writes += 1;
        let now = self.now();
        let mut found = if people { self.excuse(&touched, now) } else { self.judge(&touched, now) };
        found.extend(always_touched(&self.objects.snapshot, &self.outside, &touched));
        let version = event.version;
        self.broken.extend(found.iter().map(|violation| format!("version {version}: {}", words(violation))));
        for overdue in &mut self.overdue {
            overdue.learn(&self.objects.snapshot, &touched, now.elapsed);
        }
        self.look_at_the_time();
    }

    fn excuse(&mut self, touched: &Touched, now: Moment) -> Vec<Violation> {
        self.outside.excuse(&self.objects.snapshot, touched);
        self.disturbances.learn(&self.objects.snapshot, touched, now);
        Vec::new()
    }

    fn judge(&mut self, touched: &Touched, now: Moment) -> Vec<Violation> {
        self.outside.learn(&self.objects.snapshot, touched);
        let confirmed = self.confirmation.as_ref().is_some_and(|value| confirms(value, now.wall));
        self.disturbances.judge(&self.objects.snapshot, touched, now, confirmed)
    }

    /// What has been wrong for too long by now. Of what cannot be read nobody knows whether it is there.
    pub(super) fn look_at_the_time(&mut self) {
        let now = self.now().elapsed;
        let slots = self.objects.are_incomplete::<Reservation>();
        let unknown =
            [self.objects.are_incomplete::<Hypervisor>(), slots || self.objects.are_incomplete::<CommittedResource>()];
        for (overdue, _) in self.overdue.iter_mut().zip(unknown).filter(|(_, unknown)| *unknown) {
            overdue.interrupted(now);
        }
        let late = self.overdue.iter().flat_map(|overdue| overdue.broken(now));
        self.broken.extend(late.map(|violation| words(&violation)));
    }

    pub(super) fn interrupted(&mut self) {
        let now = self.now().elapsed;
        self.overdue.iter_mut().for_each(|overdue| overdue.interrupted(now));
    }

    pub(super) fn promised(&mut self, promises: &Promises) {
        self.promises += 1;
        let found = overpromised(&self.objects.snapshot, &self.outside, promises);
        self.broken.extend(found.iter().map(|violation| format!("promised: {}", words(violation))));
    }

    fn confirmed(&mut self, event: &Event) {
        let metadata = &event.object["metadata"];
        if is::<Knowledge>(event) && metadata["name"] == names::FLAVOR_GROUPS {
            let value = metadata["annotations"][labels::CONFIRM_DISRUPTION].as_str();
            self.confirmation = value.filter(|_| event.happened == Happened::Applied).map(str::to_owned);
        }
    }

    fn now(&self) -> Moment {
        Moment { elapsed: self.began.elapsed(), wall: self.clock.now() }
    }
}

pub(super) fn words(violation: &Violation) -> String {
    format!("{}: {violation}", violation.law.as_str())
}
