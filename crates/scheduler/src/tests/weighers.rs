//! Worked examples of weighers.

use super::*;
use crate::{Candidates, InstanceGroup, Outcome, Param, explain};

const TOLERANCE: f64 = 1e-12;

fn sml() -> Vec<Host> {
    [("s", 512, 128), ("m", 1024, 256), ("l", 2048, 1024)]
        .into_iter()
        .map(|(name, memory, used)| Host { allocation: gib(0, used).into(), ..host(name, gib(64, memory)) })
        .collect()
}

fn by_memory(name: &str, multiplier: f64) -> StepSpec {
    weights(name, &[("memory", 1.0)]).times(multiplier)
}

fn weights(name: &str, weights: &[(&str, f64)]) -> StepSpec {
    StepSpec::new(name).with(Param {
        key: "resourceWeights".to_owned(),
        float_map_value: Some(weights.iter().map(|(key, weight)| ((*key).to_owned(), *weight)).collect()),
        ..Param::default()
    })
}

fn explained(pipeline: &Pipeline, request: &Request, fleet: &Fleet) -> explain::Explanation {
    explain::explain(pipeline, request, (fleet, &fleet.view.overlay(), None), TieBreak::Name).unwrap()
}

fn ranked(weighers: &[StepSpec], request: &Request, fleet: &Fleet) -> Vec<(String, f64)> {
    let explanation = explained(&pipeline(&[], weighers), request, fleet);
    let weight = |outcome: &Outcome| match outcome {
        Outcome::Ranked { weight, .. } => *weight,
        Outcome::Removed(filter) => unreachable!("{filter}"),
    };
    explanation.hosts.iter().map(|host| (host.host.to_string(), weight(&host.outcome))).collect()
}

#[track_caller]
fn expect(ranked: &[(String, f64)], expected: &[(&str, f64)]) {
    assert_eq!(ranked.len(), expected.len());
    for ((host, weight), (name, value)) in ranked.iter().zip(expected) {
        assert_eq!(host, name, "{ranked:?}");
        assert!((weight - value).abs() < TOLERANCE, "{host}: {weight} is not {value}");
    }
}

fn vm() -> Request {
    request(1, 65_536, &[])
}

fn general_purpose() -> Vec<StepSpec> {
    vec![by_memory("kvm_prefer_smaller_hosts", 1.0), by_memory("kvm_binpack", -1.0)]
}

/// A VM of 65536 MiB is 64 GiB, not 65536 million bytes.
fn binpack(used: f64, capacity: f64) -> f64 {
    ((used + 64.0) / capacity).tanh()
}

#[test]
fn the_slot_that_fits_best_comes_first() {
    let fleet = fleet(&sml(), &[]);
    let (s, m, l) = (1_f64.tanh(), (2.0_f64 / 3.0).tanh(), 0.0);
    expect(
        &ranked(&[by_memory("kvm_prefer_smaller_hosts", 1.0)], &vm(), &fleet),
        &[("s", 0.761_594_155_956), ("m", 0.582_782_945_348), ("l", 0.0)],
    );
    let (bs, bm, bl) = (binpack(128.0, 512.0), binpack(256.0, 1024.0), binpack(1024.0, 2048.0));
    expect(&ranked(&general_purpose(), &vm(), &fleet), &[("s", s - bs), ("m", m - bm), ("l", l - bl)]);
    let hana = [by_memory("kvm_prefer_smaller_hosts", 1.0), by_memory("kvm_binpack", 1.0)];
    expect(&ranked(&hana, &vm(), &fleet), &[("s", s + bs), ("m", m + bm), ("l", l + bl)]);
}

#[test]
fn activations_by_matching_slot() {
    let explanation = explained(&pipeline(&[], &general_purpose()), &vm(), &fleet(&sml(), &[]));
    for (host, (name, small, full)) in
        explanation.hosts.iter().zip([("s", 1.0, 0.375), ("m", 2.0 / 3.0, 0.3125), ("l", 0.0, 0.531_25)])
    {
        let Outcome::Ranked { weight, steps, .. } = &host.outcome else { unreachable!() };
        assert_eq!(host.host.as_str(), name);
        assert!((steps[0].activation - small).abs() < TOLERANCE && (steps[1].activation - full).abs() < TOLERANCE);
        assert!((steps[0].added - small.tanh()).abs() < TOLERANCE && (steps[1].added + full.tanh()).abs() < TOLERANCE);
        assert!((weight - small.tanh() + full.tanh()).abs() < TOLERANCE, "{name}");
    }
}

#[test]
fn the_range_is_that_of_the_remaining_hosts() {
    let ask = Request { ignore_hosts: vec!["s".into()], ..vm() };
    let filters = [StepSpec::new("filter_host_instructions")];
    let pipeline = pipeline(&filters, &[by_memory("kvm_prefer_smaller_hosts", 1.0)]);
    let explanation = explained(&pipeline, &ask, &fleet(&sml(), &[]));
    let Outcome::Ranked { steps, .. } = &explanation.hosts[0].outcome else { unreachable!() };
    assert_eq!((explanation.hosts[0].host.as_str(), steps[0].activation), ("m", 1.0));
    let Outcome::Removed(filter) = explanation.hosts[2].outcome else { unreachable!() };
    assert_eq!((explanation.hosts[2].host.as_str(), filter.short), ("s", "host instructions"));
}

