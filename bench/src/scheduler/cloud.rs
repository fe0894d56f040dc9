//! A cloud for the scheduler: hosts, the slots on them, and requests for more. Everything is derived from a seed.

use std::collections::BTreeMap;

use berth_core::flavor::Flavor;
use berth_core::host::{Aggregate, Capabilities, ConditionStatus, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, HostName, ProjectId, Resources, SlotKey, Zone};
use berth_scheduler::{BuiltIn, Options, Request, Settings, SlotRequest, WaitingRank};
use fastrand::Rng;

/// The number of hosts in most measurements.
pub const HOSTS: usize = 2_000;

/// Reservations on each host at the start.
pub const PER_HOST: usize = 10;

const ZONES: u64 = 3;
const FLAVORS: u64 = 50;
const PROJECTS: u64 = 200;
const TRAITS: usize = 60;
const VMS: usize = 20;

fn size(gib: u64, cpu: u64) -> Resources {
    Resources::new(Bytes::from_mib(gib * 1024), Cores::new(i64::try_from(cpu).unwrap_or(i64::MAX)))
}

fn zone(number: u64) -> Zone {
    format!("eu-test-1{}", ["a", "b", "c"][usize::try_from(number % ZONES).unwrap_or(0)]).into()
}

fn project(number: u64) -> ProjectId {
    format!("{number:032x}").into()
}

/// Host with this number; a quarter is twice as large, and one in 40 is for one project only.
pub fn host(number: usize, chance: &mut Rng) -> Host {
    let used = 200 + chance.u64(..600);
    let capacity = size(if number.is_multiple_of(4) { 6144 } else { 3072 }, 768).into();
    let tenants = number.is_multiple_of(40).then(|| ("filter_tenant_id".to_owned(), project(7).to_string()));
    Host {
        name: name(number),
        zone: zone(number as u64),
        capacity,
        effective_capacity: capacity,
        allocation: size(used, used / 8).into(),
        instances: (0..VMS).map(|vm| (format!("{number:08}-0000-0000-0000-{vm:012}").into(), true)).collect(),
        traits: (0..TRAITS)
            .filter(|of| !(of + number).is_multiple_of(10))
            .map(|of| format!("HW_CPU_X86_{of}"))
            .collect(),
        aggregates: vec![Aggregate {
            uuid: format!("aggregate-{}", number / 16),
            metadata: tenants.into_iter().collect(),
        }],
        conditions: [("Ready".to_owned(), ConditionStatus::True)].into(),
        capabilities: Capabilities {
            hypervisor_type: "ch".to_owned(),
            cpu_arch: "x86_64".to_owned(),
            ..Capabilities::default()
        },
        ..Host::default()
    }
}

fn name(number: usize) -> HostName {
    format!("node{:03}-bb{:03}", number % 16, number / 16).into()
}

fn flavor(number: u64) -> Flavor {
    let group = format!("g{}", number % 10);
    let specs = [
        ("capabilities:hypervisor_type", "CH"),
        ("capabilities:cpu_arch", "x86_64"),
        ("quota:hw_version", &group),
        (&format!("trait:HW_CPU_X86_{}", number % 10), "required"),
        ("trait:CUSTOM_HANA_EXCLUSIVE_HOST", "forbidden"),
    ];
    let cores = 2 + number % 15;
    Flavor {
        name: format!("g_c{cores}_{number}").as_str().into(),
        vcpus: u32::try_from(cores).unwrap_or(1),
        memory_mib: cores * 8 * 1024,
        disk_gib: 0,
        extra_specs: specs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

/// The input of a request.
#[derive(Clone, Debug)]
struct FlavorRequest {
    flavor: Flavor,
    zone: Zone,
    project: ProjectId,
}

fn random_request(chance: &mut Rng) -> FlavorRequest {
    let flavor = flavor(chance.u64(..FLAVORS));
    FlavorRequest { flavor, zone: zone(chance.u64(..ZONES)), project: project(chance.u64(..PROJECTS)) }
}

/// Asks for a host for slot `number`.
pub fn slot_request(number: u64, chance: &mut Rng) -> SlotRequest {
    let FlavorRequest { flavor, zone, project } = random_request(chance);
    let commitment = format!("{:08x}", number / 8);
    SlotRequest {
        key: SlotKey::new(ClusterName::home(), format!("commitment-{commitment}-{number}")),
        rank: WaitingRank { created_unix: 0, commitment: commitment.as_str().into(), number },
        project,
        zone,
        size: flavor.size(),
        vms: [].into(),
        flavor,
        domain_name: Some("acme".to_owned()),
        pipeline: String::new(),
        prefer: None,
        request_id: String::new(),
    }
}

/// Asks for the ranked hosts of a VM without changing anything.
pub fn vm_request(number: u64, chance: &mut Rng) -> Request {
    let FlavorRequest { flavor, zone, project } = random_request(chance);
    let options = Options::read_only();
    Request { project, zone, options, ..Request::new(format!("11111111-2222-3333-4444-{number:012}"), flavor) }
}

/// The slot after it was placed.
pub fn placed(slot: &SlotRequest, host: HostName) -> Reservation {
    let group = slot.flavor.extra_specs.get("quota:hw_version").map_or("", String::as_str);
    Reservation {
        key: slot.key.clone(),
        kind: ReservationKind::Committed(BTreeMap::new()),
        project: slot.project.clone(),
        group: group.into(),
        zone: slot.zone.clone(),
        size: slot.size,
        target_host: Some(host.clone()),
        status_host: Some(host),
        ready: true,
    }
}

/// All hosts with their initial slots; every second slot expects a VM of the host.
pub fn objects(hosts: usize, chance: &mut Rng) -> (Vec<Host>, Vec<Reservation>) {
    let all: Vec<Host> = (0..hosts).map(|number| host(number, chance)).collect();
    let mut slots = Vec::with_capacity(hosts * PER_HOST);
    for number in 0..hosts * PER_HOST {
        let host = &all[number % hosts];
        let request = SlotRequest { zone: host.zone.clone(), ..slot_request(number as u64, chance) };
        let mut slot = placed(&request, host.name.clone());
        let vm = host.instances.keys().nth(number / hosts).filter(|_| number % 2 == 1);
        slot.kind = ReservationKind::Committed(vm.map(|vm| (vm.clone(), slot.size)).into_iter().collect());
        slots.push(slot);
    }
    (all, slots)
}

pub fn scheduler(hosts: &[Host], slots: &[Reservation]) -> BuiltIn {
    scheduler_with(Settings::default(), hosts, slots)
}

pub fn scheduler_with(settings: Settings, hosts: &[Host], slots: &[Reservation]) -> BuiltIn {
    let scheduler = BuiltIn::new(settings, Box::new(|_| {}));
    for host in hosts {
        scheduler.host_changed(&host.name, Some(host.clone()));
    }
    for slot in slots {
        scheduler.reservation_changed(&slot.key, Some(slot.clone()));
    }
    scheduler
}
