//! Doubles of API servers, the clocks, the checker, and the decisions of one seed.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Clusters, Routes};
use berth_core::ClusterName;
use berth_crds::{Hypervisor, testing};
use berth_invariants::PausedScope;
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{self, Configuration};
use berth_testkit::{CheckerSettings, InvariantChecker, Random, Server, SteppedClock, seeds};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::controllers::WITHOUT_CAPACITY;
use crate::endpoint::Network;
use crate::nova::{self, Nova, People};
use crate::overbooked;
use crate::process::{Process, Start};

/// The world is at rest when nothing is written for this time: longer than the grace of a host and every requeue.
pub const REST: Duration = Duration::from_secs(45 * 60);
/// The maximum time of a process for anything.
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);
const TIMEOUT: Duration = Duration::from_secs(8 * 3600);

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
    /// The cluster of the other zone, if that has its own.
    pub remote: Option<Server>,
    pub checker: InvariantChecker,
    pub clock: SteppedClock,
    pub random: Random,
    pub network: Network,
    pub nova: Nova,
    started_at: Instant,
    /// The flavors of the group that VMs of the project have.
    pub flavors: &'static [&'static str],
    /// Whether users sometimes move a VM without asking for a host.
    pub forced: bool,
    /// Whether the claims of processes for VMs are checked at every answer.
    pub claims: bool,
    configuration: Configuration,
    routes: Routes,
}

/// Configuration that differs from the usual one.
#[derive(Clone, Copy, Default)]
pub struct Keys {
    pub disruption_limit: Option<usize>,
    pub grace: Option<&'static str>,
}

impl World {
    pub fn one_cluster(seed: u64) -> Self {
        Self::new(seed, false, Keys::default(), Keys::default())
    }

    pub fn two_clusters(seed: u64) -> Self {
        Self::new(seed, true, Keys::default(), Keys::default())
    }

    /// One cluster for both zones, and operators with this configuration.
    pub fn with_keys(seed: u64, keys: Keys) -> Self {
        Self::new(seed, false, keys, keys)
    }

    /// Like `with_keys`, with broken operators: their configuration differs from that of the checker.
    pub fn with_faulty_operators(seed: u64, keys: Keys, checked_by: Keys) -> Self {
        Self::new(seed, false, keys, checked_by)
    }

    fn new(seed: u64, two: bool, keys: Keys, checked_by: Keys) -> Self {
        let clock = SteppedClock::new(BEGINNING.parse().unwrap());
        let configuration = configuration(two, keys);
        let mut random = Random::new(seed);
        let mut server = || {
            // The API server has its own clock.
            let server = Server::new(Arc::new(SteppedClock::new(clock.now())));
            server.seed(random.draw());
            server
        };
        let (home, remote) = (server(), two.then(&mut server));
        let routes = Routes::new(&configuration.api_servers);
        let world = Self {
            home,
            remote,
            checker: InvariantChecker::new(rules(&self::configuration(two, checked_by), &clock)),
            clock,
            random,
            network: Network::default(),
            nova: Nova::default(),
            started_at: Instant::now(),
            flavors: nova::ANY,
            forced: true,
            claims: false,
            configuration,
            routes,
        };
        for (name, server) in world.servers() {
            world.checker.watch(&name, server);
        }
        world.home.create(&seeds::flavor_groups_with_half(world.clock.now())).unwrap();
        world
    }

    /// All servers, with the names of their clusters.
    pub fn servers(&self) -> Vec<(ClusterName, &Server)> {
        let remote = self.remote.iter().map(|server| (seeds::OTHER_ZONE.into(), server));
        [(ClusterName::home(), &self.home)].into_iter().chain(remote).collect()
    }

    pub fn server_of(&self, zone: &str) -> &Server {
        self.remote.as_ref().filter(|_| zone == seeds::OTHER_ZONE).unwrap_or(&self.home)
    }

    pub fn start(&mut self, who: &str) -> Process {
        let order = Some(Random::new(self.random.draw()));
        self.start_as(who, order, false)
    }

    /// Starts a process that is one of several replicas.
    pub fn start_replica(&mut self, who: &str) -> Process {
        let order = Some(Random::new(self.random.draw()));
        self.start_as(who, order, true)
    }

