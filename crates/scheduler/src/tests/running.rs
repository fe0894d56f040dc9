//! The engine with steps of the test.

use super::*;
use crate::candidates::CandidateHosts;
use crate::feasible_hosts::FeasibleHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, Scores, StepError, Weigher};
use crate::{Candidates, FilterName, Options, Outcome, explain, shipped};

/// Keeps the named hosts, or fails.
#[derive(Debug)]
pub(super) struct Keeps(pub(super) &'static str, pub(super) Option<&'static [&'static str]>);

impl Filter for Keeps {
    fn name(&self) -> FilterName {
        FilterName { step: self.0, short: self.0 }
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let names: Vec<HostName> =
            self.1.ok_or(StepError::Made("no data"))?.iter().map(|name| (*name).into()).collect();
        field.keep_named(run, &names.iter());
        Ok(Effect::Done)
    }
}

/// Gives each named host its number.
#[derive(Debug)]
pub(super) struct Gives(pub(super) &'static [(&'static str, f64)]);

impl Weigher for Gives {
    fn name(&self) -> &'static str {
        "gives"
    }

    fn statistic(&self) -> Option<&'static str> {
        Some("given")
    }

    fn weigh(&self, _: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        let given = |place| {
            let found = self.0.iter().find(|(name, _)| hosts.name(place).is_some_and(|host| host.as_str() == *name));
            found.map_or(f64::NAN, |(_, activation)| *activation)
        };
        Scores::Each((0..hosts.len()).map(given).collect())
    }
}

pub(super) fn custom(filters: Vec<Keeps>, weighers: Vec<(Gives, f64)>) -> Pipeline {
    Pipeline {
        name: "custom".to_owned(),
        ignore_preselection: false,
        filters: filters.into_iter().map(|filter| Box::new(filter) as Box<dyn Filter>).collect(),
        weighers: weighers.into_iter().map(|(weigher, by)| (Box::new(weigher) as Box<dyn Weigher>, by)).collect(),
    }
}

pub(super) fn listed(hosts: &[(&str, f64)]) -> Request {
    let candidates = hosts.iter().map(|(host, weight)| ((*host).into(), *weight)).collect();
    Request { candidates: Candidates::Listed(candidates), ..request(1, 1024, &[]) }
}

fn decide(pipeline: &Pipeline, request: &Request) -> Decision {
    run(pipeline, request, &Fleet::default()).unwrap()
}

#[track_caller]
fn expect(pipeline: &Pipeline, request: &Request, expected: &[(&str, f64)]) {
    let fleet = Fleet::default();
    let explanation =
        explain::explain(pipeline, request, (&fleet, &fleet.view.overlay(), None), TieBreak::Name).unwrap();
    let ranked = explanation.hosts.iter().filter_map(|host| match &host.outcome {
        Outcome::Ranked { weight, .. } => Some((host.host.as_str(), *weight)),
        Outcome::Removed(_) => None,
    });
    let ranked: Vec<_> = ranked.collect();
    assert_eq!(ranked.len(), expected.len());
    for ((host, weight), (name, expected)) in ranked.into_iter().zip(expected) {
        assert_eq!(host, *name);
        assert!((weight - expected).abs() < 1e-12, "{name}: {weight} is not {expected}");
    }
}

#[test]
fn multipliers_scale_activations() {
    let a = Gives(&[("n1", 1.0), ("n2", 0.5), ("n3", 0.0)]);
    let b = Gives(&[("n1", 0.9), ("n2", 0.2), ("n3", 0.1)]);
    let pipeline = custom(vec![], vec![(a, 1.0), (b, -1.0)]);
    let ask = listed(&[("n1", 0.0), ("n2", 0.0), ("n3", 0.0)]);
    assert_eq!(names(&decide(&pipeline, &ask).hosts), ["n2", "n1", "n3"]);
    expect(&pipeline, &ask, &[("n2", 0.264_741_837_035), ("n1", 0.045_296_285_757), ("n3", -0.099_667_994_625)]);
}

#[test]
fn activations_saturate() {
    let ask = listed(&[("n1", 50.0), ("n2", 55.0), ("n3", 60.0)]);
    assert_eq!(names(&decide(&custom(vec![], vec![]), &ask).hosts), ["n3", "n2", "n1"]);
    let nothing = custom(vec![], vec![(Gives(&[("n1", 0.0), ("n2", 0.0), ("n3", 0.0)]), 1.0)]);
    assert_eq!(names(&decide(&nothing, &ask).hosts), ["n1", "n2", "n3"], "all tie, the name decides");
    expect(&nothing, &ask, &[("n1", 1.0), ("n2", 1.0), ("n3", 1.0)]);
}

