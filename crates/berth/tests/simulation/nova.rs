//! Nova, its VMs and the agents on the hosts: Nova asks for a host with a real body; some time later the host lists the
//! VM, or never, or the VM moves or ends. When a VM starts, the invariant about promises is checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::Kind;
use berth_core::ClusterName;
use berth_crds::hypervisor::Instance;
use berth_crds::{Allocation, CommittedResource, Hypervisor, Reservation, Time, labels, testing};
use berth_invariants::{ExternalChanges, Invariant, Snapshot, always};
use berth_scheduler::Booking;
use berth_testkit::{InvariantChecker, Random, Refusal, Server, seeds};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::endpoint::Network;

const SMALL: &str = "small";
pub const ANY: &[&str] = &[testing::FLAVOR, seeds::HALF_FLAVOR, seeds::HALF_FLAVOR];
/// The time between two moves of a VM in which every watcher hears of the first.
const HEARD: Duration = Duration::from_secs(10);

/// The parts of the world that Nova uses.
#[derive(Clone)]
pub struct People {
    pub checker: InvariantChecker,
    pub zones: [(&'static str, Server); 2],
    pub clusters: Vec<(ClusterName, Server)>,
    pub network: Network,
    pub started_at: Instant,
    /// The flavors of the group that VMs of the project have.
    pub flavors: &'static [&'static str],
    /// Whether users sometimes move a VM without asking for a host.
    pub forced: bool,
}

/// All VMs of a world.
#[derive(Default)]
pub struct Nova {
    running: JoinSet<()>,
    reported: Arc<Mutex<Reported>>,
    vms: u64,
}

/// The counters of their outcomes.
#[derive(Default)]
struct Reported {
    counts: BTreeMap<&'static str, u64>,
    /// The events in order, for the text of a failure.
    story: Vec<String>,
    violations: Vec<String>,
    /// The hosts of running VMs, with the slot that was booked for each.
    seats: BTreeMap<String, (String, Option<Seat>)>,
}

#[derive(Clone)]
struct Seat {
    booking: Booking,
    /// Tells the slot apart from a later one of the same name.
    uid: Option<String>,
}

impl Nova {
    pub fn starts(&mut self, people: People, random: Random) {
        self.vms += 1;
        let vm = Vm::new(format!("vm-{}", self.vms), people, self.reported.clone(), random);
        self.running.spawn(vm.lives());
    }

    /// Waits until all VMs have ended or have stopped acting.
    pub async fn ends(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
    }

    pub fn add(&self, all: &mut BTreeMap<&'static str, u64>) {
        for (name, count) in &self.reported.lock().counts {
            *all.entry(name).or_default() += count;
        }
    }

    pub fn story(&self) -> String {
        self.reported.lock().story.join("\n")
    }

    /// The VMs that found no free capacity on the host of the answer.
    pub fn violations(&self) -> Vec<String> {
        self.reported.lock().violations.clone()
    }

    /// The running VMs whose booked slot is on their host and does not expect them; at rest that is a violation.
    pub fn forgotten(&self, people: &People) -> Vec<String> {
        let reported = self.reported.lock();
        let missing = |vm: &str, host: &str, slot: &Reservation| {
            let data = slot.spec.committed_resource_reservation.as_ref();
            slot.spec.target_host.as_deref() == Some(host)
                && !data.is_some_and(|data| data.allocations.contains_key(vm))
        };
        let seated =
            reported.seats.iter().filter_map(|(vm, (host, seat))| Some((vm, host, people.slot(seat.as_ref()?)?)));
        seated
            .filter(|(vm, host, slot)| missing(vm, host, slot))
            .map(|(vm, host, _)| format!("{vm} on {host}"))
            .collect()
    }
}

impl People {
    /// The booking of the last answer for a VM.
    fn seat(&self, vm: &str) -> Option<Seat> {
        let booking = self.network.booked(vm)?;
        let uid = self.slot_of(&booking).ok()?.metadata.uid;
        Some(Seat { booking, uid })
    }