    /// Starts a process that reconciles keys in the order of the queue.
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
            checker: &self.checker,
            claims: self.claims,
        })
    }

    pub fn people<T>(&self, act: impl FnOnce(&Self) -> T) -> T {
        self.checker.act_as_user(|| act(self))
    }

    /// Nova starts a VM, whose life runs concurrently with everything else.
    pub fn vm(&mut self, random: Random) {
        let around = self.around_nova();
        self.nova.starts(around, random);
    }

    pub fn around_nova(&self) -> People {
        People {
            checker: self.checker.clone(),
            zones: ZONES.map(|zone| (zone, self.server_of(zone).clone())),
            clusters: self.servers().into_iter().map(|(name, server)| (name, server.clone())).collect(),
            network: self.network.clone(),
            started_at: self.started_at,
            flavors: self.flavors,
            forced: self.forced,
        }
    }

    /// Creates hosts with free capacity for this many slots in a zone.
    pub fn hosts(&self, zone: &str, hosts: &[(&str, u64)]) {
        self.people(|world| {
            for (name, free) in hosts {
                let host = world.host(name, *free, zone);
                world.server_of(zone).create(&host).unwrap();
            }
        });
    }

    /// A host that is ready: only those are checked for over-booking.
    pub fn host(&self, name: &str, free: u64, zone: &str) -> Hypervisor {
        seeds::ready(seeds::in_zone(seeds::host(name, free), zone), self.clock.now())
    }

    /// Waits until nothing is written any more on any server.
    pub async fn rests(&self) {
        let deadline = Instant::now() + TIMEOUT;
        let mut before = self.checker.writes();
        loop {
            sleep(REST).await;
            let now = self.checker.writes();
            if now == before {
                return;
            }
            assert!(Instant::now() < deadline, "the world does not come to rest:\n{}", self.last_calls(30));
            before = now;
        }
    }

    /// At rest: all invariants hold, no write has violated one, and a new process writes nothing.
    pub async fn holds_invariants(&mut self, process: Process) {
        self.heal();
        self.rests().await;
        self.nova.ends().await;
        self.has_kept_all_invariants(&[]);
        self.a_new_process_writes_nothing([process]).await;
    }

    /// No write has violated an invariant, and at rest all of them hold, except the violations with these prefixes that
    /// other clients have caused.
    pub fn has_kept_all_invariants(&self, excused: &[&str]) {
        self.checker.mark_observed();
        let mut wrong = (self.checker.violations(), self.checker.violations_at_rest());
        wrong.1.retain(|text| !excused.iter().any(|excused| text.starts_with(excused)));
        assert!(wrong.0.is_empty() && wrong.1.is_empty(), "{wrong:#?}\n{}", self.last_writes(40));
        assert_eq!(overbooked::unresolved(&self.around_nova()), [""; 0], "{}", self.last_writes(40));
    }

    /// No running process holds a claim any more, and a new plan is empty.
    pub async fn a_new_process_writes_nothing(&mut self, processes: impl IntoIterator<Item = Process>) {
        for mut process in processes {
            assert_eq!(process.holds(), (0, 0, Vec::new()), "claims, entries, and hosts whose sums have drifted");
            assert!(process.has_given_out_what_it_decided(), "cores are held that no object shows");
            assert!(!process.has_panicked(), "a task of the process has panicked");
            process.crash();
        }
        let again = self.start("again");
        self.rests().await;
        let writes: Vec<_> = self.calls().into_iter().filter(|call| is_write_of(call, "again")).collect();
        assert_eq!(writes, [""; 0], "a new plan writes something");
        assert_eq!(self.checker.violations(), [""; 0], "{}", self.last_writes(40));
        again.crash();
    }

    pub fn age(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub fn heal(&self) {
        self.servers().into_iter().for_each(|(_, server)| server.heal());
    }

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

/// A line of the log has a number, a time, the caller and the verb.
fn is_write_of(call: &str, who: &str) -> bool {
    let words: Vec<_> = call.split(' ').collect();
    let writes = ["create", "update", "patch", "status", "delete"];
    words.get(2) == Some(&who) && words.get(3).is_some_and(|verb| writes.contains(verb))
}

/// The rules of this configuration. Everything must be done within half an hour.
fn rules(configuration: &Configuration, clock: &SteppedClock) -> CheckerSettings {
    let pause = configuration.pause.clone();
    CheckerSettings {
        clock: Arc::new(clock.clone()),
        disruption_limit: configuration.disruption_limit.slots,
        paused: PausedScope { zones: pause.zones, flavor_groups: pause.flavor_groups },
        overdue: configuration.reservation_controller.requeue_interval_grace_period + HALF_AN_HOUR,
    }
}

fn configuration(two: bool, special: Keys) -> Configuration {
    let home: Vec<&str> = ROUTED.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
    let remote = json!({ "host": "https://remote.example", "gvks": ROUTED,
                         "labels": { "availabilityZone": seeds::OTHER_ZONE } });
    let mut keys = json!({ "enabledControllers": WITHOUT_CAPACITY, "committedResourceReservationController": {
        "enableOversubscriptionCheck": true, "enableOversubscriptionReservationEviction": true,
    } });
    if let Some(slots) = special.disruption_limit {
        keys["disruptionLimit"] = json!({ "slots": slots });
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

pub const ZONES: [&str; 2] = [testing::ZONE, seeds::OTHER_ZONE];
