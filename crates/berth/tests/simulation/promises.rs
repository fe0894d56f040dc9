//! Answers to Nova are kept: while a process decides without a break, a VM that starts on the host of the answer finds
//! its capacity there, whatever happens to the writes of the process. The leader keeps claims in memory: a crash or a
//! change of the leader loses them, and late watch events hide changes from every process; so neither happens here. VMs
//! of several sizes do not share the slots of one project: a VM may use the rest of several slots together, but counts
//! in one of them, which the invariants report as over-booking. And commitments stay in their zone: slots in a zone
//! that is not accepted yet are open to VMs of the project, and are not booked for them.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_crds::testing;
use berth_testkit::{Random, seeds};

use crate::world::{World, ZONES};
use crate::{alone, faults, life, reported};

fn kept(seed: u64, all: &mut BTreeMap<&'static str, u64>) {
    alone(async {
        let mut world = if seed % 4 < 2 { World::two_clusters(seed) } else { World::one_cluster(seed) };
        world.flavors = if seed.is_multiple_of(2) { &[seeds::HALF_FLAVOR] } else { &[testing::FLAVOR] };
        (world.forced, world.claims) = (false, true);
        for zone in ZONES {
            world.hosts(zone, &[(&format!("h0-{zone}"), 4), (&format!("h1-{zone}"), 3)]);
        }
        let mut random = Random::new(seed);
        world.servers().into_iter().for_each(|(_, server)| faults::disturbance(server, &mut random));
        let process = world.start("one");
        life::calm_life(&mut world, 60, Duration::from_secs(20)).await;
        world.servers().into_iter().for_each(|(_, server)| faults::add(all, server));
        world.holds_invariants(process).await;
        world.nova.add(all);
        world.checker.add(all);
        let wrong = (world.nova.violations(), world.nova.forgotten(&world.around_nova()));
        assert!(
            wrong.0.is_empty() && wrong.1.is_empty(),
            "{wrong:#?}\n{}\n{}",
            world.nova.story(),
            world.last_writes(200)
        );
    });
}

#[test]
fn seeds_send_no_vm_where_there_is_no_capacity_for_it() {
    let mut seen = BTreeMap::new();
    for seed in crate::seeds() {
        eprintln!("seed {seed}");
        kept(seed, &mut seen);
    }
    reported(&format!("simulation of promises: {seen:?}"));
    let wanted = [
        "VM started",
        "VM booked",
        "VM moved",
        "VM asked twice",
        "VM never started",
        "VM without capacity",
        "answer checked",
    ];
    let missing: Vec<_> = wanted.into_iter().filter(|name| !seen.contains_key(name)).collect();
    assert_eq!(missing, [""; 0], "{seen:?}");
}