    /// The slot, if it still is the same object.
    fn slot(&self, seat: &Seat) -> Option<Reservation> {
        self.slot_of(&seat.booking).ok().filter(|slot| slot.metadata.uid == seat.uid)
    }

    fn slot_of(&self, booking: &Booking) -> Result<Reservation, Refusal> {
        let own = self.clusters.iter().find(|(cluster, _)| *cluster == booking.slot.cluster);
        own.unwrap().1.get(booking.slot.name.as_str())
    }
}

struct Vm {
    id: String,
    project: &'static str,
    flavor: &'static str,
    zone: &'static str,
    people: People,
    /// The slot that was booked with the last answer.
    seat: Option<Seat>,
    reported: Arc<Mutex<Reported>>,
    random: Random,
}

impl Vm {
    fn new(id: String, people: People, reported: Arc<Mutex<Reported>>, mut random: Random) -> Self {
        let own = random.chance(700);
        let (project, flavors) = if own { (testing::PROJECT, people.flavors) } else { ("somebody else", ANY) };
        let flavor = if random.chance(250) { SMALL } else { flavors[random.below(flavors.len())] };
        let zone = people.zones[random.below(2)].0;
        Self { id, project, flavor, zone, people, seat: None, reported, random }
    }

    async fn lives(mut self) {
        let Some(host) = self.asks_for_a_host(None).await else { return };
        if self.random.chance(100) {
            return self.count("VM never started");
        }
        if !self.starts_on(&host) {
            return self.count("VM without its host");
        }
        self.count("VM started");
        let mut host = host;
        for _ in 0..2 {
            self.waits(HEARD..=Duration::from_secs(300)).await;
            if self.random.chance(400) {
                host = self.moves_from(host).await;
            }
        }
        if self.random.chance(700) {
            self.leaves(&host);
            self.reported.lock().seats.remove(&self.id);
            self.count("VM ended");
        }
    }

    /// The host of the answer. Sometimes Nova asks twice, and the second answer counts.
    async fn asks_for_a_host(&mut self, source: Option<&str>) -> Option<String> {
        let mut host = self.asks(source).await;
        if self.random.chance(250) {
            self.waits(Duration::ZERO..=Duration::from_secs(5)).await;
            self.count("VM asked twice");
            host = self.asks(source).await;
        }
        host.as_ref()?;
        if self.seat.is_some() {
            self.count("VM booked");
        }
        self.waits(Duration::ZERO..=Duration::from_secs(30)).await;
        host
    }

    async fn asks(&mut self, source: Option<&str>) -> Option<String> {
        let body = self.body(source);
        let answer = self.people.network.clone().ask(body, &mut self.random).await;
        let Some((200, text)) = answer else {
            self.count(if answer.is_some() { "VM refused" } else { "VM unanswered" });
            return None;
        };
        let answer: Value = serde_json::from_str(&text).unwrap();
        let host = answer["hosts"][0].as_str().map(str::to_owned);
        if host.is_none() {
            self.count("VM without capacity");
        }
        self.seat = self.people.seat(&self.id);
        let slot = self.seat.as_ref().map(|seat| &seat.booking.slot);
        self.tell(&format!("sent to {host:?}, booked into {slot:?}"));
        host
    }

    /// A live migration; for a while both hosts list the VM.
    async fn moves_from(&mut self, source: String) -> String {
        let host = if self.people.forced && self.random.chance(300) {
            self.is_sent_anywhere()
        } else {
            self.asks_for_a_host(Some(&source)).await
        };
        let Some(host) = host else { return source };
        if !self.lists(&source) || host == source || !self.starts_on(&host) {
            return source;
        }
        self.count("VM moved");
        self.tell(&format!("from {source} to {host}"));
        self.waits(Duration::ZERO..=Duration::from_secs(3)).await;
        self.leaves(&source);
        host
    }

