//! Requests that change nothing.

use berth_core::HostName;
use berth_scheduler::{Candidates, Hints, Intent, Options, Request, ReservationType, Scheduler, SchedulerError};

use crate::cloud::{flavor, gib, host, in_force, probe, wanted};
use crate::fixture::Fixture;

fn names(names: &[&str]) -> Vec<HostName> {
    names.iter().map(|name| (*name).into()).collect()
}

async fn hosts<F: Fixture>(fixture: &F, request: &Request) -> Vec<HostName> {
    let mut hosts = fixture.scheduler().probe(request, "").await.unwrap();
    hosts.sort();
    hosts
}

pub async fn a_probe_ranks_hosts_and_takes_nothing<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(8, 64)), host("c", gib(1, 8))]).await;
    for _ in 0..3 {
        assert_eq!(hosts(&fixture, &probe(flavor(4, 32))).await, names(&["a", "b"]));
    }
    assert_eq!(fixture.scheduler().probe(&probe(flavor(16, 1)), "").await, Ok(vec![]));
    fixture.assumes_nothing();
}

pub async fn a_probe_can_be_limited_to_some_hosts<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(8, 64)), host("c", gib(8, 64))]).await;
    let request = Request { force_hosts: names(&["b", "c", "no-such-host"]), ..probe(flavor(4, 32)) };
    assert_eq!(hosts(&fixture, &request).await, names(&["b", "c"]));
    let request = Request { ignore_hosts: names(&["b"]), ..probe(flavor(4, 32)) };
    assert_eq!(hosts(&fixture, &request).await, names(&["a", "c"]));
    let mut request = probe(flavor(4, 32));
    request.options.max_candidates = 1;
    assert_eq!(fixture.scheduler().probe(&request, "").await.unwrap().len(), 1);
}

/// Also where the pipeline takes all hosts regardless of the list, as it does for Nova.
pub async fn controllers_mean_the_hosts_that_they_list<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(8, 64)), host("c", gib(8, 64))]).await;
    let listed = |names: &[&str], hints: Hints| {
        let candidates = Candidates::Listed(names.iter().map(|name| ((*name).into(), 0.0)).collect());
        Request { candidates, hints, ..probe(flavor(4, 32)) }
    };
    for intent in [Intent::CapacityProbe, Intent::ReserveForCommittedResource, Intent::ReserveForFailover] {
        for (list, expected) in [
            (vec!["c"], names(&["c"])),
            (vec!["c", "no-such-host", "b", "b"], names(&["b", "c"])),
            (vec!["no-such-host"], names(&[])),
            (vec![], names(&[])),
        ] {
            let request = listed(&list, Hints::for_intent(intent));
            assert_eq!(hosts(&fixture, &request).await, expected, "{intent}: {list:?}");
        }
    }
    let as_nova = listed(&["c"], Hints::for_intent(Intent::Create));
    assert_eq!(hosts(&fixture, &as_nova).await, names(&["a", "b", "c"]));
}

pub async fn a_probe_can_ignore_what_is_there<F: Fixture>() {
    let used = berth_core::host::Host { allocation: gib(3, 24).into(), ..host("used", gib(4, 32)) };
    let fixture = F::with(&[used, host("reserved", gib(4, 32))]).await;
    fixture.shows(&in_force(&wanted("s", gib(3, 24)), "reserved"));
    let mut request = probe(flavor(2, 16));
    assert_eq!(hosts(&fixture, &request).await, names(&[]));
    request.options.assume_empty_hosts = true;
    assert_eq!(hosts(&fixture, &request).await, names(&["used"]));
    request.options.ignored_reservation_types = [ReservationType::Committed, ReservationType::Failover].into();
    assert_eq!(hosts(&fixture, &request).await, names(&["reserved", "used"]));
}

pub async fn a_probe_for_an_unknown_pipeline_names_it<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let request = Request { pipeline: "no \"such\"".to_owned(), ..probe(flavor(1, 1)) };
    let expected = SchedulerError::Pipeline("no \"such\"".to_owned());
    assert_eq!(fixture.scheduler().probe(&request, "").await, Err(expected));
}

pub async fn contradicting_options_are_refused<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    for options in [
        Options::default(),
        Options { read_only: true, ..Options::default() },
        Options { skip_inflight: false, ..Options::read_only() },
        Options { skip_committed_resource_tracking: false, ..Options::read_only() },
    ] {
        let expected = options.validate().err().unwrap_or(SchedulerError::Options("a probe must set read_only"));
        let request = Request { options, ..probe(flavor(1, 1)) };
        assert_eq!(fixture.scheduler().probe(&request, "").await, Err(expected));
    }
}

pub async fn the_same_cloud_gives_the_same_order<F: Fixture>() {
    let hosts = ["d", "b", "a", "c"].map(|name| host(name, gib(8, 64)));
    let fixture = F::with(&hosts).await;
    assert_eq!(fixture.scheduler().probe(&probe(flavor(1, 8)), "").await, Ok(names(&["a", "b", "c", "d"])));
    fixture.shows(&in_force(&wanted("s", gib(2, 16)), "a"));
    let again = fixture.scheduler().probe(&probe(flavor(1, 8)), "").await;
    assert_eq!(again, fixture.scheduler().probe(&probe(flavor(1, 8)), "").await);
}
