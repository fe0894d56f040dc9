//! The actions of users and hosts in a seed: commitments are created, grow, shrink, move and are deleted; hosts appear,
//! shrink and disappear; users edit slots by hand.

use std::time::Duration;

use berth_crds::{
    CommittedResource, FlavorGroupCapacity, Hypervisor, Reservation, ReservationType, labels, names, testing,
};
use berth_telemetry::clock::Clock as _;
use berth_testkit::{Random, Server, seeds};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::process::Process;
use crate::world::{World, ZONES};

/// The maximum of commitments of memory, commitments of cores, and hosts at a time.
pub const COMMITMENTS: usize = 6;
const OF_CORES: usize = 5;
const HOSTS: usize = 8;

/// One action.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Commit,
    Resize,
    Move,
    Delete,
    HostComes,
    HostShrinks,
    HostGoes,
    HandClears,
    HandSends,
    /// The agents of all hosts report without changes.
    HostBeats,
    /// Another client reserves capacity for a VM that is being moved.
    Flight,
    /// Nova asks for a host for a VM, or for a few VMs at the same time.
    Vm,
    /// A user commits cores, or several users at the same time, which do not all fit.
    CommitCores,
    EditCores,
    DeleteCores,
    /// The total of cores in a zone changes, or appears.
    Capacity,
    CapacityGoes,
}

/// The actions in the order of the draw: those that occur twice are twice as frequent.
const ACTS: [Act; 26] = [
    Act::Commit,
    Act::Commit,
    Act::Commit,
    Act::Resize,
    Act::Resize,
    Act::Resize,
    Act::Move,
    Act::Delete,
    Act::HostComes,
    Act::HostComes,
    Act::HostShrinks,
    Act::HostGoes,
    Act::HandClears,
    Act::HandSends,
    Act::HostBeats,
    Act::Flight,
    Act::Vm,
    Act::Vm,
    Act::Vm,
    Act::CommitCores,
    Act::CommitCores,
    Act::EditCores,
    Act::EditCores,
    Act::DeleteCores,
    Act::Capacity,
    Act::CapacityGoes,
];

/// The actions that never take away capacity that was given out: no host shrinks or disappears, no user sends a slot to
/// another host, and no commitment has slots in a zone that it does not serve.
pub const CALM: [Act; 14] = [
    Act::Commit,
    Act::Commit,
    Act::Resize,
    Act::Resize,
    Act::Delete,
    Act::HostComes,
    Act::HandClears,
    Act::HostBeats,
    Act::Vm,
    Act::Vm,
    Act::Vm,
    Act::Vm,
    Act::Vm,
    Act::Vm,
];

/// Runs this many actions, one after the other, with pauses of up to `longest` between them. Sometimes a process or a
/// whole server fails as well.
pub async fn life(world: &mut World, mut process: Process, acts: usize, longest: Duration) -> Process {
    for _ in 0..acts {
        let pause = world.random.duration(&(Duration::ZERO..=longest));
        sleep(pause).await;
        act(world, &ACTS);
        if world.random.chance(200) {
            process = blow(world, process).await;
        }
    }
    process
}

/// Runs this many of the calm actions; the process is left alone.
pub async fn calm_life(world: &mut World, acts: usize, longest: Duration) {
    for _ in 0..acts {
        sleep(world.random.duration(&(Duration::ZERO..=longest))).await;
        act(world, &CALM);
    }
}

pub fn act(world: &mut World, acts: &[Act]) {
    let act = acts[world.random.below(acts.len())];
    let mut random = Random::new(world.random.draw());
    match act {
        Act::Vm => {
            let count = if random.chance(250) { 4 } else { 1 };
            (0..count).for_each(|_| world.vm(Random::new(random.draw())));
        }
        act => world.people(|world| happens(world, act, &mut random)),
    }
}

