//! Pipelines that are slightly wrong: whatever they answer, no host is sold twice and no slot leaves its zone.

use super::*;
use crate::pipeline_spec::PipelineSpec;
use crate::{Chooser, HostProblem, Param, Pipelines, Placed};

/// A host of the zone with room for one slot, a larger one of another zone, and a pipeline with these filters.
fn cloud(filters: &[StepSpec]) -> Watched {
    let pipelines = || {
        let mut pipelines = Pipelines::default();
        let spec = PipelineSpec { name: "p".to_owned(), filters: filters.to_vec(), ..PipelineSpec::default() };
        pipelines.insert(Pipeline::load(&spec).pipeline.unwrap());
        pipelines
    };
    let settings = Settings { tie_break: TieBreak::Name, pipelines: pipelines(), ..Settings::default() };
    let scheduler = Watched::new(settings);
    let elsewhere = Host { zone: "other".into(), ..host("x", gib(64, 512)) };
    for host in [host("h", gib(4, 32)), elsewhere] {
        assert!(scheduler.host_changed(&host.name, Some(host.clone())).is_empty());
    }
    scheduler
}

fn slot_of(commitment: &str, number: u64) -> SlotRequest {
    SlotRequest { pipeline: "p".to_owned(), ..wanted(commitment, 1, number, gib(4, 32)) }
}

fn unfit(host: &str, problem: HostProblem) -> SchedulerError {
    SchedulerError::Unfit { by: Chooser::Pipeline("p".to_owned()), host: host.into(), problem }
}

fn full() -> SchedulerError {
    unfit("h", HostProblem::Capacity { free: Resources::ZERO, needed: gib(4, 32) })
}

#[test]
fn without_a_capacity_filter_no_host_is_sold_twice() {
    let ignoring = Param { key: "ignoreAllocations".to_owned(), bool_value: Some(true), ..Param::default() };
    let types = vec!["CommittedResourceReservation".to_owned(), "InFlightReservation".to_owned()];
    let types = Param { key: "ignoredReservationTypes".to_owned(), string_list_value: Some(types), ..Param::default() };
    let ignoring = StepSpec::new("filter_has_enough_capacity").with(ignoring).with(types);
    for filters in [vec![StepSpec::new("filter_correct_az")], vec![StepSpec::new("filter_correct_az"), ignoring]] {
        let scheduler = cloud(&filters);
        let (first, second) = (slot_of("a", 0), slot_of("b", 0));
        assert_eq!(now(scheduler.place(&first)), Ok(Placed::Host("h".into())));
        assert_eq!(now(scheduler.place(&first)), Ok(Placed::Host("h".into())), "it keeps its host");
        assert_eq!(now(scheduler.place(&second)), Err(full()));
        let both = request_of(vec![slot_of("c", 0), slot_of("c", 1)], false);
        assert_eq!(now(scheduler.place_all(&both)), Err(full()));
        assert_eq!((scheduler.assumed(), scheduler.free_capacity(&"h".into())), (1, Some(Resources::ZERO)));
    }
}

#[test]
fn without_filters_no_slot_gets_a_host_of_another_zone() {
    let scheduler = cloud(&[]);
    let slot = SlotRequest { zone: "third".into(), ..slot_of("a", 0) };
    let problem = HostProblem::Zone { found: "az".into(), wanted: "third".into() };
    assert_eq!(now(scheduler.place(&slot)), Err(unfit("h", problem)));
    let preferring = SlotRequest { prefer: Some("x".into()), ..slot_of("b", 0) };
    assert_eq!(now(scheduler.place(&preferring)), Ok(Placed::Host("h".into())), "the preferred one is in another zone");
    let anywhere = SlotRequest { zone: "".into(), prefer: Some("x".into()), ..slot_of("c", 0) };
    assert_eq!(now(scheduler.place(&anywhere)), Ok(Placed::Host("x".into())));
}

#[test]
fn the_error_says_what_was_wrong_and_what_to_do() {
    let text = "pipeline \"p\" chose host h, which has 0 memory, 0 cores free, and the slot needs 32Gi memory, 4 cores; \
                let it run filter_correct_az and filter_has_enough_capacity, and ignore nothing that takes capacity";
    assert_eq!(full().with_advice(), text);
}