#[test]
fn the_own_failover_slot_comes_first() {
    let fleet = fleet(&sml(), &[failover("f", "l", gib(1, 64), &["vm"])]);
    let mut steps = general_purpose();
    steps.push(StepSpec::new("kvm_failover_evacuation"));
    let evacuated = with_intent(vm(), Intent::Evacuate);
    let decision = run(&pipeline(&[], &steps), &evacuated, &fleet).unwrap();
    assert_eq!((names(&decision.hosts), decision.first_tier), (vec!["l".into(), "s".into(), "m".into()], 1));
    let base = ranked(&general_purpose(), &vm(), &fleet);
    let (own, other) = (1_f64.tanh(), 0.1_f64.tanh());
    let weights = [("l", base[2].1 + own), ("s", base[0].1 + other), ("m", base[1].1 + other)];
    expect(&ranked(&steps, &evacuated, &fleet), &weights);
    let order: Vec<String> = ranked(&steps, &vm(), &fleet).into_iter().map(|(host, _)| host).collect();
    assert_eq!(order, ["s", "m", "l"], "only for evacuations");
}

#[test]
fn two_resources_are_weighed_together() {
    let mut host = Host { allocation: gib(2, 4).into(), ..host("h", gib(16, 16)) };
    let ask = request(2, 4096, &[]);
    let step = weights("kvm_binpack", &[("memory", 1.0), ("cpu", 3.0)]);
    let activation = |host: &Host| {
        let fleet = fleet(std::slice::from_ref(host), &[]);
        ranked(std::slice::from_ref(&step), &ask, &fleet)[0].1.atanh()
    };
    assert!((activation(&host) - 0.3125).abs() < TOLERANCE);
    host.allocation.cpu = None;
    assert!((activation(&host) - 0.5).abs() < TOLERANCE);
}

#[test]
fn soft_anti_affinity() {
    let with = |name: &str, vms: &[&str]| Host {
        instances: vms.iter().map(|vm| ((*vm).into(), true)).collect(),
        ..host(name, gib(8, 8))
    };
    let group = |policy: &str| InstanceGroup {
        policy: policy.to_owned(),
        members: ["v1".into(), "v2".into(), "v3".into()].into(),
        ..InstanceGroup::default()
    };
    let fleet = fleet(&[with("a", &["v1", "v2"]), with("b", &["v3", "x"]), with("c", &["y"])], &[]);
    let steps = [StepSpec::new("kvm_instance_group_soft_affinity")];
    let ask = |policy| Request { group: Some(group(policy)), ..vm() };
    expect(
        &ranked(&steps, &ask("soft-anti-affinity"), &fleet),
        &[("c", 0.0), ("b", -1_f64.tanh()), ("a", -2_f64.tanh())],
    );
    expect(&ranked(&steps, &ask("soft-affinity"), &fleet)[..1], &[("a", 2_f64.tanh())]);
    expect(&ranked(&steps, &ask("affinity"), &fleet), &[("a", 0.0), ("b", 0.0), ("c", 0.0)]);
}

#[test]
fn failover_slots_are_consolidated() {
    let slot = |number: usize, host: &str, group: &str| Reservation {
        group: group.into(),
        ..failover(&format!("f{number}"), host, gib(1, 1), &[])
    };
    let slots = [slot(0, "a", "g1"), slot(1, "a", "g1"), slot(2, "a", "g2"), slot(3, "b", "g2"), slot(4, "b", "g2")];
    let hosts = ["a", "b", "c"].map(|name| host(name, gib(8, 8)));
    let hints = Hints::for_intent(Intent::ReserveForFailover).with("_cortex_resource_group", "g1");
    let steps = [StepSpec::new("kvm_failover_reservation_consolidation")];
    let weights = ranked(&steps, &Request { hints, ..vm() }, &fleet(&hosts, &slots));
    let tanh = f64::tanh;
    expect(&weights, &[("a", tanh(0.56)), ("b", tanh(0.4)), ("c", 0.0)]);
}

fn own_slot(zone: &str) -> Reservation {
    Reservation { zone: zone.into(), ..slot("s", "m", gib(8, 16), &[("x", gib(4, 8))]) }
}

