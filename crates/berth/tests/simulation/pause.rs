//! Pauses in short lives: users pause and resume commitments while other users change and delete them and remove their
//! hosts. A paused commitment stays as it is until it is resumed, and in the end all invariants hold. Here users do not
//! edit slots by hand, nothing crashes, and watch events are late by less than a second, so that the operator has made
//! every difference.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Quantity, Reservation, labels, names};
use berth_testkit::{Random, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::life::{self, Act, COMMITMENTS};
use crate::world::{World, ZONES};
use crate::{alone, faults, reported};

const ACTS: [Act; 10] = [
    Act::Commit,
    Act::Commit,
    Act::Resize,
    Act::Resize,
    Act::Move,
    Act::Delete,
    Act::HostComes,
    Act::HostShrinks,
    Act::HostGoes,
    Act::Vm,
];

/// Longer than a write takes that was under way when a user paused its commitment.
const UNDER_WAY: Duration = Duration::from_secs(10);

/// The slots of a commitment: cluster and name, with size and host.
type Slots = BTreeMap<(ClusterName, String), (BTreeMap<String, Quantity>, Option<String>)>;

fn slots_of(world: &World, uuid: &str) -> Slots {
    let mut found = Slots::new();
    for (cluster, server) in world.servers() {
        for slot in server.all::<Reservation>().unwrap() {
            let data = slot.spec.committed_resource_reservation.as_ref();
            if data.and_then(|data| data.commitment_uuid.as_deref()) == Some(uuid) {
                let name = slot.metadata.name.clone().unwrap_or_default();
                found.insert((cluster.clone(), name), (slot.spec.resources, slot.spec.target_host));
            }
        }
    }
    found
}

fn is_paused(server: &Server, uuid: &str) -> bool {
    let object = server.get::<CommittedResource>(&names::commitment(uuid));
    object.is_ok_and(|object| object.metadata.annotations.is_some_and(|all| all.contains_key(labels::PAUSED)))
}

fn annotate(world: &World, uuid: &str, pause: bool) {
    let value = if pause { json!("") } else { Value::Null };
    let patch = json!({ "metadata": { "annotations": { labels::PAUSED: value } } });
    world.people(|world| {
        for (_, server) in world.servers() {
            drop(server.edit::<CommittedResource>(&names::commitment(uuid), &patch));
        }
    });
}

/// The paused commitments, with their slots at that time.
#[derive(Default)]
struct PausedObjects {
    kept: BTreeMap<String, Slots>,
    checks: u64,
}

impl PausedObjects {
    async fn pause(&mut self, world: &World, uuid: &str) {
        if !self.kept.contains_key(uuid) {
            annotate(world, uuid, true);
            sleep(UNDER_WAY).await;
            self.kept.insert(uuid.to_owned(), slots_of(world, uuid));
        }
    }

    /// A paused commitment that was deleted without hindrance is not checked any more.
    fn checker(&mut self, world: &World) {
        self.kept.retain(|uuid, _| world.servers().iter().any(|(_, server)| is_paused(server, uuid)));
        for (uuid, before) in &self.kept {
            assert_eq!(slots_of(world, uuid), *before, "{uuid} is paused\n{}", world.last_writes(40));
            self.checks += u64::from(!before.is_empty());
        }
    }
}

fn paused_life(seed: u64) -> u64 {
    alone(async {
        let mut world = if seed.is_multiple_of(2) { World::two_clusters(seed) } else { World::one_cluster(seed) };
        for zone in ZONES {
            world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 3)]);
        }
        let mut random = Random::new(seed);
        world.servers().into_iter().for_each(|(_, server)| faults::disturbance(server, &mut random));
        let process = world.start("one");
        let mut paused = PausedObjects::default();
        for _ in 0..40 {
            sleep(world.random.duration(&(Duration::ZERO..=Duration::from_secs(60)))).await;
            paused.checker(&world);
            let uuid = format!("uuid-{}", random.below(COMMITMENTS));
            match random.below(5) {
                0 | 1 => paused.pause(&world, &uuid).await,
                2 => {
                    paused.kept.remove(&uuid);
                    annotate(&world, &uuid, false);
                }
                _ => life::act(&mut world, &ACTS),
            }
        }
        paused.checker(&world);
        (0..COMMITMENTS).for_each(|number| annotate(&world, &format!("uuid-{number}"), false));
        world.holds_invariants(process).await;
        paused.checks
    })
}

#[test]
fn seeds_leave_what_is_paused_as_it_is_and_end_without_violations_when_it_is_set_free() {
    let mut checks = 0;
    for seed in crate::seeds() {
        eprintln!("seed {seed}");
        checks += paused_life(seed);
    }
    reported(&format!("simulation of pauses: {checks} reconciliations of paused commitments with slots"));
    assert!(checks > 0);
}
