//! The content of a History after a decision.

use std::sync::Arc;

use berth_core::HostName;
use berth_core::flavor::Flavor;
use berth_core::testing::at;
use berth_crds::{History, conditions};
use berth_scheduler::{
    Answer, Contribution, Decision, Explanation, FilterName, HostExplanation, Outcome as Fate, Request, SchedulerError,
    Shortage,
};

use super::{HistoryDecision, RunResult, decided, explanation, new, next};
use crate::Outcome;

const ZONE: FilterName = FilterName { step: "filter_correct_az", short: "zone" };
const CAPACITY: FilterName = FilterName { step: "filter_has_enough_capacity", short: "capacity" };

fn names(names: &[&str]) -> Vec<HostName> {
    names.iter().map(|name| (*name).into()).collect()
}

/// An answer of a run over this many hosts.
fn answer(hosts: &[&str], all: usize, removed: &[(FilterName, usize)]) -> Answer {
    let removed = Shortage { hosts: all, removed: removed.to_vec(), ..Shortage::default() };
    let decision = Decision { hosts: names(hosts), removed, ..Decision::default() };
    Answer { hosts: names(hosts), decision, ..Answer::default() }
}

fn ranked(host: &str, steps: &[(&'static str, f64)]) -> HostExplanation {
    let steps = steps.iter().map(|(step, added)| Contribution { step, activation: *added, added: *added }).collect();
    HostExplanation { host: host.into(), outcome: Fate::Ranked { weight: 0.0, first_tier: false, steps } }
}

fn removed(host: &str, by: FilterName) -> HostExplanation {
    HostExplanation { host: host.into(), outcome: Fate::Removed(by) }
}

fn explained(mut answer: Answer, hosts: Vec<HostExplanation>) -> Answer {
    let removed = answer.decision.removed.clone();
    answer.explanation = Some(Explanation { pipeline: "p".to_owned(), hosts, removed, quota: None, failed: None });
    answer
}

fn outcome(result: Result<Answer, SchedulerError>) -> Outcome {
    let flavor = Flavor { name: "f".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
    let request = Request { pipeline: "p".to_owned(), zone: "az-a".into(), ..Request::new("vm", flavor) };
    Outcome {
        request: Arc::new(request),
        request_id: String::new(),
        global_request_id: String::new(),
        result: result.map(Arc::new),
    }
}

#[test]
fn the_explanation_names_what_each_filter_removed() {
    let mut hosts: Vec<_> = (1..=12).rev().map(|number| removed(&format!("z{number:02}"), ZONE)).collect();
    hosts.splice(0..0, [ranked("b", &[]), ranked("a", &[]), removed("c", CAPACITY)]);
    let answer = explained(answer(&["b", "a"], 15, &[(ZONE, 12), (CAPACITY, 1)]), hosts);
    assert_eq!(
        explanation(&answer),
        "Started with 15 host(s).\n\n\
         filter_correct_az filtered out z01, z02, z03, z04, z05, z06, z07, z08, z09, z10 (and 2 more)\n\
         filter_has_enough_capacity filtered out c\n\n\
         2 hosts remaining (a, b)\n\n\
         Selected host: b.\n\n\
         b before a: no weigher tells them apart."
    );
}

#[test]
fn without_names_the_explanation_has_numbers() {
    assert_eq!(
        explanation(&answer(&["b"], 4, &[(ZONE, 2), (CAPACITY, 1)])),
        "Started with 4 host(s).\n\nfilter_correct_az filtered out 2 hosts\nfilter_has_enough_capacity filtered out 1 \
         host\n\n1 hosts remaining (b)\n\nSelected host: b."
    );
    assert_eq!(
        explanation(&answer(&[], 2, &[(ZONE, 2)])),
        "Started with 2 host(s).\n\nfilter_correct_az filtered out 2 hosts\n\n0 hosts remaining"
    );
    let mut limited = answer(&["b"], 1, &[]);
    limited.hosts.clear();
    assert_eq!(
        explanation(&limited),
        "Started with 1 host(s).\n\n1 hosts remaining (b)\n\nNone of the remaining hosts is among those that were asked about."
    );
}

#[test]
fn the_largest_contributions_against_the_next_host() {
    let hosts = vec![
        ranked("a", &[("one", 0.5), ("two", -0.3), ("three", 0.1)]),
        ranked("b", &[("one", 0.1), ("two", 0.1)]),
        ranked("c", &[("one", 0.1), ("two", 0.0)]),
        ranked("d", &[("one", 0.1), ("two", 0.0)]),
        ranked("e", &[("one", -0.9)]),
    ];
    let text = explanation(&explained(answer(&["a"], 5, &[]), hosts));
    assert!(
        text.ends_with(
            "a before b: one +0.400, two -0.400.\nb before c: two +0.100.\nc before d: no weigher tells them apart."
        ),
        "{text}"
    );
}

#[test]
fn which_runs_are_remembered() {
    let of = |error| decided(&outcome(Err(error)));
    assert_eq!(of(SchedulerError::Pipeline("p".to_owned())), None);
    assert_eq!(of(SchedulerError::Inference("flavor")), None);
    assert_eq!(of(SchedulerError::NoHypervisorType("{}".to_owned())), None);
    let step = SchedulerError::Step { step: "filter_has_enough_capacity", reason: berth_scheduler::StepError::NoVcpus };
    let text = "filter_has_enough_capacity failed: flavor has 0 vcpus";
    let failed = of(step.clone()).unwrap();
    assert_eq!(failed.verdict, RunResult::Failed(text.to_owned()));
    assert_eq!(failed.explanation, format!("Pipeline run failed: {text}."));
    let mut empty = answer(&[], 3, &[(CAPACITY, 3)]);
    empty.decision.failed = Some(step);
    assert_eq!(decided(&outcome(Ok(empty))), Some(failed), "a filter that failed, for Nova no host");

    let mut skipped = outcome(Ok(answer(&["a"], 1, &[])));
    assert_eq!(decided(&skipped).unwrap().intent, "Unknown");
    Arc::get_mut(&mut skipped.request).unwrap().options.skip_history = true;
    assert_eq!(decided(&skipped), None);
}

fn remembered(mut history: History, decided: &HistoryDecision, second: i64) -> History {
    history.status = Some(next(&history, decided, at(second)));
    history
}

#[test]
fn ten_former_decisions_and_three_hosts_are_kept() {
    let placed = decided(&outcome(Ok(answer(&["a", "b", "c", "d"], 4, &[])))).unwrap();
    let mut history = new("nova-vm", &placed);
    assert_eq!(history.spec.availability_zone.as_deref(), Some("az-a"));
    for second in 0..13 {
        history = remembered(history, &placed, second);
    }
    let status = history.status.clone().unwrap();
    let current = status.current.unwrap();
    assert_eq!((current.ordered_hosts, current.target_host.as_deref()), (names_of(&["a", "b", "c"]), Some("a")));
    assert_eq!((current.successful, current.pipeline_ref.unwrap().name.as_deref()), (true, Some("p")));
    let times: Vec<_> = status.history.iter().map(|one| one.timestamp.clone().unwrap().0).collect();
    assert_eq!(times, (2..12).map(at).collect::<Vec<_>>());
    assert_eq!(status.history[0].ordered_hosts, names_of(&["a", "b", "c"]));
    let ready = conditions::ready(&status.conditions).unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "SchedulingSucceeded"));
    assert_eq!(ready.message, "scheduling decision selected a target host");
    assert_eq!(ready.last_transition_time.0, at(0));

    let none = decided(&outcome(Ok(answer(&[], 1, &[(ZONE, 1)])))).unwrap();
    let status = remembered(history, &none, 60).status.unwrap();
    let ready = conditions::ready(&status.conditions).unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "NoHostFound"));
    assert_eq!(ready.message, "pipeline completed but no suitable host was found");
    let current = status.current.unwrap();
    assert!(!current.successful && current.target_host.is_none() && current.ordered_hosts.is_empty());
    let failed = HistoryDecision { verdict: RunResult::Failed("x".to_owned()), ..none };
    let status = next(&History::default(), &failed, at(0));
    let ready = conditions::ready(&status.conditions).unwrap();
    assert_eq!((ready.reason.as_str(), ready.message.as_str()), ("PipelineRunFailed", "pipeline run failed: x"));
}

fn names_of(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
