//! Metrics about reservations.

use std::collections::BTreeMap;

use berth_cluster::Store;
use berth_core::Resources;
use berth_crds::conditions::{self, Status};
use berth_crds::{Condition, Reservation, facts};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

const RESERVATIONS: Metric = Metric {
    name: "cortex_reservations",
    kind: Kind::Gauge,
    labels: &["status_ready", "status_error"],
    help: "Reservations of all types, by status of their Ready condition and, when it is False, its reason.",
};

const ALLOCATED: Metric = Metric {
    name: "cortex_reservations_allocated_resources",
    kind: Kind::Gauge,
    labels: &["status_ready", "status_error", "host", "resource"],
    help: "Sum of the sizes of the reservations on a host: memory in bytes, cpu in cores.",
};

const STATE: Metric = Metric {
    name: "cortex_reservation_state",
    kind: Kind::Gauge,
    labels: &["domain", "type", "state", "reason"],
    help: "Reservations by scheduling domain, type, state (ready, error, unknown) and reason.",
};

const REVOKED: Metric = Metric {
    name: "berth_slots_revoked_total",
    kind: Kind::Counter,
    labels: &["cause"],
    help: "Slots that lost their host, by cause: cleared, host_gone, no_such_host, wrong_zone, overbooked, oversubscribed.",
};

const ADOPTED: Metric = Metric {
    name: "berth_vms_adopted_total",
    kind: Kind::Counter,
    labels: &["flavor_group"],
    help: "VMs that ran beside a slot of their project and group and were added to its allocations.",
};

/// The metrics that reconciliations write; the others are computed when they are read.
#[derive(Clone, Debug)]
pub struct ReservationMetrics {
    pub revoked: IntCounterVec,
    /// VMs that were added to slots beside which they ran, by flavor group.
    pub adopted: IntCounterVec,
}

impl ReservationMetrics {
    pub fn register(metrics: &Metrics, reservations: &Store<Reservation>) -> Result<Self, MetricsError> {
        let store = reservations.clone();
        metrics.computed(&RESERVATIONS, move || counted(&store, |object| readiness(object).to_vec()))?;
        let store = reservations.clone();
        metrics.computed(&ALLOCATED, move || allocated(&store))?;
        let store = reservations.clone();
        metrics.computed(&STATE, move || counted(&store, |object| state(object).to_vec()))?;
        Ok(Self { revoked: metrics.counter(&REVOKED)?, adopted: metrics.counter(&ADOPTED)? })
    }
}

type Values = Vec<(Vec<String>, f64)>;

fn counted(store: &Store<Reservation>, labels: impl Fn(&Reservation) -> Vec<String>) -> Values {
    let mut counts: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    for entry in store.all() {
        *counts.entry(labels(&entry.object)).or_default() += 1.0;
    }
    counts.into_iter().collect()
}

fn allocated(store: &Store<Reservation>) -> Values {
    let mut sums: BTreeMap<[String; 3], Resources> = BTreeMap::new();
    for entry in store.all() {
        let host = entry.object.status.as_ref().and_then(|status| status.host.clone()).unwrap_or_default();
        let [ready, error] = readiness(&entry.object);
        *sums.entry([ready, error, host]).or_default() += facts::size(&entry.object.spec.resources);
    }
    let by_resource = |(labels, sum): ([String; 3], Resources)| {
        [("memory", sum.memory.get()), ("cpu", sum.cpu.get())].map(|(resource, amount)| {
            let labels = labels.iter().cloned().chain([resource.to_owned()]).collect();
            (labels, number(amount))
        })
    };
    sums.into_iter().flat_map(by_resource).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a double; beyond 2^53 bytes its precision is enough")]
fn number(amount: i64) -> f64 {
    amount as f64
}

fn ready(object: &Reservation) -> Option<&Condition> {
    conditions::ready(&object.status.as_ref()?.conditions)
}

fn readiness(object: &Reservation) -> [String; 2] {
    let condition = ready(object);
    let status = condition.map_or(Status::Unknown.as_str(), |condition| &condition.status);
    let error = condition.filter(|condition| condition.status == Status::False.as_str());
    [status.to_owned(), error.map(|condition| condition.reason.clone()).unwrap_or_default()]
}

fn state(object: &Reservation) -> [String; 4] {
    let state = match readiness(object)[0].as_str() {
        "True" => "ready",
        "False" => "error",
        _ => "unknown",
    };
    let domain = object.spec.scheduling_domain.clone().unwrap_or_default();
    let reason = ready(object).map(|condition| condition.reason.clone()).unwrap_or_default();
    [domain, object.spec.type_.to_string(), state.to_owned(), reason]
}

#[cfg(test)]
mod tests {
    use berth_cluster::indexes::RESERVATION_INDEXES;
    use berth_cluster::testing::filled;
    use berth_core::ClusterName;
    use berth_crds::conditions::ready_condition;
    use berth_crds::{ReservationType, testing};
    use jiff::Timestamp;

    use super::*;

    fn ready(number: u64, status: Status, reason: &str, host: Option<&str>) -> Reservation {
        let mut object = testing::slot("one", number);
        let outcome = object.status.get_or_insert_default();
        outcome.host = host.map(str::to_owned);
        outcome.conditions = vec![ready_condition(status, reason, "a text, with a comma", None, Timestamp::UNIX_EPOCH)];
        object
    }

    fn store() -> Store<Reservation> {
        let mut odd = ready(1, Status::True, "ReservationActive", Some("node1"));
        odd.spec.resources = testing::size("4G", "500m");
        let mut failover = ready(4, Status::True, "ReservationActive", Some("node2"));
        failover.spec.type_ = ReservationType::FailoverReservation;
        let all = [
            ready(0, Status::True, "ReservationActive", Some("node1")),
            odd,
            ready(2, Status::False, "NoHostsFound", None),
            testing::slot("one", 3),
            failover,
        ];
        filled(RESERVATION_INDEXES, &ClusterName::home(), all)
    }

    fn lines(values: Values) -> Vec<String> {
        values.into_iter().map(|(labels, value)| format!("{} {value}", labels.join(","))).collect()
    }

    /// The reason instead of the message, and numeric values of quantities; cores are rounded up.
    #[test]
    fn reservations_by_condition_and_host() {
        let store = store();
        let by_condition = lines(counted(&store, |object| readiness(object).to_vec()));
        assert_eq!(by_condition, ["False,NoHostsFound 1", "True, 3", "Unknown, 1"]);
        let memory = (480_u64 << 30) + 4_000_000_000;
        let by_host = lines(allocated(&store));
        assert!(by_host.contains(&format!("True,,node1,memory {memory}")), "{by_host:#?}");
        assert!(by_host.contains(&"True,,node1,cpu 31".to_owned()), "{by_host:#?}");
        assert!(by_host.contains(&"False,NoHostsFound,,cpu 30".to_owned()), "{by_host:#?}");
    }

    #[test]
    fn state_of_reservations() {
        let states = lines(counted(&store(), |object| state(object).to_vec()));
        assert_eq!(
            states,
            [
                "nova,CommittedResourceReservation,error,NoHostsFound 1",
                "nova,CommittedResourceReservation,ready,ReservationActive 2",
                "nova,CommittedResourceReservation,unknown, 1",
                "nova,FailoverReservation,ready,ReservationActive 1",
            ]
        );
    }
}
