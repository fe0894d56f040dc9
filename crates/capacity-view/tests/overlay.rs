//! An overlay shows what the view would show if everything had really happened, and leaves the view unchanged until it
//! is committed.

mod support;

use std::collections::BTreeMap;

use berth_capacity_view::{Assumed, HostId, Overlay, Question, View};
use berth_core::reservation::Reservation;
use berth_core::{HostName, Resources, SlotKey, VmId};
use proptest::collection::vec;
use proptest::prelude::*;

use support::{act, assumed, event, instance, key, size, vm};

/// A step of a decision in its overlay.
#[derive(Clone, Debug)]
enum Step {
    Release(SlotKey),
    Shrink(SlotKey, Resources),
    Restore(SlotKey),
    Assume(Assumed),
    Forget(SlotKey),
    Unclaim(VmId),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => key().prop_map(Step::Release),
        2 => (key(), size()).prop_map(|(key, size)| Step::Shrink(key, size)),
        1 => key().prop_map(Step::Restore),
        3 => assumed().prop_map(Step::Assume),
        1 => key().prop_map(Step::Forget),
        2 => instance().prop_map(Step::Unclaim),
    ]
}

fn take(overlay: &mut Overlay<'_>, step: Step) {
    match step {
        Step::Release(key) => overlay.release(&key),
        Step::Shrink(key, size) => overlay.shrink(&key, size),
        Step::Restore(key) => overlay.restore(&key),
        Step::Assume(entry) => overlay.assume(entry),
        Step::Forget(key) => overlay.forget(&key),
        Step::Unclaim(instance) => overlay.unclaim(&instance),
    }
}

/// Changes entries and claims without an overlay.
fn write(view: &mut View, step: Step) {
    match step {
        Step::Assume(entry) => drop(view.assume(entry)),
        Step::Forget(key) => drop(view.forget(&key)),
        Step::Unclaim(instance) => drop(view.unclaim(&instance)),
        Step::Release(_) | Step::Shrink(..) | Step::Restore(_) => {}
    }
}

/// Really changes a slot; assumed entries and claims stay as they were.
fn change(view: &mut View, key: &SlotKey, counted: Option<Reservation>) {
    let entry = view.assumed(key).cloned();
    let claim = view.claim_of(&VmId::new(key.name.as_str())).cloned();
    match counted {
        Some(reservation) => drop(view.set_reservation(reservation)),
        None => drop(view.remove_reservation(key)),
    }
    if let Some(entry) = entry {
        drop(view.assume(entry));
    }
    if let Some(claim) = claim {
        drop(view.claim(claim));
    }
}

/// The view after everything has really happened: first what is written, then what is only counted differently.
fn real(view: &View, steps: &[Step]) -> View {
    let mut real = view.clone();
    let mut slots = BTreeMap::new();
    for step in steps {
        write(&mut real, step.clone());
        match step {
            Step::Release(key) => drop(view.reservation(key).map(|_| slots.insert(key.clone(), None))),
            Step::Shrink(key, size) => {
                let shrunk = view.reservation(key).map(|known| {
                    let (memory, cpu) = (known.size.memory.min(size.memory), known.size.cpu.min(size.cpu));
                    Reservation { size: Resources::new(memory, cpu), ..known.clone() }
                });
                if let Some(shrunk) = shrunk {
                    drop(slots.insert(key.clone(), Some(shrunk)));
                }
            }
            Step::Restore(key) => drop(slots.remove(key)),
            _ => {}
        }
    }
    for (key, counted) in slots {
        change(&mut real, &key, counted);
    }
    real
}

fn grown(events: Vec<support::Event>) -> View {
    let mut view = View::default();
    for event in events {
        act(&mut view, event);
    }
    view
}

fn changed<'v>(view: &'v View, steps: &[Step]) -> Overlay<'v> {
    let mut overlay = view.overlay();
    for step in steps {
        take(&mut overlay, step.clone());
    }
    overlay
}

fn hosts(view: &View) -> Vec<HostId> {
    view.hosts().map(|(id, _)| id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_overlay_shows_what_would_really_be(events in vec(event(), 1..30), steps in vec(step(), 0..8)) {
        let view = grown(events);
        let (overlay, real) = (changed(&view, &steps), real(&view, &steps));
        for id in hosts(&view) {
            prop_assert_eq!(overlay.state(id), real.state(id));
            let name = &view.state(id).unwrap().host().name;
            prop_assert_eq!(overlay.free(name), real.free(name));
        }
        prop_assert_eq!(real.drift(), Vec::<HostName>::new());
    }

    #[test]
    fn a_request_finds_the_capacity_on_an_overlay_that_it_would_really_find(
        events in vec(event(), 1..30),
        steps in vec(step(), 0..8),
        (own, need, empty, unlocks) in (vm(), size(), any::<bool>(), any::<bool>()),
    ) {
        let view = grown(events);
        let (overlay, real) = (changed(&view, &steps), real(&view, &steps));
        let real = real.overlay();
        let (project, group) = ("p0".into(), "g0".into());
        let owner = unlocks.then_some((&project, &group));
        let question = Question { owner, vm: Some(&own), own_failover: unlocks, assume_empty: empty, ..Question::default() };
        let (there, really) = (overlay.free_capacities(&question), real.free_capacities(&question));
        for id in hosts(&view) {
            prop_assert_eq!(there.at(id), really.at(id));
        }
        let (mut fitting, mut really_fitting) = (view.present().clone(), view.present().clone());
        there.keep_fitting(need, &mut fitting);
        really.keep_fitting(need, &mut really_fitting);
        prop_assert_eq!(fitting.iter().collect::<Vec<_>>(), really_fitting.iter().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_committed_is_what_would_have_been_written(events in vec(event(), 1..30), steps in vec(step(), 0..8)) {
        let view = grown(events);
        let (mut written, mut committed) = (view.clone(), view.clone());
        for step in &steps {
            write(&mut written, step.clone());
        }
        let before: Vec<_> = hosts(&view).into_iter().map(|id| (id, view.state(id).unwrap().free_capacity())).collect();
        let gained = committed.commit(changed(&view, &steps).into_entries());
        for (id, free) in before {
            prop_assert_eq!(committed.state(id), written.state(id));
            let after = committed.state(id).unwrap().free_capacity();
            let grew = after.is_some_and(|after| free.is_none_or(|before| !after.fits(before)));
            prop_assert!(gained.contains(&id) || !grew, "hosts that gain capacity are reported");
        }
        prop_assert!(committed.all_assumed().eq(written.all_assumed()));
        prop_assert!(committed.all_claims().eq(written.all_claims()));
        prop_assert_eq!(committed.drift(), Vec::<HostName>::new());
    }

    #[test]
    fn a_slot_that_is_restored_counts_as_before(events in vec(event(), 1..30), (own, size) in (key(), size())) {
        let view = grown(events);
        let mut overlay = view.overlay();
        overlay.release(&own);
        overlay.restore(&own);
        overlay.shrink(&own, size);
        overlay.restore(&own);
        for id in hosts(&view) {
            prop_assert_eq!(overlay.state(id), view.state(id));
        }
    }
}
