//! A host that is created and deleted every second, or whose capacity is invalid every other time: ready slots are not
//! moved because of it, nothing is sold twice, and waiting slots are placed when the host stays.

use std::time::Duration;

use berth_crds::{Hypervisor, testing};
use berth_testkit::seeds;
use serde_json::json;
use tokio::time::sleep;

use crate::world::World;
use crate::{alone, hosts_of, reason};

const SECONDS: u32 = 300;

fn nervous(world: &World, second: u32) {
    world.people(|world| {
        if second.is_multiple_of(2) {
            let host: Hypervisor = seeds::in_zone(seeds::host("nervous", 4), testing::ZONE);
            world.home.create(&host).unwrap();
            let invalid_amount = json!({ "status": { "effectiveCapacity": { "memory": "-5Gi" } } });
            if second.is_multiple_of(4) {
                world.home.edit_status::<Hypervisor>("nervous", &invalid_amount).unwrap();
            }
        } else {
            world.home.delete::<Hypervisor>("nervous").unwrap();
        }
    });
}

#[test]
fn a_host_that_comes_and_goes_every_second_disturbs_no_slot() {
    alone(async {
        let mut world = World::one_cluster(7);
        world.hosts(testing::ZONE, &[("calm", 3)]);
        let process = world.start("one");
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-1", 3)).unwrap());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(reason(&world.home, "uuid-1"), "Accepted");
        world.people(|world| world.home.create(&seeds::waiting_commitment("uuid-2", 2)).unwrap());
        for second in 0..=SECONDS {
            nervous(&world, second);
            sleep(Duration::from_secs(1)).await;
            assert_eq!(world.checker.violations(), [""; 0], "second {second}");
            assert_eq!(hosts_of(&world, "uuid-1"), vec![Some("calm".to_owned()); 3], "second {second}");
        }
        world.people(|world| {
            let sound = seeds::host("nervous", 4);
            let status = json!({ "status": sound.status });
            world.home.edit_status::<Hypervisor>("nervous", &status).unwrap();
        });
        world.rests().await;
        assert_eq!(reason(&world.home, "uuid-2"), "Accepted");
        world.holds_invariants(process).await;
    });
}