    fn is_sent_anywhere(&mut self) -> Option<String> {
        let mut hosts = self.hosts();
        self.seat = None;
        self.count("VM forced");
        (!hosts.is_empty()).then(|| hosts.swap_remove(self.random.below(hosts.len())))
    }

    async fn waits(&mut self, range: std::ops::RangeInclusive<Duration>) {
        sleep(self.random.duration(&range)).await;
    }

    fn body(&self, source: Option<&str>) -> String {
        let wrapped =
            |data: Value| json!({ "nova_object.name": "X", "nova_object.version": "1.0", "nova_object.data": data });
        let (_, memory, cores, specs) = flavor(self.flavor);
        let hints = match source {
            Some(source) => json!({ "_nova_check_type": ["live_migrate"], "source_host": [source] }),
            None => json!({}),
        };
        let flavor = json!({ "name": self.flavor, "memory_mb": memory, "vcpus": cores, "extra_specs": specs });
        let hosts = self.hosts();
        let weights: BTreeMap<_, _> = hosts.iter().map(|host| (host.clone(), 1.0)).collect();
        let listed: Vec<_> = hosts.iter().map(|host| json!({ "host": host, "hypervisor_hostname": host })).collect();
        json!({
            "spec": wrapped(json!({
                "instance_uuid": self.id, "project_id": self.project, "availability_zone": self.zone,
                "num_instances": 1, "scheduler_hints": hints, "ignore_hosts": source.map(|source| [source]),
                "flavor": wrapped(flavor),
            })),
            "context": { "project_id": self.project, "request_id": format!("req-{}", self.id) },
            "hosts": listed, "weights": weights, "pipeline": "",
        })
        .to_string()
    }

    fn server(&self) -> &Server {
        self.people.zones.iter().find(|(zone, _)| *zone == self.zone).map(|(_, server)| server).unwrap()
    }

    /// The hosts of the zone, as Nova's own filters leave them.
    fn hosts(&self) -> Vec<String> {
        let in_zone = |host: &Hypervisor| host.metadata.labels.as_ref().and_then(|all| all.get(labels::ZONE).cloned());
        let all: Vec<Hypervisor> = self.server().all().unwrap();
        let all = all.into_iter().filter(|host| in_zone(host).as_deref() == Some(self.zone));
        all.filter_map(|host| host.metadata.name).collect()
    }

    fn lists(&self, host: &str) -> bool {
        let host = self.server().get::<Hypervisor>(host).ok().and_then(|host| host.status);
        host.is_some_and(|status| status.instances.iter().any(|vm| vm.id == self.id))
    }

    /// The agent lists the VM on a host, if the host still exists.
    fn starts_on(&self, host: &str) -> bool {
        if !self.agent(host, true) {
            return false;
        }
        let mut reported = self.reported.lock();
        reported.seats.insert(self.id.clone(), (host.to_owned(), self.seat.clone()));
        let violations = overbooked(&self.people, &reported.seats, host);
        let (id, flavor) = (&self.id, self.flavor);
        reported.violations.extend(violations.into_iter().map(|text| format!("{id} ({flavor}) on {host}: {text}")));
        true
    }

    fn leaves(&self, host: &str) {
        self.agent(host, false);
    }

    fn agent(&self, host: &str, runs: bool) -> bool {
        let flavor = runs.then_some(self.flavor);
        self.people.checker.act_as_user(|| agent(self.server(), host, &self.id, flavor))
    }

    fn count(&self, what: &'static str) {
        *self.reported.lock().counts.entry(what).or_default() += 1;
        self.tell(what);
    }