/// Two replicas run; sometimes one is suspended, or crashes and restarts.
pub async fn life_of_two(world: &mut World, acts: usize, longest: Duration) -> [Process; 2] {
    let names = ["first", "second"];
    let mut replicas = names.map(|who| world.start_replica(who));
    for _ in 0..acts {
        sleep(world.random.duration(&(Duration::ZERO..=longest))).await;
        act(world, &ACTS);
        let which = world.random.below(2);
        match world.random.below(12) {
            0 => replicas[which].pause(),
            1 => replicas.iter().for_each(Process::resume),
            2 => {
                let new = world.start_replica(names[which]);
                std::mem::replace(&mut replicas[which], new).crash();
            }
            _ => {}
        }
        // A replica that has lost the lease exits, and the kubelet starts it again.
        for (which, name) in
            names.into_iter().enumerate().filter(|(which, _)| replicas[*which].has_ended()).collect::<Vec<_>>()
        {
            replicas[which] = world.start_replica(name);
        }
    }
    replicas.iter().for_each(Process::resume);
    replicas
}

/// A crash, a pause, a changed clock, or a server that is away, forgets its history or closes its watches.
async fn blow(world: &mut World, process: Process) -> Process {
    let (servers, seconds) = (world.servers(), Duration::from_secs);
    let server = servers[world.random.clone().below(servers.len())].1.clone();
    drop(servers);
    match world.random.below(6) {
        0 => {
            process.crash();
            // Longer than a request takes: repairs handle a write that lands after the next process has listed.
            sleep(world.random.duration(&(Duration::from_millis(100)..=seconds(1)))).await;
            return world.start("one");
        }
        1 => {
            process.pause();
            sleep(world.random.duration(&(Duration::ZERO..=seconds(40)))).await;
            process.resume();
        }
        2 => {
            let hours = i64::try_from(world.random.below(5)).unwrap_or(0) - 2;
            world.clock.step(SignedDuration::from_mins(hours * 20));
        }
        3 => {
            server.go_away();
            sleep(world.random.duration(&(Duration::ZERO..=seconds(90)))).await;
            server.come_back();
            world.checker.interrupted();
        }
        4 => {
            server.compact();
            server.break_watches("");
        }
        _ => server.end_watches(""),
    }
    process
}

/// An action that is not possible does nothing: there may be nothing to delete.
fn happens(world: &World, act: Act, random: &mut Random) {
    let zone = ZONES[random.below(ZONES.len())];
    let server = world.server_of(zone);
    let amount = seeds::slots(1 + random.draw() % 4);
    let uuid = format!("uuid-{}", random.below(COMMITMENTS));
    let commitment = names::commitment(&uuid);
    let host = format!("h{}-{zone}", random.below(HOSTS));
    match act {
        Act::Commit => commit(world, zone, &uuid, random),
        Act::Resize => edit(world, &commitment, &json!({ "spec": { "amount": amount } })),
        Act::Move => edit(world, &commitment, &json!({ "spec": { "availabilityZone": zone } })),
        Act::Delete => {
            world.servers().iter().for_each(|(_, server)| drop(server.delete::<CommittedResource>(&commitment)));
        }
        Act::HostComes => {
            drop(server.create(&world.host(&host, 1 + random.draw() % 4, zone)));
        }
        Act::HostShrinks => {
            let one = json!({ "status": { "capacity": { "memory": seeds::slots(1) }, "effectiveCapacity": { "memory": seeds::slots(1) } } });
            drop(server.edit_status::<Hypervisor>(&host, &one));
        }
        Act::HostBeats => {
            let beat = json!({ "metadata": { "annotations": { "beat": random.draw().to_string() } } });
            for (_, server) in world.servers() {
                let hosts: Vec<Hypervisor> = server.all().unwrap_or_default();
                let names = hosts.iter().filter_map(|host| host.metadata.name.as_deref());
                names.for_each(|name| drop(server.edit::<Hypervisor>(name, &beat)));
            }
        }
        Act::HostGoes => drop(server.delete::<Hypervisor>(&host)),
        Act::HandClears => hand(server, random, &json!({ "spec": { "targetHost": null } })),
        Act::HandSends => hand(server, random, &json!({ "spec": { "targetHost": host } })),
        Act::Flight => drop(server.create(&flight(&host, random))),
        Act::CommitCores => commit_cores(world, zone, random),
        Act::EditCores => edit_cores(world, zone, random),
        Act::DeleteCores => {
            let name = of_cores(random);
            world.servers().iter().for_each(|(_, server)| drop(server.delete::<CommittedResource>(&name)));
        }
        Act::Capacity => capacity(server, zone, random),
        Act::CapacityGoes => drop(server.delete::<FlavorGroupCapacity>(&capacity_of(zone))),
        Act::Vm => {}
    }
}

