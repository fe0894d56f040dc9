//! What a run with a stopwatch reports about its steps.

use std::cell::Cell;
use std::time::Duration;

use super::running::*;
use super::*;
use crate::{StepTrace, Stopwatch};

/// Advances a millisecond at each read.
#[derive(Debug, Default)]
struct Ticks(Cell<u64>);

impl Stopwatch for Ticks {
    fn elapsed(&self) -> Duration {
        self.0.set(self.0.get() + 1);
        Duration::from_millis(self.0.get())
    }
}

fn traced(pipeline: &Pipeline, request: &Request, fleet: &Fleet) -> Vec<StepTrace> {
    let watch = Ticks::default();
    let decision = |watch| {
        engine::run(pipeline, request, (fleet, &fleet.view.overlay(), None), Scope::Request, TieBreak::Name, watch)
            .unwrap()
    };
    let (reported, silent) = (decision(Some(&watch)), decision(None));
    let steps = reported.steps.clone();
    assert_eq!(Decision { steps: Vec::new(), ..reported }, silent, "a listener changes nothing");
    assert_eq!(silent.steps, []);
    steps
}

fn abc() -> Request {
    listed(&[("a", 0.0), ("b", 0.0), ("c", 0.0)])
}

#[test]
fn a_weigher_tells_origins_impact_and_activations() {
    let weigher = Gives(&[("a", 1.0), ("b", 2.0), ("c", 4.0)]);
    let steps = traced(&custom(vec![], vec![(weigher, 1.0)]), &abc(), &Fleet::default());
    assert_eq!((steps[0].step, steps[0].hosts_in, steps[0].hosts_out), ("gives", 3, 3));
    assert_eq!(steps[0].origins, [2, 1, 0]);
    assert_eq!(steps[0].impact, Some(("given", 12.0)), "2 * |1 - 4| + 0 + 2 * |4 - 1|");
    assert_eq!(steps[0].activations, [("a".into(), 1.0), ("b".into(), 2.0), ("c".into(), 4.0)]);
    assert_eq!((steps[0].took, steps[0].failed), (Duration::from_millis(1), false));
}

#[test]
fn an_inverted_weigher_is_reported_the_way_it_acts() {
    let inverted = custom(vec![], vec![(Gives(&[("a", 1.0), ("b", 2.0), ("c", 4.0)]), -1.0)]);
    let steps = traced(&inverted, &abc(), &Fleet::default());
    assert_eq!((&steps[0].origins[..], steps[0].impact), (&[0, 1, 2][..], Some(("given", 0.0))));
}

#[test]
fn the_first_step_sees_the_input_weights_and_later_ones_do_not() {
    let ask = listed(&[("a", 1.0), ("b", 3.0), ("c", 2.0), ("d", 4.0)]);
    let filters = vec![Keeps("f1", Some(&["a", "b", "c"])), Keeps("f2", Some(&["b", "c"]))];
    let weigher = Gives(&[("b", 0.0), ("c", 1.0)]);
    let steps = traced(&custom(filters, vec![(weigher, 1.0)]), &ask, &Fleet::default());
    let reported: Vec<_> =
        steps.iter().map(|step| (step.step, step.hosts_in, step.hosts_out, &step.origins[..])).collect();
    assert_eq!(
        reported,
        [("f1", 4, 3, &[1, 2, 3][..]), ("f2", 3, 2, &[1, 2][..]), ("gives", 2, 2, &[1, 0][..]),],
        "f1 sees d, b, c, a; f2 sees a, b, c"
    );
    let alone = custom(vec![], vec![(Gives(&[("a", 0.0), ("b", 0.0), ("c", 0.0), ("d", -9.0)]), 1.0)]);
    assert_eq!(traced(&alone, &ask, &Fleet::default())[0].origins, [1, 2, 3, 0], "d is ranked last");
}

#[test]
fn failed_steps_are_reported_and_nothing_is_weighed_without_hosts() {
    let filters = vec![Keeps("f1", Some(&["a", "b"])), Keeps("f2", None), Keeps("f3", Some(&["a", "c"]))];
    let steps = traced(&custom(filters, vec![(Gives(&[]), 1.0)]), &abc(), &Fleet::default());
    let reported: Vec<_> = steps.iter().map(|step| (step.step, step.failed, step.hosts_in, step.hosts_out)).collect();
    assert_eq!(reported, [("f1", false, 3, 2), ("f2", true, 2, 0), ("f3", false, 0, 0)]);
    assert!(steps.iter().all(|step| step.took == Duration::from_millis(1)), "failed steps take time too");
    assert_eq!(steps[1].origins, [0_usize; 0]);
}

#[test]
fn a_weigher_without_a_number_has_failed() {
    let broken = custom(vec![], vec![(Gives(&[("a", 1.0)]), 1.0)]);
    let steps = traced(&broken, &abc(), &Fleet::default());
    assert_eq!((steps[0].failed, steps[0].impact, steps[0].activations.len()), (true, None, 0));
}

#[test]
fn the_shipped_steps_tell_their_statistics_and_skipped_ones_nothing() {
    let sized = |name: &str, memory| host(name, gib(64, memory));
    let fleet = fleet(&[sized("a", 512), sized("b", 256), Host { zone: "x".into(), ..sized("c", 512) }], &[]);
    let pipeline = crate::Pipelines::shipped().get(crate::shipped::GENERAL_PURPOSE).unwrap();
    let steps = traced(&pipeline, &Request { zone: "az".into(), ..request(1, 1024, &[]) }, &fleet);
    let reported: Vec<_> =
        steps.iter().map(|step| (step.step, step.hosts_out, step.impact.map(|(name, _)| name))).collect();
    assert_eq!(
        reported,
        [
            ("filter_status_conditions", 3, None),
            ("filter_correct_az", 2, None),
            ("filter_capabilities", 2, None),
            ("filter_has_enough_capacity", 2, None),
            ("filter_allowed_projects", 2, None),
            ("filter_aggregate_metadata", 2, None),
            ("kvm_prefer_smaller_hosts", 2, Some("small host score")),
            ("kvm_binpack", 2, Some("binpack score")),
        ]
    );
    assert_eq!(steps[6].origins, [1, 0]);
}
