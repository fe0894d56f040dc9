//! Taking over a region from an older system: its objects are served as they are, nothing is deleted or moved, and
//! every write has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_crds::{CommittedResource, Knowledge, conditions};
use berth_testkit::{Happened, Server};
use parking_lot::Mutex;
use serde_json::Value;

use crate::alone;
use crate::recorded::{self, explained, name};
use crate::world::World;

/// Invariants that old data violates permanently, by prefix of the violation: slots have no label of ours, and a slot
/// of a deleted commitment is left to users.
const OLD_DATA: [&str; 2] =
    ["slot_unmarked: ", "slot_orphaned: home/commitment-6b0f3a52-9d41-4c7e-8a15-000000000024-0: "];

type State = (Happened, Arc<Value>);

/// Every written state of every object.
#[derive(Clone, Default)]
struct History(Arc<Mutex<Vec<State>>>);

impl History {
    fn of(server: &Server) -> Self {
        let history = Self::default();
        let book = history.clone();
        server.on_write(move |_, event| book.0.lock().push((event.happened, event.object.clone())));
        history
    }

    /// The kinds of writes to each object, and the forbidden writes.
    fn checked(&self) -> (BTreeMap<String, BTreeSet<&'static str>>, Vec<String>) {
        let (mut now, mut kinds, mut wrong) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for (happened, object) in self.0.lock().iter() {
            let key = format!("{} {}", recorded::text(object, "/kind"), name(object));
            if *happened == Happened::Deleted {
                wrong.push(format!("{key} was deleted"));
            }
            let Some(before) = now.insert(key.clone(), object.clone()) else { continue };
            match explained(&before, object) {
                Ok(write) => kinds.entry(name(object).to_owned()).or_insert_with(BTreeSet::new).extend(write),
                Err(difference) => wrong.push(difference),
            }
        }
        (kinds, wrong)
    }
}

/// A world with the recorded objects, as their servers hold them.
fn recorded_world(seed: u64) -> (World, History) {
    let world = World::one_cluster(seed);
    world.home.delete::<Knowledge>(recorded::FLAVOR_GROUPS).unwrap();
    let history = History::of(&world.home);
    world.people(|world| {
        for object in recorded::objects() {
            world.home.create_raw(object.clone()).unwrap_or_else(|error| panic!("{object}: {error:?}"));
        }
    });
    (world, history)
}

fn accepted(server: &Server) -> BTreeSet<String> {
    let all = server.all::<CommittedResource>().unwrap();
    let is_accepted = |object: &&CommittedResource| {
        object.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions))
    };
    all.iter().filter(is_accepted).map(|object| object.metadata.name.clone().unwrap()).collect()
}

#[test]
fn recorded_objects_are_taken_over_without_deleting_or_moving_anything() {
    for seed in 0..6 {
        alone(async {
            let (mut world, history) = recorded_world(seed);
            let before = accepted(&world.home);
            let objects = recorded::objects().len();
            let process = world.start("one");
            world.rests().await;

            let (kinds, wrong) = history.checked();
            assert_eq!(wrong, [""; 0], "seed {seed}\n{}", world.last_writes(60));
            assert_eq!(kinds, recorded::written(), "seed {seed}\n{}", world.last_writes(60));
            let lost: Vec<_> = before.difference(&accepted(&world.home)).cloned().collect();
            assert_eq!(lost, [recorded::NOT_SERVED], "accepted and served commitments stay accepted");
            assert_eq!(world.home.no_op_writes(), 0);
            assert_eq!(history.0.lock().iter().map(|(_, o)| name(o)).collect::<BTreeSet<_>>().len(), objects);

            world.checker.mark_observed();
            assert_eq!(world.checker.violations(), [""; 0]);
            let mut violations = world.checker.violations_at_rest();
            violations.retain(|text| !OLD_DATA.iter().any(|old| text.starts_with(old)));
            assert_eq!(violations, [""; 0]);
            world.a_new_process_writes_nothing([process]).await;
        });
    }
}
