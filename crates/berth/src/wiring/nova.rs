//! The parts of the process that the scheduler API needs: leadership, booking of VMs into slots, and recording of
//! decisions.

use std::sync::{Arc, OnceLock};

use berth_cluster::{FlavorGroupsCache, Leadership, Manager, Scope, Store};
use berth_scheduler::{BuiltIn, Request};
use berth_scheduler_api::claims::{self, ClaimKeeper, ClaimKeeperParts, ClaimMap, ClaimMetrics};
use berth_scheduler_api::history::{Histories, HistoryParts, HistoryRetention, HistoryRules};
use berth_scheduler_api::tracking::{BookingParts, Bookings, Guests};
use berth_scheduler_api::{Backend, GuestLookup, Outcome, Role};
use berth_telemetry::clock::Clock;
use berth_telemetry::config;
use tokio_util::sync::CancellationToken;

use super::{Controllers, Environment, Memory};

/// Whether this process decides at the moment. Clones see the same.
#[derive(Clone)]
pub struct DecidingState {
    /// `None` without an election.
    leadership: Option<Leadership>,
    /// The identity of this process in the election.
    me: String,
    /// Set when it has started to decide.
    controllers: Arc<OnceLock<Controllers>>,
}

impl DecidingState {
    pub fn new(leadership: Option<Leadership>, me: &str) -> Self {
        Self { leadership, me: me.to_owned(), controllers: Arc::default() }
    }

    pub fn me(&self) -> &str {
        &self.me
    }

    /// Everything has been read that decisions rest on; from now on these controllers decide.
    pub fn start(&self, controllers: Controllers) {
        _ = self.controllers.set(controllers);
    }

    /// The controllers that decide, once they do.
    pub(super) fn controllers(&self) -> Option<&Controllers> {
        self.controllers.get()
    }

    pub(super) fn find_leader(&self) {
        self.leadership.iter().for_each(Leadership::read_lease_soon);
    }

    pub(super) fn role(&self) -> Role {
        let leads = self.leadership.as_ref().is_none_or(Leadership::is_leader);
        if leads && self.controllers().is_some() {
            return Role::Leader;
        }
        let leader = self.leadership.as_ref().and_then(Leadership::leader);
        // A process that has just become leader must not forward to itself.
        let other = leader.filter(|leader| leader.identity != self.me);
        Role::Follower { leader: other.and_then(|leader| leader.address) }
    }
}

/// Serves the scheduler API to Nova.
pub struct Nova {
    memory: Memory,
    deciding: DecidingState,
    guests: Guests,
    bookings: Bookings,
    histories: Histories,
    claims: ClaimKeeper,
}

/// Takes over the claims of the former leader.
pub struct ClaimRestorer {
    claims: ClaimKeeper,
    bookings: Bookings,
}

impl ClaimRestorer {
    /// Nothing may be decided before this has ended. VMs whose booking the former leader did not write are booked again.
    pub async fn restore(&self) {
        self.claims.restore().await.iter().for_each(|booking| self.bookings.take(booking));
    }
}

impl Nova {
    /// The backend of the API. The work that goes with it, until `stop`, is added to the manager.
    pub fn new(
        memory: &Memory,
        environment: &Environment<'_>,
        deciding: DecidingState,
        manager: &mut Manager,
        stop: &CancellationToken,
    ) -> Self {
        let (bookings, entering) = Bookings::new(booking_parts(memory, environment), stop.clone());
        let (histories, remembering) = Histories::new(history_parts(memory, environment), stop.clone());
        let guests = Guests {
            enabled: environment.configuration.feature_gates.is_on(config::Gate::CommittedResourceTracking),
            flavor_groups: FlavorGroupsCache::new(memory.stores.knowledges.clone()),
            commitments: memory.stores.commitments.clone(),
            clock: environment.clock.clone(),
        };
        let clusters = environment.clusters.clone();
        let namespace = clusters.home().client.default_namespace().to_owned();
        let map = ClaimMap::new(clusters, &namespace, claims::NAME).fenced(environment.fence.clone());
        let keys = &environment.configuration.scheduler;
        let claims = claim_keeper(memory, map, environment.clock.clone(), keys, environment.metrics.claims.clone());
        manager.add_source("the writer of claims", Scope::Leader, claims.work(stop.clone()));
        manager.add_source("the writer of bookings", Scope::EveryReplica, entering);
        manager.add_source("the writer of histories", Scope::EveryReplica, remembering);
        let forgetting = history_retention(environment).work(stop.clone());
        manager.add_source("the deletion of old histories", Scope::Leader, forgetting);
        Self { memory: memory.clone(), deciding, guests, bookings, histories, claims }
    }

    pub fn restorer(&self) -> ClaimRestorer {
        ClaimRestorer { claims: self.claims.clone(), bookings: self.bookings.clone() }
    }
}

/// The keeper of the claims of a process.
pub(crate) fn claim_keeper(
    memory: &Memory,
    map: ClaimMap,
    clock: Arc<dyn Clock>,
    keys: &config::Scheduler,
    metrics: ClaimMetrics,
) -> ClaimKeeper {
    let (scheduler, began) = (memory.scheduler.clone(), memory.started_at());
    let longest = keys.assume_ttl_instance.max(keys.assume_ttl_reservation);
    let now = Arc::new(move || began.elapsed());
    ClaimKeeper::new(ClaimKeeperParts { map, scheduler, now, clock, longest, metrics })
}

fn booking_parts(memory: &Memory, environment: &Environment<'_>) -> BookingParts {
    let bookings = memory.scheduler.clone();
    BookingParts {
        reservations: environment.writer(&memory.stores.reservations),
        give_back: Arc::new(move |vm| bookings.unbook(vm)),
        clock: environment.clock.clone(),
        metrics: environment.metrics.bookings.clone(),
    }
}

fn history_parts(memory: &Memory, environment: &Environment<'_>) -> HistoryParts {
    HistoryParts {
        writer: environment.writer(&Store::new(&[])),
        routes: environment.routes.clone(),
        reservations: memory.stores.reservations.clone(),
        events: environment.events.clone(),
        clock: environment.clock.clone(),
        metrics: environment.metrics.histories.clone(),
    }
}

fn history_retention(environment: &Environment<'_>) -> HistoryRetention {
    let keys = &environment.configuration.history;
    HistoryRetention {
        rules: HistoryRules { retention: keys.retention, max: keys.max },
        writer: environment.writer(&Store::new(&[])),
        clusters: environment.clusters.clone(),
        routes: environment.routes.clone(),
        clock: environment.clock.clone(),
        metrics: environment.metrics.history_deletions.clone(),
    }
}

impl Backend for Nova {
    fn scheduler(&self) -> &Arc<BuiltIn> {
        &self.memory.scheduler
    }

    fn role(&self) -> Role {
        self.deciding.role()
    }

    fn find_leader(&self) {
        self.deciding.find_leader();
    }

    /// It is served only when the stores are filled and the pipelines loaded.
    fn not_ready(&self) -> Option<String> {
        None
    }

    fn guest(&self, request: &Request) -> GuestLookup {
        self.guests.guest(request)
    }

    fn remembers(&self, request: &Request) -> bool {
        self.histories.remembers(request)
    }

    fn decided(&self, outcome: Outcome) {
        if let Ok(answer) = &outcome.result {
            answer.booking.iter().for_each(|booking| self.bookings.take(booking));
        }
        self.histories.take(&outcome);
    }

    async fn keep_claim(&self) {
        self.claims.keep().await;
    }
}
