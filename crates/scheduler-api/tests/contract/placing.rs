//! Hosts for slots.

use berth_core::HostName;
use berth_core::host::Host;
use berth_scheduler::{CommitmentRequest, Placed, Placement, Scheduler, SchedulerError, SlotRequest};

use crate::cloud::{flavor, gib, host, in_force, wanted, written};
use crate::fixture::Fixture;

#[expect(clippy::unnecessary_wraps, reason = "compared with what may be nothing")]
fn on(name: &str) -> Option<HostName> {
    Some(name.into())
}

pub async fn a_slot_gets_a_host_that_is_good_for_it<F: Fixture>() {
    let elsewhere = Host { zone: "other".into(), ..host("a", gib(64, 512)) };
    let small = host("b", gib(2, 16));
    let off = Host { conditions: [].into(), ..host("c", gib(64, 512)) };
    let mut fast = host("d", gib(8, 64));
    fast.traits.insert("CUSTOM_FAST".to_owned());
    let fixture = F::with(&[elsewhere, small, off, fast, host("e", gib(8, 64))]).await;
    let mut slot = wanted("s", gib(4, 32));
    slot.flavor.extra_specs.insert("trait:CUSTOM_FAST".to_owned(), "required".to_owned());
    assert_eq!(fixture.place(&slot).await, on("d"));
    let elsewhere = SlotRequest { zone: "other".into(), ..wanted("t", gib(4, 32)) };
    assert_eq!(fixture.place(&elsewhere).await, on("a"));
    fixture.is_led_well();
}

pub async fn a_slot_without_a_good_host_learns_how_many_there_were<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(2, 16)), host("b", gib(2, 16))]).await;
    let slot = wanted("s", gib(4, 32));
    let Placed::Nowhere(shortage) = fixture.scheduler().place(&slot).await.unwrap() else {
        panic!("no host is large enough");
    };
    assert_eq!((shortage.hosts, !shortage.removed.is_empty()), (2, F::DIFFERS.counts_filters));
    let waiting = fixture.scheduler().waiting(&slot.key);
    assert_eq!(waiting, F::DIFFERS.has_a_waiting_list.then_some(shortage));
    assert!(F::DIFFERS.has_a_waiting_list || fixture.views().iter().all(|view| view.waiting_slots().is_empty()));
    fixture.assumes_nothing();
}

pub async fn without_any_host_there_is_nowhere_to_go<F: Fixture>() {
    let fixture = F::start().await;
    let placed = fixture.scheduler().place(&wanted("s", gib(1, 8))).await;
    assert!(matches!(placed, Ok(Placed::Nowhere(shortage)) if shortage.hosts == 0));
}

pub async fn a_slot_counts_with_its_own_size<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let part = SlotRequest { flavor: flavor(16, 128), ..wanted("part", gib(4, 32)) };
    assert_eq!(fixture.place(&part).await, on("a"));
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let grown = SlotRequest { flavor: flavor(1, 8), ..wanted("grown", gib(5, 32)) };
    assert_eq!(fixture.place(&grown).await, None);
}

pub async fn capacity_that_was_given_is_not_given_twice<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(4, 32))]).await;
    let names = ["s1", "s2", "s3"];
    let mut hosts = Vec::new();
    for name in names {
        hosts.push(fixture.place(&wanted(name, gib(3, 24))).await);
    }
    hosts.sort();
    assert_eq!(hosts, [None, on("a"), on("b")]);
    // Nor once the objects show it.
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let first = wanted("s1", gib(3, 24));
    assert_eq!(fixture.place(&first).await, on("a"));
    fixture.shows(&written(&first, "a"));
    fixture.ended(&first);
    assert_eq!(fixture.place(&wanted("s2", gib(3, 24))).await, None);
    fixture.assumes_nothing();
}

pub async fn asking_again_gives_the_same_host_and_takes_nothing_more<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(4, 32))]).await;
    let slot = wanted("s", gib(2, 16));
    let first = fixture.place(&slot).await;
    assert!(first.is_some());
    assert_eq!(fixture.place(&slot).await, first);
    // Four of this size fit on the two hosts.
    for name in ["t1", "t2", "t3"] {
        assert!(fixture.place(&wanted(name, gib(2, 16))).await.is_some(), "{name}");
    }
    assert_eq!(fixture.place(&wanted("t4", gib(2, 16))).await, None);
}

pub async fn a_slot_is_not_in_its_own_way<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let slot = wanted("s", gib(4, 32));
    fixture.shows(&in_force(&slot, "a"));
    assert_eq!(fixture.place(&slot).await, on("a"));
}

pub async fn an_unknown_pipeline_is_named<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let slot = SlotRequest { pipeline: "nope".to_owned(), ..wanted("s", gib(1, 8)) };
    assert_eq!(fixture.scheduler().place(&slot).await, Err(SchedulerError::Pipeline("nope".to_owned())));
    fixture.assumes_nothing();
}

pub async fn a_flavor_that_no_pipeline_fits_is_an_error<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let mut slot = SlotRequest { pipeline: String::new(), ..wanted("s", gib(1, 8)) };
    slot.flavor.extra_specs.insert("trait:CUSTOM_HANA_EXCLUSIVE_HOST".to_owned(), "maybe".to_owned());
    assert_eq!(fixture.scheduler().place(&slot).await, Err(SchedulerError::Inference("flavor")));
    slot.flavor.extra_specs.clear();
    assert_eq!(fixture.scheduler().place(&slot).await, Err(SchedulerError::Inference("hypervisor")));
}

pub async fn a_commitment_is_placed_as_a_whole_or_later<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32)), host("b", gib(4, 32))]).await;
    let slots = ["s1", "s2", "s3"].map(|name| wanted(name, gib(3, 24)));
    let whole = CommitmentRequest { slots: slots.to_vec(), all_or_nothing: true, ..CommitmentRequest::default() };
    match fixture.scheduler().place_all(&whole).await.unwrap() {
        Placement::Later => assert!(!F::DIFFERS.places_wholes),
        Placement::Decided { hosts, shortage, .. } => {
            assert!(F::DIFFERS.places_wholes && shortage.is_some());
            assert_eq!(hosts.iter().flatten().count(), 2);
        }
    }
    fixture.assumes_nothing();
    // Both ways find hosts for the slots that fit.
    for slot in &slots[..2] {
        assert!(fixture.place(slot).await.is_some());
    }
}

pub async fn a_freed_host_is_found_again<F: Fixture>() {
    let fixture = F::with(&[host("a", gib(4, 32))]).await;
    let former = wanted("former", gib(4, 32));
    fixture.shows(&in_force(&former, "a"));
    let slot = wanted("s", gib(2, 16));
    let larger = wanted("t", gib(5, 40));
    assert_eq!(
        (fixture.place(&larger).await, F::DIFFERS.has_a_waiting_list),
        (None, fixture.scheduler().waiting(&larger.key).is_some())
    );
    fixture.gone(&former.key);
    assert_eq!(fixture.place(&slot).await, on("a"));
}