#[test]
fn hosts_with_slots_of_the_project_rank_higher() {
    let hinted = |memory| Request {
        project: "p1".into(),
        zone: "az".into(),
        hints: Hints::default().with("_cortex_resource_group", "g1"),
        ..request(1, memory, &[])
    };
    let steps = [StepSpec::new("kvm_committed_resource_reservation")];
    let weight_of_m = |request: &Request, slot: Reservation| {
        let ranked = ranked(&steps, request, &fleet(&sml(), &[slot]));
        ranked.iter().find(|(host, _)| host == "m").map_or(f64::NAN, |(_, weight)| *weight)
    };
    for (request, zone, expected) in [
        (hinted(8192), "az", 1.0_f64),
        (hinted(8193), "az", 0.1),
        (hinted(8192), "other", 0.1),
        (Request { hints: Hints::default(), ..hinted(8192) }, "az", 0.0),
    ] {
        assert!((weight_of_m(&request, own_slot(zone)) - expected.tanh()).abs() < TOLERANCE, "{request:?}");
    }
}

#[test]
fn a_vm_is_drawn_to_its_slot_without_a_hint() {
    let ask = Request { project: "p1".into(), zone: "az".into(), ..request(1, 65_536, &[("quota:hw_version", "g1")]) };
    let fleet = fleet(&sml(), &[slot("s", "m", gib(8, 64), &[])]);
    let mut steps = general_purpose();
    steps.push(StepSpec::new("kvm_committed_resource_reservation"));
    let order = |request: &Request| -> Vec<String> {
        ranked(&steps, request, &fleet).into_iter().map(|(host, _)| host).collect()
    };
    assert_eq!(order(&ask), ["m", "s", "l"]);
    assert_eq!(order(&with_intent(ask.clone(), Intent::CapacityProbe)), ["s", "m", "l"]);
    let (own, other) = (1_f64.tanh(), 0.1_f64.tanh());
    let base = ranked(&general_purpose(), &ask, &fleet);
    expect(
        &ranked(&steps, &ask, &fleet),
        &[("m", base[1].1 + own), ("s", base[0].1 + other), ("l", base[2].1 + other)],
    );
}

#[test]
fn reservations_count_as_used_only_when_asked() {
    let hosts = [host("a", gib(64, 512)), host("b", gib(64, 512))];
    let fleet = fleet(&hosts, &[slot("s", "a", gib(32, 256), &[])]);
    let consider = Param { key: "considerReservations".to_owned(), bool_value: Some(true), ..Param::default() };
    let plain = by_memory("kvm_binpack", 1.0);
    expect(&ranked(std::slice::from_ref(&plain), &vm(), &fleet), &[("a", 0.125_f64.tanh()), ("b", 0.125_f64.tanh())]);
    expect(&ranked(&[plain.with(consider)], &vm(), &fleet), &[("a", 0.625_f64.tanh()), ("b", 0.125_f64.tanh())]);
}

#[test]
fn wrong_parameters_of_weighers_are_reported() {
    let load = |step: StepSpec| {
        let spec = PipelineSpec { weighers: vec![step], ..PipelineSpec::default() };
        Pipeline::load(&spec).weigher_errors.remove(0).1.to_string()
    };
    let float = |key: &str, value| Param { key: key.to_owned(), float_value: Some(value), ..Param::default() };
    let consolidation = |total, penalty| {
        let step = StepSpec::new("kvm_failover_reservation_consolidation");
        step.with(float("totalCountWeight", total)).with(float("sameSpecPenalty", penalty))
    };
    for (step, text) in [
        (StepSpec::new("kvm_prefer_smaller_hosts"), "at least one resource weight must be specified"),
        (
            weights("kvm_prefer_smaller_hosts", &[("cpu", -1.0)]),
            "resource weights must be greater than or equal to zero",
        ),
        (
            weights("kvm_prefer_smaller_hosts", &[("disk", 1.0)]),
            "unsupported resource disk in ResourceWeights, supported resources are: [memory cpu]",
        ),
        (
            weights("kvm_binpack", &[("cpu", 0.0)]),
            "resource weight for cpu can't be zero, if you want to disable this resource in the weigher, remove it \
             or the weigher",
        ),
        (
            weights("kvm_binpack", &[("memory", -1.0)]),
            "resource weight for memory can't be negative. use weigher.multiplier to invert this weighers behavior",
        ),
        (consolidation(-1.0, 0.0), "totalCountWeight must be non-negative"),
        (consolidation(1.0, -0.5), "sameSpecPenalty must be non-negative"),
        (consolidation(0.0, 0.5), "sameSpecPenalty must be zero when totalCountWeight is zero"),
        (consolidation(0.5, 0.5), "sameSpecPenalty must be less than totalCountWeight"),
    ] {
        assert_eq!(load(step), format!("failed to initialize weigher: {text}"));
    }
}

#[test]
fn hosts_without_hypervisor_weigh_nothing() {
    let listed = Candidates::Listed(vec![("ghost".into(), 0.0), ("s".into(), 0.0)]);
    let ask = Request { candidates: listed, ..vm() };
    let weights = ranked(&[by_memory("kvm_binpack", 1.0)], &ask, &fleet(&sml(), &[]));
    expect(&weights, &[("s", binpack(128.0, 512.0)), ("ghost", 0.0)]);
}
