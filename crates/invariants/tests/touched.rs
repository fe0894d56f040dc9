//! An incrementally updated snapshot equals a new one, and a violation is found among the touched objects.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "one test shows what it costs")]
#![allow(clippy::large_enum_variant, reason = "a few of them live for a moment")]

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::ClusterName;
use berth_crds::commitment_change::ChangePhase;
use berth_crds::{
    CommitmentChange, CommitmentState, CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation, Time, testing,
};
use berth_invariants::{ExternalChanges, Key, Snapshot, Touched, always, always_touched, at_rest};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One change in a world that is so small that objects interact.
#[derive(Clone, Debug)]
enum Change {
    Commitment(Key, Option<CommittedResource>),
    Reservation(Key, Option<Reservation>),
    Host(Key, Option<Hypervisor>),
    Capacity(Key, Option<FlavorGroupCapacity>),
    Journal(Key, Option<CommitmentChange>),
}

fn cluster() -> impl Strategy<Value = ClusterName> {
    prop_oneof![3 => Just("home"), 1 => Just("far")].prop_map(ClusterName::from)
}

fn uuid() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("aaaaaa"), Just("bbbbbb")]
}

fn node() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("node1"), Just("node2")]
}

fn commitment() -> impl Strategy<Value = Change> {
    let object = (uuid(), any::<bool>(), any::<bool>()).prop_map(|(uuid, protected, gone)| {
        let mut object = world::commitment(uuid, 2);
        if !protected {
            object.metadata.finalizers = None;
        }
        (object, gone)
    });
    (cluster(), object, any::<bool>()).prop_map(|(cluster, (mut object, gone), canonical)| {
        if !canonical {
            object.metadata.name = Some("another".to_owned());
        }
        Change::Commitment(Key::new(cluster, object.metadata.name.clone().unwrap()), (!gone).then_some(object))
    })
}

fn of_cores() -> impl Strategy<Value = Change> {
    let object = (uuid(), 0_u64..100, any::<bool>(), any::<bool>()).prop_map(|(uuid, count, planned, here)| {
        let mut object = world::cores(uuid, count);
        if planned {
            object.spec.state = CommitmentState::Planned;
        }
        if !here {
            let accepted = object.status.as_mut().unwrap().accepted_spec.as_mut().unwrap();
            "elsewhere".clone_into(&mut accepted.availability_zone);
        }
        object
    });
    (cluster(), object, any::<bool>()).prop_map(|(cluster, object, there)| {
        Change::Commitment(Key::new(cluster, object.metadata.name.clone().unwrap()), there.then_some(object))
    })
}

fn capacity() -> impl Strategy<Value = Change> {
    (cluster(), node(), 0_u64..150, any::<bool>()).prop_map(|(cluster, name, cores, there)| {
        Change::Capacity(Key::new(cluster, name), there.then(|| world::capacity(name, cores)))
    })
}

fn change() -> impl Strategy<Value = Change> {
    (cluster(), node(), uuid(), any::<bool>(), 0_u8..4).prop_map(|(cluster, name, zone, under_way, fate)| {
        let mut object = testing::commitment_change(name, &[]);
        zone.clone_into(&mut object.spec.availability_zone);
        let phase = if under_way { ChangePhase::Applying } else { ChangePhase::Failed };
        object.status.get_or_insert_default().phase = phase;
        Change::Journal(Key::new(cluster, object.metadata.name.clone().unwrap()), (fate != 0).then_some(object))
    })
}

fn reservation() -> impl Strategy<Value = Change> {
    let place = (option::of(node()), option::of(node()), any::<bool>());
    let vms = (option::of(node()), any::<bool>());
    let key = (cluster(), uuid(), 0_u64..3);
    (key, place, vms, 0_u8..4).prop_map(
        |((cluster, uuid, number), (target, host, zone), (confirmed, expected), fate)| {
            let mut slot = world::slot(uuid, number, "node1");
            slot.spec.target_host = target.map(str::to_owned);
            if !zone {
                slot.spec.availability_zone = None;
            }
            if expected {
                world::expect(&mut slot, "vm-1", 160);
            }
            if fate == 1 {
                slot.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
            }
            let status = slot.status.get_or_insert_default();
            status.host = host.map(str::to_owned);
            if let Some(node) = confirmed {
                let outcome = status.committed_resource_reservation.get_or_insert_default();
                outcome.allocations.insert("vm-1".to_owned(), node.to_owned());
            }
            Change::Reservation(Key::new(cluster, slot.metadata.name.clone().unwrap()), (fate != 0).then_some(slot))
        },
    )
}

fn host() -> impl Strategy<Value = Change> {
    (cluster(), node(), 0_u64..3, any::<bool>(), 0_u8..4).prop_map(|(cluster, name, slots, vm, fate)| {
        let mut host = world::host(name, slots);
        if vm {
            let status = host.status.as_mut().unwrap();
            status.instances = vec![world::instance("vm-1")];
            status.allocation = testing::size("160Gi", "10");
        }
        if fate == 1 {
            host.metadata.labels = None;
        }
        Change::Host(Key::new(cluster, name), (fate != 0).then_some(host))
    })
}

#[derive(Default)]
struct Objects {
    commitments: BTreeMap<Key, CommittedResource>,
    reservations: BTreeMap<Key, Reservation>,
    hosts: BTreeMap<Key, Hypervisor>,
    capacities: BTreeMap<Key, FlavorGroupCapacity>,
    changes: BTreeMap<Key, CommitmentChange>,
}

fn exchange<K>(objects: &mut BTreeMap<Key, K>, key: Key, object: Option<K>) {
    match object {
        Some(object) => drop(objects.insert(key, object)),
        None => drop(objects.remove(&key)),
    }
}

