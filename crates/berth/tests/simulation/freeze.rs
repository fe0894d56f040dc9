//! Freeze in short lives: people freeze commitments and set them free while others change them, delete them and take
//! their hosts away. What is frozen stays as it is until it is set free, and in the end all laws hold. Nobody edits
//! slots by hand here, nothing crashes, and news are late by less than a second, so that every difference is the
//! operator's.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Quantity, Reservation, labels, names};
use berth_testkit::{Random, Server};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::life::{self, Act, COMMITMENTS};
use crate::world::{World, ZONES};
use crate::{alone, faults, told};

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

/// Longer than a write takes that was under way when somebody froze its commitment.
const UNDER_WAY: Duration = Duration::from_secs(10);

/// The slots of a commitment: where they are, how large, and on which host.
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

fn is_frozen(server: &Server, uuid: &str) -> bool {
    let object = server.get::<CommittedResource>(&names::commitment(uuid));
    object.is_ok_and(|object| object.metadata.annotations.is_some_and(|all| all.contains_key(labels::FREEZE)))
}

fn annotate(world: &World, uuid: &str, freeze: bool) {
    let value = if freeze { json!("") } else { Value::Null };
    let patch = json!({ "metadata": { "annotations": { labels::FREEZE: value } } });
    world.people(|world| {
        for (_, server) in world.servers() {
            drop(server.edit::<CommittedResource>(&names::commitment(uuid), &patch));
        }
    });
}

/// What was frozen, and how it was then.
#[derive(Default)]
struct Frozen {
    kept: BTreeMap<String, Slots>,
    checks: u64,
}

impl Frozen {
    async fn freeze(&mut self, world: &World, uuid: &str) {
        if !self.kept.contains_key(uuid) {
            annotate(world, uuid, true);
            sleep(UNDER_WAY).await;
            self.kept.insert(uuid.to_owned(), slots_of(world, uuid));
        }
    }

    /// One that nothing kept from going away is frozen no more.
    fn judge(&mut self, world: &World) {
        self.kept.retain(|uuid, _| world.servers().iter().any(|(_, server)| is_frozen(server, uuid)));
        for (uuid, before) in &self.kept {
            assert_eq!(slots_of(world, uuid), *before, "{uuid} is frozen\n{}", world.last_writes(40));
            self.checks += u64::from(!before.is_empty());
        }
    }
}

fn frozen_life(seed: u64) -> u64 {
    alone(async {
        let mut world = if seed.is_multiple_of(2) { World::two_clusters(seed) } else { World::one_cluster(seed) };
        for zone in ZONES {
            world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 3)]);
        }
        let mut random = Random::new(seed);
        world.servers().into_iter().for_each(|(_, server)| faults::trouble(server, &mut random));
        let process = world.start("one");
        let mut frozen = Frozen::default();
        for _ in 0..40 {
            sleep(world.random.duration(&(Duration::ZERO..=Duration::from_secs(60)))).await;
            frozen.judge(&world);
            let uuid = format!("uuid-{}", random.below(COMMITMENTS));
            match random.below(5) {
                0 | 1 => frozen.freeze(&world, &uuid).await,
                2 => {
                    frozen.kept.remove(&uuid);
                    annotate(&world, &uuid, false);
                }
                _ => life::act(&mut world, &ACTS),
            }
        }
        frozen.judge(&world);
        (0..COMMITMENTS).for_each(|number| annotate(&world, &format!("uuid-{number}"), false));
        world.is_lawful(process).await;
        frozen.checks
    })
}

#[test]
fn u57_seeds_leave_what_is_frozen_as_it_is_and_end_lawfully_when_it_is_set_free() {
    let mut checks = 0;
    for seed in crate::seeds() {
        eprintln!("seed {seed}");
        checks += frozen_life(seed);
    }
    told(&format!("simulation of freezing: {checks} looks at frozen commitments with slots"));
    assert!(checks > 0);
}
