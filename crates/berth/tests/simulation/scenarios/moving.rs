//! Hosts and VMs appear and disappear: slots follow them where there is free capacity.

use berth_testkit::seeds;

use super::acts::{commit, host_goes, hosts};
use super::ends::{accepted, all_on, covered, forgotten};
use super::scenario::Scenario;
use super::vms;

pub fn scenarios() -> Vec<Scenario> {
    vec![host_loss(), live_migration(), vm_ends()]
}

/// One of the slots has a VM, which is lost with the host.
fn host_loss() -> Scenario {
    Scenario::new("host-loss")
        .with(hosts(&[("h1", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(30.0, vms::starts_in("uuid-1", "vm-1"))
        .at(60.0, hosts(&[("h2", 4)]))
        .at(90.0, host_goes("h1"))
        .ends(accepted("uuid-1", 3))
        .ends(all_on("uuid-1", "h2"))
        .ends(forgotten("uuid-1", "vm-1"))
}

fn live_migration() -> Scenario {
    Scenario::new("live-migration")
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(30.0, vms::starts_in("uuid-1", "vm-1"))
        .at(60.0, vms::arrives_elsewhere("uuid-1", "vm-1"))
        .at(63.0, vms::has_left("vm-1"))
        .ends(accepted("uuid-1", 2))
        .ends(covered("uuid-1", "vm-1"))
}

fn vm_ends() -> Scenario {
    Scenario::new("vm-ends")
        .with(hosts(&[("h1", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(30.0, vms::starts_in("uuid-1", "vm-1"))
        .at(60.0, vms::ends("uuid-1", "vm-1"))
        .ends(accepted("uuid-1", 2))
        .ends(forgotten("uuid-1", "vm-1"))
}