impl Objects {
    fn change(&mut self, change: Change) {
        match change {
            Change::Commitment(key, object) => exchange(&mut self.commitments, key, object),
            Change::Reservation(key, object) => exchange(&mut self.reservations, key, object),
            Change::Host(key, object) => exchange(&mut self.hosts, key, object),
            Change::Capacity(key, object) => exchange(&mut self.capacities, key, object),
            Change::Journal(key, object) => exchange(&mut self.changes, key, object),
        }
    }

    fn snapshot(&self) -> Snapshot {
        fn all<K: Clone>(objects: &BTreeMap<Key, K>) -> impl Iterator<Item = (ClusterName, Arc<K>)> {
            objects.iter().map(|(key, object)| (key.cluster.clone(), Arc::new(object.clone())))
        }
        Snapshot::of(all(&self.commitments), all(&self.reservations), all(&self.hosts))
            .with_capacities(all(&self.capacities))
            .with_changes(all(&self.changes))
    }
}

fn follow(snapshot: &mut Snapshot, change: &Change) -> Touched {
    match change {
        Change::Commitment(key, object) => snapshot.commitment(key, object.clone().map(Arc::new).as_ref()),
        Change::Reservation(key, object) => snapshot.reservation(key, object.clone().map(Arc::new).as_ref()),
        Change::Host(key, object) => snapshot.hypervisor(key, object.clone().map(Arc::new).as_ref()),
        Change::Capacity(key, object) => snapshot.capacity(key, object.clone().map(Arc::new).as_ref()),
        Change::Journal(key, object) => snapshot.change(key, object.clone().map(Arc::new).as_ref()),
    }
}

proptest! {
    #[test]
    fn what_a_change_breaks_is_found_where_it_touched(
        changes in vec(
            prop_oneof![
                1 => commitment(), 3 => reservation(), 1 => host(), 2 => of_cores(), 1 => capacity(), 1 => change(),
            ],
            1..40,
        ),
    ) {
        let (mut objects, mut snapshot) = (Objects::default(), Snapshot::default());
        let (mut outside, mut known) = (ExternalChanges::default(), BTreeSet::new());
        for change in changes {
            let touched = follow(&mut snapshot, &change);
            objects.change(change);
            let anew = objects.snapshot();
            let all = always(&snapshot, &ExternalChanges::default());
            prop_assert_eq!(&all, &always(&anew, &ExternalChanges::default()));
            prop_assert_eq!(at_rest(&snapshot), at_rest(&anew));
            let here = always_touched(&snapshot, &ExternalChanges::default(), &touched);
            let new: Vec<_> = all.iter().filter(|one| !known.contains(&(one.invariant, one.object.clone()))).collect();
            prop_assert!(new.iter().all(|one| here.contains(one)), "{:#?} is not in {:#?}", new, here);
            prop_assert!(here.iter().all(|one| all.contains(one)), "{:#?} is not in {:#?}", here, all);
            known = all.into_iter().map(|one| (one.invariant, one.object)).collect();
            outside.excuse(&snapshot, &touched);
            prop_assert_eq!(always(&snapshot, &outside), [], "other clients have caused all of this");
        }
    }
}

/// Prints the costs for 50,000 objects of a region, each invariant of each object. Run it with `--nocapture`.
#[test]
fn a_large_cloud_is_checked_in_time() {
    const COMMITMENTS: usize = 8_000;
    const SLOTS: u64 = 5;
    const HOSTS: usize = 2_000;
    const CHANGES: usize = 20;
    let uuids: Vec<_> = (0..COMMITMENTS).map(|number| format!("{number:08}-9d41-4c7e-8a15-2f60c1d7e904")).collect();
    let home = ClusterName::home;
    let commitments: Vec<_> = uuids.iter().map(|uuid| (home(), Arc::new(world::commitment(uuid, SLOTS)))).collect();
    let slot = |(number, uuid): (usize, &String)| {
        let slot = |slot: u64| {
            let on = (number * 5 + usize::try_from(slot).unwrap()) % HOSTS;
            (home(), Arc::new(world::slot(uuid, slot, &format!("node{on}"))))
        };
        (0..SLOTS).map(slot).collect::<Vec<_>>()
    };
    let slots: Vec<_> = uuids.iter().enumerate().flat_map(slot).collect();
    let hosts: Vec<_> = (0..HOSTS).map(|n| (home(), Arc::new(world::host(&format!("node{n}"), 20)))).collect();
    let (built, mut snapshot) = timed(|| Snapshot::of(commitments, slots, hosts));
    let mut outside = ExternalChanges::default();
    let (learned, ()) = timed(|| outside.learn(&snapshot, &snapshot.everything()));
    let (always_took, violations) = timed(|| always(&snapshot, &outside));
    assert_eq!(violations, []);
    let (rest_took, violations) = timed(|| at_rest(&snapshot));
    assert_eq!(violations, []);
    let (one, ()) = timed(|| {
        for uuid in &uuids[..CHANGES] {
            let change = Arc::new(world::slot(uuid, 1, "node8"));
            let key = Key::new(home(), change.metadata.name.clone().unwrap());
            let touched = snapshot.reservation(&key, Some(&change));
            outside.learn(&snapshot, &touched);
            always_touched(&snapshot, &outside, &touched);
        }
    });
    let one = one / u32::try_from(CHANGES).unwrap();
    assert_eq!(always(&snapshot, &outside).len(), 1, "one host has too many slots");
    println!(
        "50,000 objects: built in {built:?}, learned in {learned:?}, always in {always_took:?}, at rest in {rest_took:?}; \
         one change in {one:?}"
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let done = work();
    (started.elapsed(), done)
}