/// A reservation for one of the VMs on one of the hosts; either may be missing.
fn flight(host: &str, random: &mut Random) -> Reservation {
    let mut flight = testing::slot("nobody", 0);
    flight.metadata.name = Some(format!("flight-{}", random.draw()));
    flight.metadata.annotations = None;
    flight.metadata.labels = Some([(labels::TYPE.to_owned(), labels::TYPE_IN_FLIGHT.to_owned())].into());
    let spec = &mut flight.spec;
    (spec.type_, spec.committed_resource_reservation) = (ReservationType::InFlightReservation, None);
    spec.target_host = Some(host.to_owned());
    let data = spec.in_flight_reservation.get_or_insert_default();
    let intents = ["create", "live_migration", "resize"];
    data.vm_id = Some(format!("vm-{}", 1 + random.below(20)));
    intents[random.below(intents.len())].clone_into(&mut data.intent);
    flight
}

fn of_cores(random: &mut Random) -> String {
    names::commitment(&format!("cores-{}", random.below(OF_CORES)))
}

fn commit_cores(world: &World, zone: &str, random: &mut Random) {
    let count = if random.chance(300) { OF_CORES } else { 1 };
    for _ in 0..count {
        let mut new = seeds::cores(&format!("cores-{}", random.below(OF_CORES)), 1 + random.draw() % 60);
        new.spec.allow_rejection = random.chance(300);
        zone.clone_into(&mut new.spec.availability_zone);
        if random.chance(200) {
            let end = world.clock.now() + SignedDuration::from_secs(1 + i64::try_from(random.below(120)).unwrap_or(0));
            new.spec.end_time = Some(berth_crds::conditions::whole_seconds(end));
        }
        drop(world.server_of(zone).create(&new));
    }
}

fn edit_cores(world: &World, zone: &str, random: &mut Random) {
    let amount = (1 + random.draw() % 60).to_string();
    let spec = match random.below(6) {
        0 => json!({ "availabilityZone": zone, "amount": amount }),
        1 => json!({ "state": "planned" }),
        2 => json!({ "state": "superseded" }),
        3 => json!({ "state": "pending" }),
        _ => json!({ "amount": amount }),
    };
    edit(world, &of_cores(random), &json!({ "spec": spec }));
}

fn capacity_of(zone: &str) -> String {
    names::flavor_group_capacity(testing::GROUP, zone)
}

fn capacity(server: &Server, zone: &str, random: &mut Random) {
    let cores = 40 + random.draw() % 100;
    let changed = server.edit_status::<FlavorGroupCapacity>(&capacity_of(zone), &seeds::total_of_cores(cores));
    if changed.is_err() {
        drop(server.create(&seeds::capacity(zone, cores)));
    }
}

fn commit(world: &World, zone: &str, uuid: &str, random: &mut Random) {
    let count = 1 + random.draw() % 4;
    let mut new =
        if random.chance(500) { seeds::waiting_commitment(uuid, count) } else { seeds::rejectable(uuid, count) };
    zone.clone_into(&mut new.spec.availability_zone);
    // With bad luck this creates a duplicate in another cluster.
    drop(world.server_of(zone).create(&new));
}

/// A user edits the first commitment of that name.
fn edit(world: &World, name: &str, patch: &Value) {
    let servers = world.servers();
    let _ = servers.iter().find(|(_, server)| server.edit::<CommittedResource>(name, patch).is_ok());
}

fn hand(server: &Server, random: &mut Random, patch: &Value) {
    let slots: Vec<Reservation> = server.all().unwrap_or_default();
    let Some(slot) = slots.get(random.below(slots.len())) else { return };
    let name = slot.metadata.name.as_deref().unwrap_or_default();
    drop(server.edit::<Reservation>(name, patch));
}
