//! Tests of the metrics of runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::host::Host;
use berth_core::{Bytes, Cores, HostName, Resources};
use berth_scheduler::{Answer, BuiltIn, Decision, Settings, Shortage, StepEvent, StepTrace};
use berth_telemetry::metrics::Metrics;

use super::ApiMetrics;
use super::runs::exponential;

fn known(scheduler: &BuiltIn, name: &str) {
    let size = Resources::new(Bytes::new(1 << 40), Cores::new(64));
    let host = Host {
        capacity: size.into(),
        effective_capacity: size.into(),
        allocation: Resources::ZERO.into(),
        ..Host::default()
    };
    scheduler.host_changed(&name.into(), Some(host));
}

fn setting() -> (Arc<BuiltIn>, Metrics, ApiMetrics) {
    let scheduler = Arc::new(BuiltIn::new(Settings::default(), Box::new(|_| {})));
    for name in ["a", "b", "c"] {
        known(&scheduler, name);
    }
    let metrics = Metrics::new(&BTreeMap::new()).unwrap();
    let counted = ApiMetrics::register(&metrics, &scheduler).unwrap();
    (scheduler, metrics, counted)
}

fn weigher(activations: &[(&str, f64)]) -> StepTrace {
    StepTrace {
        step: "kvm_binpack",
        failed: false,
        took: Duration::from_millis(3),
        hosts_in: 3,
        hosts_out: 3,
        origins: vec![2, 0, 1],
        impact: Some(("binpack score", 9.0)),
        activations: activations.iter().map(|(host, number)| (HostName::from(*host), *number)).collect(),
    }
}

fn filter() -> StepTrace {
    StepTrace { step: "filter_correct_az", hosts_in: 24, hosts_out: 3, origins: vec![5, 7, 11], ..StepTrace::default() }
}

fn answer(steps: Vec<StepTrace>, events: Vec<StepEvent>) -> Answer {
    let removed = Shortage { hosts: 24, ..Shortage::default() };
    let decision = Decision { steps, events, removed, ..Decision::default() };
    Answer { hosts: vec!["a".into(), "b".into()], decision, ..Answer::default() }
}

