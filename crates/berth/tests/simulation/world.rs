//! Doubles of API servers, the clocks, the judge, and what one seed decides.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Clusters, Routes};
use berth_core::ClusterName;
use berth_crds::{Hypervisor, testing};
use berth_laws::Frozen;
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{self, Configuration};
use berth_testkit::{Judge, Random, Rules, Server, SteppedClock, seeds};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::endpoint::Network;
use crate::nova::{self, Nova, People};
use crate::overbooked;
use crate::process::{Process, Start};

/// Nothing is written for so long: the world is at rest. Longer than the grace of a host and every timed look.
pub const REST: Duration = Duration::from_secs(45 * 60);
/// So long may a process take for anything.
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);
/// So long may it take.
const PATIENCE: Duration = Duration::from_secs(8 * 3600);

/// When every world begins.
pub const BEGINNING: &str = "2026-03-01T12:00:00Z";

/// The kinds that live in the cluster of their zone.
const ROUTED: [&str; 4] = [
    "kvm.cloud.sap/v1/Hypervisor",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
];

pub struct World {
    pub home: Server,
    /// The cluster of the other zone, if that has one of its own.
    pub remote: Option<Server>,
    pub judge: Judge,
    pub clock: SteppedClock,
    pub random: Random,
    /// Where Nova finds the processes.
    pub network: Network,
    pub nova: Nova,
    began: Instant,
    /// The flavors of the group that VMs of the project have.
    pub flavors: &'static [&'static str],
    /// Now and then somebody moves a VM without asking for a host.
    pub forced: bool,
    /// What processes claim for VMs is judged at every answer.
    pub claims: bool,
    configuration: Configuration,
    routes: Routes,
}

/// Keys of the configuration that are not those of every world.
#[derive(Clone, Copy, Default)]
pub struct Keys {
    /// `brake.slots`.
    pub brake: Option<usize>,
    /// `requeueIntervalGracePeriod` of slots.
    pub grace: Option<&'static str>,
}

impl World {
    /// One cluster for both zones.
    pub fn one_cluster(seed: u64) -> Self {
        Self::new(seed, false, Keys::default(), Keys::default())
    }

    /// A cluster for each zone.
    pub fn two_clusters(seed: u64) -> Self {
        Self::new(seed, true, Keys::default(), Keys::default())
    }

    /// One cluster for both zones, and operators with these keys.
    pub fn with_keys(seed: u64, keys: Keys) -> Self {
        Self::new(seed, false, keys, keys)
    }

    /// The same with operators that are broken: they have other keys than they are judged by.
    pub fn with_broken_operators(seed: u64, keys: Keys, judged_by: Keys) -> Self {
        Self::new(seed, false, keys, judged_by)
    }

    fn new(seed: u64, two: bool, keys: Keys, judged_by: Keys) -> Self {
        let clock = SteppedClock::new(BEGINNING.parse().unwrap());
        let configuration = configuration(two, keys);
        let mut random = Random::new(seed);
        let mut server = || {
            // The clock of the API server is another one.
            let server = Server::new(Arc::new(SteppedClock::new(clock.now())));
            server.seed(random.draw());
            server
        };
        let (home, remote) = (server(), two.then(&mut server));
        let routes = Routes::new(&configuration.api_servers);
        let world = Self {
            home,
            remote,
            judge: Judge::new(rules(&self::configuration(two, judged_by), &clock)),
            clock,
            random,
            network: Network::default(),
            nova: Nova::default(),
            began: Instant::now(),
            flavors: nova::ANY,
            forced: true,
            claims: false,
            configuration,
            routes,
        };
        for (name, server) in world.servers() {
            world.judge.watch(&name, server);
        }
        world.home.create(&seeds::flavor_groups_with_half(world.clock.now())).unwrap();
        world
    }

    /// All servers, with the names of their clusters.
    pub fn servers(&self) -> Vec<(ClusterName, &Server)> {
        let remote = self.remote.iter().map(|server| (seeds::OTHER_ZONE.into(), server));
        [(ClusterName::home(), &self.home)].into_iter().chain(remote).collect()
    }

