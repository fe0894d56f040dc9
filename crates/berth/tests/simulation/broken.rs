//! Operators that are broken on purpose: the laws about time are only worth something if they find them. Each of these is
//! as the binary wires it, but for a key of its configuration that the judge knows nothing of.

use berth_crds::{CommittedResource, names};
use serde_json::json;
use tokio::time::sleep;

use crate::alone;
use crate::brake::{MINUTE, braking, three_slots, without_their_host};
use crate::world::{Keys, World};

/// Far longer than the judge waits.
const PATIENT: Keys = Keys { brake: None, grace: Some("10h") };

/// How often the judge has found this law broken until now.
fn found(world: &World, law: &str) -> usize {
    let broken = world.judge.broken();
    let other: Vec<_> = broken.iter().filter(|text| !text.contains(law)).collect();
    assert_eq!(other, Vec::<&String>::new());
    broken.len()
}

#[test]
fn d14_an_operator_that_brakes_too_late_is_found() {
    alone(async {
        let mut world = World::with_broken_operators(1, braking(1000), braking(2));
        let _process = three_slots(&mut world).await;
        without_their_host(&world, 10).await;
        assert_eq!(found(&world, "disturbed_too_many"), 1, "the third slot");
    });
}

#[test]
fn u36_an_operator_that_leaves_slots_where_no_host_is_any_more_is_found() {
    alone(async {
        let mut world = World::with_broken_operators(1, PATIENT, Keys::default());
        let _process = three_slots(&mut world).await;
        without_their_host(&world, 31).await;
        assert_eq!(found(&world, "slot_on_gone_host"), 0);
        sleep(MINUTE).await;
        assert_eq!(found(&world, "slot_on_gone_host"), 3);
    });
}

#[test]
fn u49_an_operator_that_keeps_the_slots_of_nobody_is_found() {
    alone(async {
        let mut world = World::with_broken_operators(1, PATIENT, Keys::default());
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
