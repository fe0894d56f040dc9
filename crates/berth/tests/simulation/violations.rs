//! Operators that are broken on purpose, to show that the invariants about time find them. Each is wired as in the
//! binary, but has a configuration that the checker does not know.

use berth_crds::{CommittedResource, names};
use serde_json::json;
use tokio::time::sleep;

use crate::alone;
use crate::disruption_limit::{MINUTE, disruption_limit, three_slots, without_their_host};
use crate::world::{Keys, World};

const NON_REJECTABLE: Keys = Keys { disruption_limit: None, grace: Some("10h") };

/// How often the checker has found a violation of this invariant until now.
fn found(world: &World, invariant: &str) -> usize {
    let violations = world.checker.violations();
    let other: Vec<_> = violations.iter().filter(|text| !text.contains(invariant)).collect();
    assert_eq!(other, Vec::<&String>::new());
    violations.len()
}

#[test]
fn an_operator_that_brakes_too_late_is_found() {
    alone(async {
        let mut world = World::with_faulty_operators(1, disruption_limit(1000), disruption_limit(2));
        let _process = three_slots(&mut world).await;
        without_their_host(&world, 10).await;
        assert_eq!(found(&world, "disturbed_too_many"), 1, "the third slot");
    });
}

#[test]
fn an_operator_that_leaves_slots_where_no_host_is_any_more_is_found() {
    alone(async {
        let mut world = World::with_faulty_operators(1, NON_REJECTABLE, Keys::default());
        let _process = three_slots(&mut world).await;
        without_their_host(&world, 31).await;
        assert_eq!(found(&world, "slot_on_gone_host"), 0);
        sleep(MINUTE).await;
        assert_eq!(found(&world, "slot_on_gone_host"), 3);
    });
}

#[test]
fn an_operator_that_keeps_orphaned_slots_is_found() {
    alone(async {
        let mut world = World::with_faulty_operators(1, NON_REJECTABLE, Keys::default());
        let _process = three_slots(&mut world).await;
        world.people(|world| {
            let (name, free) = (names::commitment("uuid-1"), json!({ "metadata": { "finalizers": null } }));
            world.home.edit::<CommittedResource>(&name, &free).unwrap();
            world.home.delete::<CommittedResource>(&name).unwrap();
        });
        sleep(31 * MINUTE).await;
        assert_eq!(found(&world, "orphan_stays"), 0);
        sleep(MINUTE).await;
        assert_eq!(found(&world, "orphan_stays"), 3);
    });
}
