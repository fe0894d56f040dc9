//! The schedulers of the contract, and the intended differences between them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_core::host::Host;
use berth_core::reservation::Reservation;
use berth_core::{HostName, SlotKey};
use berth_scheduler::{BuiltIn, Placed, Scheduler, Settings, SlotRequest, TieBreak};
use berth_scheduler_api::{Chosen, External, Role};

use crate::server::{Server, token};

/// The intended differences of a scheduler.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for one decision")]
pub struct Differences {
    /// Whether it decides on a commitment as a whole.
    pub places_wholes: bool,
    /// Whether it has a waiting list, and tells why a slot is in it.
    pub has_a_waiting_list: bool,
    pub reports_capacity: bool,
    pub counts_filters: bool,
}

/// A scheduler over a cloud.
pub trait Fixture: Sized {
    const DIFFERS: Differences;

    fn start() -> impl Future<Output = Self>;

    fn scheduler(&self) -> &Chosen;

    fn views(&self) -> Vec<&BuiltIn>;

    /// Lets the claims of answers over HTTP expire.
    fn answers_run_out(&self);

    /// Checks after a placement that only the leader has decided.
    fn is_led_well(&self) {}

    async fn with(hosts: &[Host]) -> Self {
        let fixture = Self::start().await;
        for host in hosts {
            fixture.host(host.clone());
        }
        fixture
    }

    fn host(&self, host: Host) {
        for view in self.views() {
            view.host_changed(&host.name, Some(host.clone()));
        }
    }

    fn shows(&self, reservation: &Reservation) {
        for view in self.views() {
            view.reservation_changed(&reservation.key, Some(reservation.clone()));
        }
    }

    fn gone(&self, key: &SlotKey) {
        for view in self.views() {
            view.reservation_changed(key, None);
        }
    }

    fn ended(&self, slot: &SlotRequest) {
        self.scheduler().applied(std::slice::from_ref(&slot.key));
    }

    async fn place(&self, slot: &SlotRequest) -> Option<HostName> {
        match self.scheduler().place(slot).await.unwrap() {
            Placed::Host(host) => Some(host),
            Placed::Nowhere(_) | Placed::Unplanned => None,
        }
    }

    fn assumes_nothing(&self) {
        for view in self.views() {
            assert_eq!((view.assumed(), view.claimed(), view.drift()), (0, 0, vec![]));
        }
    }
}

fn built_in() -> Arc<BuiltIn> {
    Arc::new(BuiltIn::new(Settings { tie_break: TieBreak::Name, ..Settings::default() }, Box::new(|_| {})))
}

/// The built-in scheduler in this process.
pub struct InProcess {
    scheduler: Chosen,
    view: Arc<BuiltIn>,
}

impl Fixture for InProcess {
    const DIFFERS: Differences =
        Differences { places_wholes: true, has_a_waiting_list: true, reports_capacity: true, counts_filters: true };

    async fn start() -> Self {
        let view = built_in();
        Self { scheduler: Chosen::BuiltIn(view.clone()), view }
    }

    fn scheduler(&self) -> &Chosen {
        &self.scheduler
    }

    fn views(&self) -> Vec<&BuiltIn> {
        vec![&self.view]
    }

    fn answers_run_out(&self) {}
}

const EXTERNAL: Differences =
    Differences { places_wholes: false, has_a_waiting_list: false, reports_capacity: false, counts_filters: false };

fn external(server: &Server, view: &Arc<BuiltIn>) -> Chosen {
    let external = External::new(&server.url(), Some("berth/contract"), view.clone()).unwrap();
    Chosen::External(Arc::new(external.with_token(Some(&token())).unwrap()))
}

/// A scheduler behind TCP and HTTP, which watches the same cloud.
pub struct OverHttp {
    scheduler: Chosen,
    here: Arc<BuiltIn>,
    there: Server,
}

impl Fixture for OverHttp {
    const DIFFERS: Differences = EXTERNAL;

    async fn start() -> Self {
        let (here, there) = (built_in(), Server::start(built_in(), Role::Leader).await);
        Self { scheduler: external(&there, &here), here, there }
    }

    fn scheduler(&self) -> &Chosen {
        &self.scheduler
    }

    /// The server's view first: other processes may see a change before the controller does.
    fn views(&self) -> Vec<&BuiltIn> {
        vec![self.there.scheduler(), &self.here]
    }

    fn answers_run_out(&self) {
        self.there.scheduler().expire(Duration::MAX);
    }
}

/// A scheduler that is asked through a replica that does not lead.
pub struct ThroughAFollower {
    scheduler: Chosen,
    here: Arc<BuiltIn>,
    follower: Server,
    leader: Server,
}

impl Fixture for ThroughAFollower {
    const DIFFERS: Differences = EXTERNAL;

    async fn start() -> Self {
        let (here, leader) = (built_in(), Server::start(built_in(), Role::Leader).await);
        let follower = Server::start(built_in(), Role::Follower { leader: Some(leader.base()) }).await;
        Self { scheduler: external(&follower, &here), here, follower, leader }
    }

    fn scheduler(&self) -> &Chosen {
        &self.scheduler
    }

    fn views(&self) -> Vec<&BuiltIn> {
        vec![self.leader.scheduler(), self.follower.scheduler(), &self.here]
    }

    fn answers_run_out(&self) {
        self.leader.scheduler().expire(Duration::MAX);
    }

    fn is_led_well(&self) {
        assert!(self.leader.has_decided() && !self.follower.has_decided());
    }
}