    /// The server of a zone.
    pub fn server_of(&self, zone: &str) -> &Server {
        self.remote.as_ref().filter(|_| zone == seeds::OTHER_ZONE).unwrap_or(&self.home)
    }

    /// A process that decides by itself.
    pub fn start(&mut self, who: &str) -> Process {
        let order = Some(Random::new(self.random.draw()));
        self.start_as(who, order, false)
    }

    /// A process that is one of several replicas.
    pub fn start_replica(&mut self, who: &str) -> Process {
        let order = Some(Random::new(self.random.draw()));
        self.start_as(who, order, true)
    }

    /// A process that looks at keys in the order in which they come.
    pub fn start_as_shipped(&mut self, who: &str) -> Process {
        self.start_as(who, None, false)
    }

    fn start_as(&mut self, who: &str, order: Option<Random>, elected: bool) -> Process {
        let cluster = |name: &ClusterName, server: &Server| server.cluster_as(name.clone(), who);
        let remotes = self.remote.iter().map(|server| cluster(&seeds::OTHER_ZONE.into(), server));
        let clusters = Clusters::new(cluster(&ClusterName::home(), &self.home), remotes);
        let chance = Random::new(self.random.draw());
        Process::start(Start {
            who,
            clusters,
            routes: &self.routes,
            configuration: &self.configuration,
            clock: Arc::new(self.clock.clone()),
            order,
            elected,
            network: &self.network,
            chance,
            judge: &self.judge,
            claims: self.claims,
        })
    }

    /// People, hosts and other programs act.
    pub fn people<T>(&self, act: impl FnOnce(&Self) -> T) -> T {
        self.judge.people(|| act(self))
    }

    /// Nova is told to start a VM. It goes through its life beside everything else that happens.
    pub fn vm(&mut self, random: Random) {
        let around = self.around_nova();
        self.nova.starts(around, random);
    }

    pub fn around_nova(&self) -> People {
        People {
            judge: self.judge.clone(),
            zones: ZONES.map(|zone| (zone, self.server_of(zone).clone())),
            clusters: self.servers().into_iter().map(|(name, server)| (name, server.clone())).collect(),
            network: self.network.clone(),
            began: self.began,
            flavors: self.flavors,
            forced: self.forced,
        }
    }

    /// Somebody sets up hosts with room for so many slots in a zone.
    pub fn hosts(&self, zone: &str, hosts: &[(&str, u64)]) {
        self.people(|world| {
            for (name, room) in hosts {
                let host = world.host(name, *room, zone);
                world.server_of(zone).create(&host).unwrap();
            }
        });
    }

    /// A host that is ready: only of those is looked whether they are over-booked.
    pub fn host(&self, name: &str, room: u64, zone: &str) -> Hypervisor {
        seeds::ready(seeds::in_zone(seeds::host(name, room), zone), self.clock.now())
    }

    /// Waits until nothing is written any more, at all servers.
    pub async fn rests(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut before = self.judge.writes();
        loop {
            sleep(REST).await;
            let now = self.judge.writes();
            if now == before {
                return;
            }
            assert!(Instant::now() < deadline, "it does not come to rest:\n{}", self.last_calls(30));
            before = now;
        }
    }

    /// At rest: all laws hold, nothing that was written ever broke one, and whoever starts now writes nothing.
    pub async fn is_lawful(&mut self, process: Process) {
        self.heal();
        self.rests().await;
        self.nova.ends().await;
        self.has_kept_all_laws(&[]);
        self.whoever_starts_now_writes_nothing([process]).await;
    }