#[test]
fn input_weight_against_weigher() {
    let pipeline = custom(vec![], vec![(Gives(&[("n1", 0.3), ("n2", 0.1)]), 2.0)]);
    let ask = listed(&[("n1", 0.2), ("n2", 0.9)]);
    assert_eq!(names(&decide(&pipeline, &ask).hosts), ["n2", "n1"]);
    expect(&pipeline, &ask, &[("n2", 0.915_633_859_449), ("n1", 0.780_000_545_128)]);
}

#[test]
fn filter_a_negative_multiplier_and_one_candidate() {
    let pipeline = custom(vec![Keeps("f", Some(&["a", "b"]))], vec![(Gives(&[("a", 0.5), ("b", 2.0)]), -1.0)]);
    let ask = listed(&[("a", 0.0), ("b", 0.0), ("c", 0.0)]);
    assert_eq!(names(&decide(&pipeline, &ask).hosts), ["a", "b"]);
    expect(&pipeline, &ask, &[("a", -0.462_117_157_260), ("b", -0.964_027_580_076)]);
    let one = Request { options: Options { max_candidates: 1, ..ask.options.clone() }, ..ask };
    assert_eq!(names(&decide(&pipeline, &one).hosts), ["a"]);
}

#[test]
fn a_failing_filter_lets_nothing_pass() {
    let filters = vec![Keeps("f1", Some(&["a", "b"])), Keeps("f2", None), Keeps("f3", Some(&["a", "c"]))];
    let decision = decide(&custom(filters, vec![]), &listed(&[("a", 0.0), ("b", 0.0), ("c", 0.0)]));
    assert!(decision.hosts.is_empty());
    assert_eq!(decision.removed.to_string(), "3 hosts; f1 1, f2 2");
    assert_eq!((decision.events[0].step, decision.events[0].event), ("f2", "step_failed"));
    assert_eq!(decision.failed.unwrap().to_string(), "f2 failed: no data");
}

#[test]
fn empty_is_a_success() {
    let pipeline = custom(vec![Keeps("f", Some(&[]))], vec![(Gives(&[]), 1.0), (Gives(&[]), 1.0)]);
    let decision = decide(&pipeline, &listed(&[("a", 0.0)]));
    assert_eq!((decision.hosts, decision.failed), (vec![], None));
}

#[test]
fn a_weigher_that_gives_no_number_has_no_effect() {
    let pipeline = custom(vec![], vec![(Gives(&[("a", 1.0)]), 1.0), (Gives(&[("a", 0.0), ("b", 1.0)]), 1.0)]);
    assert_eq!(names(&decide(&pipeline, &listed(&[("a", 0.0), ("b", 0.0)])).hosts), ["b", "a"]);
}

#[test]
fn a_host_that_is_listed_twice_counts_once() {
    let decision = decide(&custom(vec![], vec![]), &listed(&[("a", 2.0), ("a", 1.0), ("b", 1.5)]));
    assert_eq!((names(&decision.hosts), decision.removed.hosts), (vec!["a".into(), "b".into()], 2));
}

#[test]
fn options_have_defaults_by_intent() {
    let ask = |options| Request { options, ..listed(&[]) };
    let refused = |options| run(&custom(vec![], vec![]), &ask(options), &Fleet::default()).unwrap_err().to_string();
    let read_only = || Options { read_only: true, ..Options::default() };
    assert_eq!(refused(read_only()), "read-only runs must not write scheduling history: set SkipHistory=true");
    assert_eq!(
        refused(Options { skip_history: true, ..read_only() }),
        "read-only runs cannot create inflight reservations"
    );
    assert_eq!(
        refused(Options { skip_history: true, skip_inflight: true, ..read_only() }),
        "read-only runs must not write CR reservation allocations: set SkipCommittedResourceTracking=true"
    );
    assert!(run(&custom(vec![], vec![]), &ask(Options::read_only()), &Fleet::default()).is_ok());
}

#[test]
fn the_pipeline_is_inferred() {
    let ask = |specs: &[(&str, &str)]| {
        let mut request = request(1, 1024, specs);
        request.flavor.extra_specs.retain(|key, _| specs.iter().any(|(wanted, _)| wanted == key));
        request
    };
    let kvm = ("capabilities:hypervisor_type", "CH");
    let hana = |value| ("trait:CUSTOM_HANA_EXCLUSIVE_HOST", value);
    for (specs, expected) in [
        (vec![kvm, hana("Required")], Ok(shipped::HANA)),
        (vec![kvm, hana("forbidden")], Ok(shipped::GENERAL_PURPOSE)),
        (vec![("capabilities:hypervisor_type", "qemu")], Ok(shipped::GENERAL_PURPOSE)),
        (vec![("capabilities:hypervisor_type", "VMware vCenter Server")], Ok("vmware-general-purpose-load-balancing")),
        (vec![], Err("failed to determine hypervisor type from request data")),
        (vec![kvm, hana("maybe")], Err("failed to determine flavor type from request data")),
    ] {
        let request = ask(&specs);
        let name = request.pipeline_name().map_err(|error| error.to_string());
        assert_eq!(name, expected.map_err(str::to_owned), "{specs:?}");
    }
}

