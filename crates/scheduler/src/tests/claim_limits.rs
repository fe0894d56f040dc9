//! Bounds of the claims of one project, and of a claim on its host.

use super::answers::{at, call, cloud, vm};
use super::*;
use crate::{AnswerSettings, Call, ClaimLimits, ClaimRefusal, Commitments, Guest, Pipelines};

fn limits(per_project: usize) -> AnswerSettings {
    AnswerSettings { claim_limits: Some(ClaimLimits { per_project }), ..AnswerSettings::default() }
}

fn of(project: &str, name: &str) -> Request {
    Request { project: project.into(), ..vm(name) }
}

fn refusal(scheduler: &Watched, request: &Request) -> Option<ClaimRefusal> {
    let answer = scheduler.answer(&call(request)).unwrap();
    assert_eq!(answer.hosts.is_empty(), answer.refused.is_some(), "{answer:?}");
    assert!(answer.booking.is_none() && (answer.refused.is_none() || answer.coverage.is_none()));
    answer.refused
}

/// Each VM has 4 cores and 32 GiB; there are 20 cores and 160 GiB of them in a host of zone z1.
fn hosts(zones: &[&str]) -> Vec<Host> {
    let host =
        |(place, zone): (usize, &&str)| Host { zone: (*zone).into(), ..host(&format!("h{place}"), gib(20, 160)) };
    zones.iter().enumerate().map(host).collect()
}

#[test]
fn a_project_gets_no_more_claims_than_its_number() {
    let scheduler = cloud(&hosts(&["z1"; 4]), limits(3));
    for name in ["a", "b", "c"] {
        assert_eq!(refusal(&scheduler, &of("p", name)), None);
    }
    assert_eq!(refusal(&scheduler, &of("p", "d")), Some(ClaimRefusal::Number(3)));
    assert_eq!(scheduler.claimed(), 3, "the refused request claims nothing");
    assert_eq!(refusal(&scheduler, &of("p", "c")), None, "a repeated request replaces its claim");
    assert_eq!(refusal(&scheduler, &of("q", "e")), None, "other projects are not concerned");
    assert_eq!(scheduler.expire(Duration::from_secs(600)), []);
    assert_eq!(scheduler.answer(&at(600, &of("p", "d"))).unwrap().refused, None);
}

#[test]
fn the_claims_of_a_project_take_at_most_half_of_a_zone() {
    let scheduler = cloud(&hosts(&["z1", "z1", "z2", "z2"]), limits(1000));
    let in_zone = |zone: &str, name: &str| Request { zone: zone.into(), ..of("p", name) };
    for place in 0..5 {
        assert_eq!(refusal(&scheduler, &in_zone("z1", &format!("a{place}"))), None, "{place}");
    }
    assert_eq!(refusal(&scheduler, &in_zone("z1", "b")), Some(ClaimRefusal::Share));
    assert_eq!(refusal(&scheduler, &in_zone("z2", "c")), None, "each zone counts for itself");
    assert_eq!(refusal(&scheduler, &Request { project: "q".into(), ..in_zone("z1", "d") }), None);
    assert_eq!(scheduler.claimed(), 7);
}

#[test]
fn the_first_claim_of_a_project_is_always_admitted() {
    let scheduler = cloud(&[host("h", gib(4, 32))], limits(1));
    assert_eq!(refusal(&scheduler, &of("p", "all-of-the-zone")), None);
    assert_eq!(refusal(&scheduler, &of("p", "all-of-the-zone")), None, "also when it is repeated");
}

#[test]
fn a_refused_request_gives_up_the_former_claim_of_its_vm() {
    let scheduler = cloud(&hosts(&["z1", "z1"]), limits(1000));
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(refusal(&scheduler, &of("p", name)), None);
    }
    let larger = Request { instances: 2, ..of("p", "a") };
    assert_eq!(refusal(&scheduler, &larger), Some(ClaimRefusal::Share));
    assert_eq!(scheduler.claimed(), 4);
    assert_eq!(refusal(&scheduler, &of("p", "f")), None);
}

#[test]
fn read_only_requests_are_not_limited() {
    let scheduler = cloud(&hosts(&["z1"; 2]), limits(1));
    assert_eq!(refusal(&scheduler, &of("p", "a")), None);
    let probe = Request { options: crate::Options::read_only(), ..of("p", "b") };
    assert_eq!(refusal(&scheduler, &probe), None);
}

/// A project with commitments for more than half of a zone can start all of its VMs.
#[test]
fn claims_in_slots_of_the_project_take_nothing_of_the_zone() {
    let scheduler = cloud(&[host("h", gib(20, 160))], limits(1000));
    for name in ["s1", "s2", "s3", "s4"] {
        let _ = scheduler.reservation_changed(&key(name), Some(slot(name, "h", gib(4, 32), &[])));
    }
    let of_owner = |name: &str| Request {
        project: "p1".into(),
        instance: name.into(),
        ..request(4, 32 * 1024, &[("quota:hw_version", "g1")])
    };
    let guest = Guest { group: "g1".into(), size: gib(4, 32), commitments: Commitments::Left };
    for name in ["a", "b", "c", "d", "beside"] {
        let answer = scheduler.answer(&Call { guest: Some(&guest), ..call(&of_owner(name)) }).unwrap();
        assert_eq!((names(&answer.hosts), answer.refused), (vec!["h".to_owned()], None), "{name}");
        assert_eq!(answer.booking.is_some(), name != "beside", "{name}");
    }
}

/// A pipeline without a filter of capacity names hosts that have none.
#[test]
fn a_claim_is_cut_to_what_is_free_on_its_host() {
    let scheduler = cloud(&[host("h", gib(6, 40))], AnswerSettings::default());
    let mut pipelines = Pipelines::shipped();
    pipelines.insert(Pipeline { name: "blind".into(), ..pipeline(&[], &[]) });
    scheduler.set_pipelines(pipelines);
    let asks = |name: &str| Request { pipeline: "blind".into(), ..vm(name) };
    for (name, free) in [("a", gib(2, 8)), ("b", gib(0, 0)), ("c", gib(0, 0))] {
        assert_eq!(names(&scheduler.answer(&call(&asks(name))).unwrap().hosts), ["h"]);
        assert_eq!(scheduler.free_capacity(&"h".into()), Some(free), "{name}");
    }
    let sizes: Vec<_> = scheduler.held_claims().iter().map(|held| held.claim.size).collect();
    assert_eq!(sizes, [gib(4, 32), gib(2, 8), gib(0, 0)]);
}