    /// What was written never broke a law, and at rest all of them hold, besides what begins so and is the state of objects
    /// that others have made.
    pub fn has_kept_all_laws(&self, excused: &[&str]) {
        self.judge.heard();
        let mut wrong = (self.judge.broken(), self.judge.broken_at_rest());
        wrong.1.retain(|text| !excused.iter().any(|excused| text.starts_with(excused)));
        assert!(wrong.0.is_empty() && wrong.1.is_empty(), "{wrong:#?}\n{}", self.last_writes(40));
        assert_eq!(overbooked::unresolved(&self.around_nova()), [""; 0], "{}", self.last_writes(40));
    }

    /// Nothing is held any more by those who run, and planning again plans nothing.
    pub async fn whoever_starts_now_writes_nothing(&mut self, processes: impl IntoIterator<Item = Process>) {
        for mut process in processes {
            assert_eq!(process.holds(), (0, 0, Vec::new()), "claims, entries, and hosts whose sums have drifted");
            assert!(process.has_given_out_what_it_decided(), "cores are held for what nobody shows");
            assert!(!process.has_panicked(), "one of its tasks has panicked");
            process.crash();
        }
        let again = self.start("again");
        self.rests().await;
        let writes: Vec<_> = self.calls().into_iter().filter(|call| is_write_of(call, "again")).collect();
        assert_eq!(writes, [""; 0], "planning again writes something");
        assert_eq!(self.judge.broken(), [""; 0], "{}", self.last_writes(40));
        again.crash();
    }

    /// For how long it has existed.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn heal(&self) {
        self.servers().into_iter().for_each(|(_, server)| server.heal());
    }

    /// All calls at all servers.
    pub fn calls(&self) -> Vec<String> {
        self.servers().into_iter().flat_map(|(_, server)| server.calls()).collect()
    }

    /// The last writes, for the text of a failure.
    pub fn last_writes(&self, count: usize) -> String {
        let writes: Vec<_> = self.calls().into_iter().filter(|call| is_write(call)).collect();
        writes[writes.len().saturating_sub(count)..].join("\n")
    }

    pub fn last_calls(&self, count: usize) -> String {
        let calls = self.calls();
        calls[calls.len().saturating_sub(count)..].join("\n")
    }
}

fn is_write(call: &str) -> bool {
    call.split(' ').nth(2).is_some_and(|who| is_write_of(call, who))
}

/// A line of the log has a number, a time, who called, and the verb.
fn is_write_of(call: &str, who: &str) -> bool {
    let words: Vec<_> = call.split(' ').collect();
    let writes = ["create", "update", "patch", "status", "delete"];
    words.get(2) == Some(&who) && words.get(3).is_some_and(|verb| writes.contains(verb))
}

/// Those of the configuration. Whatever is to be done is done within half an hour.
fn rules(configuration: &Configuration, clock: &SteppedClock) -> Rules {
    let freeze = configuration.freeze.clone();
    Rules {
        clock: Arc::new(clock.clone()),
        brake: configuration.brake.slots,
        frozen: Frozen { zones: freeze.zones, flavor_groups: freeze.flavor_groups },
        overdue: configuration.reservation_controller.requeue_interval_grace_period + HALF_AN_HOUR,
    }
}

fn configuration(two: bool, special: Keys) -> Configuration {
    let home: Vec<&str> = ROUTED.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
    let remote = json!({ "host": "https://remote.example", "gvks": ROUTED,
                         "labels": { "availabilityZone": seeds::OTHER_ZONE } });
    let mut keys = json!({ "committedResourceReservationController": {
        "enableOversubscriptionCheck": true, "enableOversubscriptionReservationEviction": true,
    } });
    if let Some(slots) = special.brake {
        keys["brake"] = json!({ "slots": slots });
    }
    if let Some(grace) = special.grace {
        keys["committedResourceReservationController"]["requeueIntervalGracePeriod"] = json!(grace);
    }
    if two {
        keys["apiservers"] = json!({ "home": { "gvks": home }, "remotes": [remote] });
    }
    let Value::Object(keys) = keys else { unreachable!() };
    config::decode(&keys, false).unwrap().configuration
}

/// Both zones.
pub const ZONES: [&str; 2] = [testing::ZONE, seeds::OTHER_ZONE];