#[test]
fn all_hosts_need_a_known_hypervisor_type() {
    let all = Pipeline { ignore_preselection: true, ..custom(vec![], vec![]) };
    let fleet = fleet(&[host("a", gib(8, 8))], &[]);
    assert_eq!(names(&run(&all, &listed(&[("ghost", 1.0)]), &fleet).unwrap().hosts), ["a"]);
    let mut ask = request(1, 1024, &[("capabilities:hypervisor_type", "ironic")]);
    assert_eq!(
        run(&all, &ask, &fleet).unwrap_err().to_string(),
        "cannot gather all placement candidates for hypervisor type \"ironic\""
    );
    ask.flavor.extra_specs.clear();
    assert_eq!(run(&all, &ask, &fleet).unwrap_err().to_string(), "missing hypervisor_type in flavor extra specs: {}");
}

#[test]
fn max_candidates_cuts_after_ranking() {
    let pipeline = custom(vec![], vec![]);
    for limit in [1, 2] {
        let options = Options { max_candidates: limit, ..Options::default() };
        let ask = Request { options, ..listed(&[("a", 1.0), ("b", 3.0), ("c", 2.0)]) };
        assert_eq!(names(&decide(&pipeline, &ask).hosts), ["b", "c"][..limit].to_vec());
    }
}

#[test]
fn hosts_of_a_withheld_cluster_are_not_offered() {
    let mut fleet = fleet(&[host("a", gib(8, 8))], &[]);
    let pipeline = custom(vec![], vec![]);
    let ask = request(1, 1024, &[]);
    let cluster = ClusterName::default();
    assert!(fleet.withhold(&cluster, true).is_empty());
    let later = host("b", gib(8, 8));
    fleet.set_host(later);
    let decision = run(&pipeline, &ask, &fleet).unwrap();
    assert_eq!((decision.hosts.len(), decision.removed.to_string().as_str()), (0, "2 hosts; cluster not reachable 2"));
    assert_eq!(fleet.withhold(&cluster, false).len(), 2);
    assert_eq!(names(&run(&pipeline, &ask, &fleet).unwrap().hosts), ["a", "b"]);
}

#[test]
fn internal_requests_choose_among_the_hosts_that_they_list() {
    let all = Pipeline { ignore_preselection: true, ..custom(vec![], vec![]) };
    let fleet = fleet(&["a", "b", "c"].map(|name| host(name, gib(8, 8))), &[]);
    let hosts = |request: &Request| names(&run(&all, request, &fleet).unwrap().hosts);
    let ask = listed(&[("c", 1.0), ("ghost", 9.0), ("b", 7.0), ("c", 2.0)]);
    for intent in [
        Intent::ReserveForFailover,
        Intent::ReuseFailoverReservation,
        Intent::ReserveForCommittedResource,
        Intent::CapacityProbe,
    ] {
        let ask = with_intent(ask.clone(), intent);
        assert_eq!(hosts(&ask), ["b", "c"], "{intent}: the weights of the client do not count");
        assert_eq!(run(&all, &ask, &fleet).unwrap().removed.hosts, 2, "{intent}");
        let everywhere = Request { candidates: Candidates::All, ..ask.clone() };
        assert_eq!(hosts(&everywhere), ["a", "b", "c"], "{intent}");
        let options = Options { max_candidates: 1, ..Options::default() };
        assert_eq!(hosts(&Request { options, ..ask }), ["b"], "{intent}");
    }
    for intent in [Intent::Create, Intent::Rebuild, Intent::Resize, Intent::LiveMigration, Intent::Evacuate] {
        assert_eq!(hosts(&with_intent(ask.clone(), intent)), ["a", "b", "c"], "{intent}");
    }
    assert_eq!(hosts(&ask), ["a", "b", "c"], "Nova's list does not limit other intents");
}

#[test]
fn the_general_purpose_pipeline_and_a_flavor_without_vcpus() {
    let fleet = fleet(&["a", "b", "c"].map(|name| host(name, gib(8, 8))), &[]);
    let pipeline = crate::Pipelines::shipped().get(shipped::GENERAL_PURPOSE).unwrap();
    let decision = run(&pipeline, &request(0, 1024, &[]), &fleet).unwrap();
    assert!(decision.hosts.is_empty());
    let failed: Vec<_> = decision.events.iter().filter(|event| event.event == "step_failed").collect();
    assert_eq!((failed.len(), failed[0].step), (1, "filter_has_enough_capacity"));
    assert_eq!(decision.removed.to_string(), "3 hosts; capacity 3");
}
