//! Nova, its VMs and the agents on the hosts: it asks for a host with a real body, some time later the VM is listed by that
//! host, or never, or moves, or ends. Where a VM starts, the law about promises is judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::Kind;
use berth_core::ClusterName;
use berth_crds::hypervisor::Instance;
use berth_crds::{Allocation, CommittedResource, Hypervisor, Reservation, Time, labels, testing};
use berth_laws::{Law, Outside, Snapshot, always};
use berth_scheduler::Booking;
use berth_testkit::{Judge, Random, Refusal, Server, seeds};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::endpoint::Network;

/// A flavor of no group.
const SMALL: &str = "small";
/// The flavors of the group.
pub const ANY: &[&str] = &[testing::FLAVOR, seeds::HALF_FLAVOR, seeds::HALF_FLAVOR];
/// Between the news of two moves of a VM everybody hears of the first.
const HEARD: Duration = Duration::from_secs(10);

/// What Nova acts upon.
#[derive(Clone)]
pub struct People {
    pub judge: Judge,
    /// The server of each zone.
    pub zones: [(&'static str, Server); 2],
    pub clusters: Vec<(ClusterName, Server)>,
    pub network: Network,
    pub began: Instant,
    /// The flavors of the group that VMs of the project have.
    pub flavors: &'static [&'static str],
    /// Now and then somebody moves a VM without asking for a host.
    pub forced: bool,
}

/// All VMs of a world.
#[derive(Default)]
pub struct Nova {
    running: JoinSet<()>,
    told: Arc<Mutex<Told>>,
    vms: u64,
}

/// What became of them.
#[derive(Default)]
struct Told {
    counts: BTreeMap<&'static str, u64>,
    /// The same one after the other, for the text of a failure.
    story: Vec<String>,
    /// VMs whose start has over-booked their host.
    broken: Vec<String>,
    /// Where VMs run that still do, with the slot that was booked for them.
    seats: BTreeMap<String, (String, Option<Seat>)>,
}

/// A slot that was booked for a VM.
#[derive(Clone)]
struct Seat {
    booking: Booking,
    /// A slot of the same name may come later.
    uid: Option<String>,
}

impl Nova {
    /// A VM begins its life.
    pub fn starts(&mut self, people: People, random: Random) {
        self.vms += 1;
        let vm = Vm::new(format!("vm-{}", self.vms), people, self.told.clone(), random);
        self.running.spawn(vm.lives());
    }

    /// All VMs have lived as long as they do.
    pub async fn ends(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
    }

    /// Adds up what became of VMs.
    pub fn add(&self, all: &mut BTreeMap<&'static str, u64>) {
        for (name, count) in &self.told.lock().counts {
            *all.entry(name).or_default() += count;
        }
    }

    /// What happened to VMs, in words.
    pub fn story(&self) -> String {
        self.told.lock().story.join("\n")
    }

    /// The VMs that found no room where they were sent.
    pub fn broken(&self) -> Vec<String> {
        self.told.lock().broken.clone()
    }

    /// The running VMs whose booked slot stands on their host and does not expect them; at rest that is wrong.
    pub fn forgotten(&self, people: &People) -> Vec<String> {
        let told = self.told.lock();
        let missing = |vm: &str, host: &str, slot: &Reservation| {
            let data = slot.spec.committed_resource_reservation.as_ref();
            slot.spec.target_host.as_deref() == Some(host)
                && !data.is_some_and(|data| data.allocations.contains_key(vm))
        };
        let seated = told.seats.iter().filter_map(|(vm, (host, seat))| Some((vm, host, people.slot(seat.as_ref()?)?)));
        seated
            .filter(|(vm, host, slot)| missing(vm, host, slot))
            .map(|(vm, host, _)| format!("{vm} on {host}"))
            .collect()
    }
}

impl People {
    /// What was booked with the last answer about a VM.
    fn seat(&self, vm: &str) -> Option<Seat> {
        let booking = self.network.booked(vm)?;
        let uid = self.slot_of(&booking).ok()?.metadata.uid;
        Some(Seat { booking, uid })
    }

    /// The slot, if it still is the same.
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
    told: Arc<Mutex<Told>>,
    random: Random,
}

impl Vm {
    fn new(id: String, people: People, told: Arc<Mutex<Told>>, mut random: Random) -> Self {
        let own = random.chance(700);
        let (project, flavors) = if own { (testing::PROJECT, people.flavors) } else { ("somebody else", ANY) };
        let flavor = if random.chance(250) { SMALL } else { flavors[random.below(flavors.len())] };
        let zone = people.zones[random.below(2)].0;
        Self { id, project, flavor, zone, people, seat: None, told, random }
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
            self.told.lock().seats.remove(&self.id);
            self.count("VM ended");
        }
    }

    /// The host that the VM is sent to. Now and then Nova asks twice, and the second answer counts.
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
            self.count("VM without room");
        }
        self.seat = self.people.seat(&self.id);
        let slot = self.seat.as_ref().map(|seat| &seat.booking.slot);
        self.tell(&format!("sent to {host:?}, booked into {slot:?}"));
        host
    }

    /// A live migration, which is seen at both hosts for a while.
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

    /// Somebody chooses a host of the zone.
    fn is_sent_anywhere(&mut self) -> Option<String> {
        let mut hosts = self.hosts();
        self.seat = None;
        self.count("VM forced");
        (!hosts.is_empty()).then(|| hosts.swap_remove(self.random.below(hosts.len())))
    }

    async fn waits(&mut self, range: std::ops::RangeInclusive<Duration>) {
        sleep(self.random.duration(&range)).await;
    }

    /// The request as Nova sends it.
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

    /// The agent lists the VM on a host, if that still exists.
    fn starts_on(&self, host: &str) -> bool {
        if !self.agent(host, true) {
            return false;
        }
        let mut told = self.told.lock();
        told.seats.insert(self.id.clone(), (host.to_owned(), self.seat.clone()));
        let broken = overbooked(&self.people, &told.seats, host);
        let (id, flavor) = (&self.id, self.flavor);
        told.broken.extend(broken.into_iter().map(|text| format!("{id} ({flavor}) on {host}: {text}")));
        true
    }

    fn leaves(&self, host: &str) {
        self.agent(host, false);
    }

    fn agent(&self, host: &str, runs: bool) -> bool {
        let flavor = runs.then_some(self.flavor);
        self.people.judge.people(|| agent(self.server(), host, &self.id, flavor))
    }

    fn count(&self, what: &'static str) {
        *self.told.lock().counts.entry(what).or_default() += 1;
        self.tell(what);
    }

    fn tell(&self, what: &str) {
        let Self { id, project, flavor, people, .. } = self;
        let at = people.began.elapsed().as_secs_f64();
        self.told.lock().story.push(format!("{at:.6} {id} of {project}, {flavor}: {what}"));
    }
}

/// The agent of a host reports its VMs and what they use: this one with its flavor, or not at all. What a VM has is known by
/// its name there. False if there is no such host.
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

/// Name, MiB, cores and extra specs.
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

/// What is too much on a host, once the bookings that are still being written stand in their slots.
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
    let broken = always(&snapshot, &Outside::default()).into_iter();
    let mut here = broken.filter(|one| one.law == Law::HostOverbooked && &*one.object.name == host);
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