fn shows(metrics: &Metrics, lines: &[&str]) {
    let text = metrics.render();
    for line in lines {
        let line = format!("cortex_filter_weigher_pipeline_{line}");
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
}

#[test]
fn run_and_its_steps() {
    let (_scheduler, metrics, counted) = setting();
    let steps = vec![filter(), weigher(&[("a", 0.5), ("b", -0.25), ("c", 0.0)])];
    counted.ran("p", &answer(steps, Vec::new()), Duration::from_millis(20));
    shows(
        &metrics,
        &[
            "requests_total{pipeline=\"p\"} 1",
            "host_number_in_sum{pipeline=\"p\"} 24",
            "host_number_out_sum{pipeline=\"p\"} 2",
            "run_duration_seconds_sum{pipeline=\"p\"} 0.02",
            "step_run_duration_seconds_sum{pipeline=\"p\",step=\"kvm_binpack\"} 0.003",
            "step_removed_hosts_sum{pipeline=\"p\",step=\"filter_correct_az\"} 21",
            "step_removed_hosts_sum{pipeline=\"p\",step=\"kvm_binpack\"} 0",
            "step_shift_origin_sum{outidx=\"2\",pipeline=\"p\",step=\"filter_correct_az\"} 11",
            "step_shift_origin_bucket{outidx=\"2\",pipeline=\"p\",step=\"filter_correct_az\",le=\"10\"} 0",
            "step_shift_origin_bucket{outidx=\"2\",pipeline=\"p\",step=\"filter_correct_az\",le=\"20\"} 1",
            "step_impact_sum{pipeline=\"p\",stat=\"binpack score\",step=\"kvm_binpack\",unit=\"float\"} 9",
        ],
    );
}

#[test]
fn sums_of_weights_are_of_hosts_that_exist() {
    let (scheduler, metrics, counted) = setting();
    let run = |activations: &[(&str, f64)]| {
        let steps = vec![filter(), weigher(activations), StepTrace { step: "other", ..weigher(activations) }];
        counted.ran("p", &answer(steps, Vec::new()), Duration::ZERO);
    };
    run(&[("a", 0.5), ("ghost", 9.0), ("c", 2.0)]);
    run(&[("b", -1.0), ("a", 0.25)]);
    let series =
        |host: &str, step: &str| format!("step_weight_modification{{host=\"{host}\",pipeline=\"p\",step=\"{step}\"}}");
    let lines = [("a", "0.75"), ("b", "-1"), ("c", "2")];
    for step in ["kvm_binpack", "other"] {
        for (host, sum) in lines {
            shows(&metrics, &[&format!("{} {sum}", series(host, step))]);
        }
    }
    let text = metrics.render();
    assert!(!text.contains("ghost") && !text.contains("host=\"a\",pipeline=\"p\",step=\"filter"), "{text}");
    scheduler.host_changed(&"a".into(), None);
    assert!(!metrics.render().contains(&series("a", "other")));
    run(&[("c", 1.0), ("b", 1.0), ("a", 1.0)]);
    shows(&metrics, &[&format!("{} 3", series("c", "other")), &format!("{} 0", series("b", "other"))]);
    known(&scheduler, "a");
    run(&[("a", 1.0)]);
    shows(&metrics, &[&format!("{} 1", series("a", "kvm_binpack"))]);
}

#[test]
fn events_have_both_labels_and_few_values() {
    let (_scheduler, metrics, counted) = setting();
    let event = |label| StepEvent { step: "s", event: "e", label };
    let mut events =
        vec![event(None), event(Some(("intent", "create".to_owned()))), event(Some(("x", "y".to_owned())))];
    events.extend((0..100).map(|number| event(Some(("hypervisor_type", format!("type{number}"))))));
    counted.ran("p", &answer(Vec::new(), events), Duration::ZERO);
    let line = |intent: &str, kind: &str| {
        format!(
            "step_events_total{{event=\"e\",hypervisor_type=\"{kind}\",intent=\"{intent}\",pipeline=\"p\",step=\"s\"}}"
        )
    };
    for (intent, kind, count) in [("", "", 2), ("create", "", 1), ("", "type31", 1), ("", "other", 68)] {
        shows(&metrics, &[&format!("{} {count}", line(intent, kind))]);
    }
}

#[test]
fn what_commitments_do_for_vms() {
    use berth_scheduler::{Commitments, Coverage, Guest, Options, Request};

    let (_scheduler, metrics, counted) = setting();
    let flavor =
        berth_core::flavor::Flavor { name: "f".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
    let request = Request::new("vm", flavor);
    let guest = Guest { group: "g1".into(), size: Resources::ZERO, commitments: Commitments::Left };
    let placed = Answer { coverage: Some(Coverage::SlotUsed), ..answer(Vec::new(), Vec::new()) };
    let homeless = Answer { coverage: Some(Coverage::SlotBlocked), ..Answer::default() };
    let unreadable = || Err(berth_cluster::FlavorGroupsError::NotReady);
    counted.covered(&request, &Ok(Some(guest.clone())), &placed);
    counted.covered(&request, &Ok(Some(guest)), &homeless);
    counted.covered(&request, &Ok(None), &answer(Vec::new(), Vec::new()));
    counted.covered(&request, &unreadable(), &answer(Vec::new(), Vec::new()));
    counted.covered(&request, &unreadable(), &Answer::default());
    let trial = Request { options: Options::read_only(), ..request.clone() };
    counted.covered(&trial, &unreadable(), &answer(Vec::new(), Vec::new()));
    let text = metrics.render();
    let shown: Vec<_> = text.lines().filter(|line| line.starts_with("cortex_nova_")).collect();
    assert_eq!(
        shown,
        [
            "cortex_nova_no_host_found_total{cr_slot=\"error\",flavor_group=\"unknown\",intent=\"Unknown\"} 1",
            "cortex_nova_no_host_found_total{cr_slot=\"slot_blocked\",flavor_group=\"g1\",intent=\"Unknown\"} 1",
            "cortex_nova_placement_total{cr_slot=\"error\",flavor_group=\"unknown\",intent=\"Unknown\"} 1",
            "cortex_nova_placement_total{cr_slot=\"slot_used\",flavor_group=\"g1\",intent=\"Unknown\"} 1",
        ]
    );
}

#[test]
fn durations_are_counted_in_exponential_buckets() {
    let buckets = exponential(1.0, 1000.0, 10);
    for (bucket, expected) in buckets.iter().zip([1.0, 2.154, 4.642, 10.0, 21.54, 46.42, 100.0, 215.4, 464.2, 1000.0]) {
        assert!((bucket / expected - 1.0).abs() < 1e-3, "{bucket} {expected}");
    }
    let impact = exponential(0.01, 1000.0, 20);
    assert_eq!((impact.len(), impact[0].to_string().as_str()), (20, "0.01"));
    assert!((impact[19] - 1000.0).abs() < 1e-6);
}