    fn tell(&self, what: &str) {
        let Self { id, project, flavor, people, .. } = self;
        let at = people.started_at.elapsed().as_secs_f64();
        self.reported.lock().story.push(format!("{at:.6} {id} of {project}, {flavor}: {what}"));
    }
}

/// The agent of a host reports its VMs and their usage: this VM with its flavor, or without it when `runs` is `None`.
/// The agent knows the size of a VM by its name. Returns false if there is no such host.
pub fn agent(server: &Server, host: &str, vm: &str, runs: Option<&str>) -> bool {
    let Ok(object) = server.get::<Hypervisor>(host) else { return false };
    let mut vms = object.status.unwrap_or_default().instances;
    vms.retain(|other| other.id != vm);
    let instance = |name: &str| Instance { id: vm.to_owned(), name: name.to_owned(), active: true };
    vms.extend(runs.map(instance));
    let sizes = vms.iter().map(|vm| flavor(&vm.name));
    let (memory, cores) = sizes.fold((0, 0), |(memory, cores), (_, m, c, _)| (memory + m, cores + c));
    let status = json!({ "status": {
        "instances": vms, "numInstances": vms.len(),
        "allocation": { "memory": format!("{memory}Mi"), "cpu": cores.to_string() },
    } });
    server.edit_status::<Hypervisor>(host, &status).is_ok()
}

fn flavor(name: &str) -> (&str, u64, u64, Value) {
    let part = match name {
        testing::FLAVOR => 1,
        seeds::HALF_FLAVOR => 2,
        _ => 4,
    };
    let mut specs = json!({ "capabilities:hypervisor_type": "QEMU" });
    if name != SMALL {
        specs["quota:hw_version"] = testing::GROUP.into();
    }
    (name, seeds::SLOT_GIB * 1024 / part, seeds::SLOT_CORES / part, specs)
}

/// The over-booking of a host, once the bookings that are still being written are in their slots.
fn overbooked(people: &People, seats: &BTreeMap<String, (String, Option<Seat>)>, host: &str) -> Option<String> {
    let mut slots = everything::<Reservation>(people);
    let here = seats.iter().filter(|(_, (on, _))| on == host);
    for (vm, seat) in here.filter_map(|(vm, (_, seat))| Some((vm, seat.as_ref()?))) {
        let key = &seat.booking.slot;
        let is_it = |cluster: &ClusterName, slot: &Reservation| {
            *cluster == key.cluster && slot.metadata.name.as_deref() == Some(key.name.as_str())
        };
        let slot = slots.iter_mut().find(|(cluster, slot)| is_it(cluster, slot) && slot.metadata.uid == seat.uid);
        if let Some((_, slot)) = slot.filter(|(_, slot)| slot.spec.target_host.as_deref() == Some(host)) {
            expect(Arc::make_mut(slot), vm, &seat.booking);
        }
    }
    let snapshot = Snapshot::of(everything::<CommittedResource>(people), slots, everything::<Hypervisor>(people));
    let violations = always(&snapshot, &ExternalChanges::default()).into_iter();
    let mut here = violations.filter(|one| one.invariant == Invariant::HostOverbooked && &*one.object.name == host);
    here.next().map(|one| one.to_string())
}

fn expect(slot: &mut Reservation, vm: &str, booking: &Booking) {
    let Some(data) = &mut slot.spec.committed_resource_reservation else { return };
    let resources = berth_crds::facts::resource_map(booking.size);
    let allocation = Allocation { creation_timestamp: Time(Timestamp::UNIX_EPOCH), resources };
    data.allocations.entry(vm.to_owned()).or_insert(allocation);
}

/// All objects of a kind, with their clusters.
pub fn everything<K: Kind>(people: &People) -> Vec<(ClusterName, Arc<K>)> {
    let of = |(cluster, server): &(ClusterName, Server)| {
        let all: Vec<K> = server.all().unwrap();
        let cluster = cluster.clone();
        all.into_iter().map(move |object| (cluster.clone(), Arc::new(object)))
    };
    people.clusters.iter().flat_map(of).collect()
}
