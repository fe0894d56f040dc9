//! One connection to the LIQUID API, which is used as Limes uses it: it asks for the info, and requests changes one after the other.

use std::net::SocketAddr;
use std::time::Duration;

use berth_crds::testing;
use berth_limes::answers::{ChangeAnswer, ServiceInfo};
use berth_limes::client::{Answer, LiquidClient};
use berth_limes::requests::{Item, Ledger, Status, Terms};
use jiff::{Timestamp, ToSpan as _};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::error::Error;

/// An operator answers 503 until it has published its info for the first time.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The slots of a sold commitment.
pub const SLOTS: usize = 4;
const NO_CAPACITY: &str = "insufficient capacity";

/// A client with a connection of its own.
pub struct Limes {
    name: String,
    http: LiquidClient,
    info_version: i64,
    ledger: Ledger,
    calls: u32,
}

impl Limes {
    /// Waits until the info is published. The name is part of all request ids.
    pub async fn connect(api: SocketAddr, name: &str) -> Result<Self, Error> {
        let http = LiquidClient::new(&format!("http://{api}/commitments/"))?;
        let mut limes = Self { name: name.to_owned(), http, info_version: 0, ledger: Ledger::default(), calls: 0 };
        limes.info_version = limes.discover().await?;
        Ok(limes)
    }

    async fn discover(&mut self) -> Result<i64, Error> {
        let deadline = Instant::now() + PUBLISHED_WITHIN;
        loop {
            match self.info().await {
                Err(berth_limes::Error::Status { status: 503, .. }) if Instant::now() < deadline => {
                    sleep(POLL_INTERVAL).await;
                }
                answer => return Ok(answer?.decoded.version),
            }
        }
    }

    async fn info(&mut self) -> Result<Answer<ServiceInfo>, berth_limes::Error> {
        let id = self.next_id();
        self.http.info(&id).await
    }

    /// How long `GET info` takes.
    pub async fn time_info(&mut self) -> Result<Duration, Error> {
        Ok(self.info().await?.took)
    }

    /// Requests a change that must be accepted.
    pub async fn change(&mut self, zone: &str, items: &[Item]) -> Result<Duration, Error> {
        let (request, after) = self.ledger.request(&self.terms(zone), items);
        let id = self.next_id();
        let answer = self.http.change(&id, &request).await?;
        check(&answer, "")?;
        self.ledger = after;
        Ok(answer.took)
    }

    /// Requests a change that must be rejected for lack of capacity.
    pub async fn change_in_vain(&mut self, zone: &str, items: &[Item]) -> Result<Duration, Error> {
        let (request, _) = self.ledger.request(&self.terms(zone), items);
        let id = self.next_id();
        let answer = self.http.change(&id, &request).await?;
        check(&answer, NO_CAPACITY)?;
        Ok(answer.took)
    }

    /// Requests a dry run of a change that fits.
    pub async fn try_only(&mut self, zone: &str, items: &[Item]) -> Result<Duration, Error> {
        let (mut request, _) = self.ledger.request(&self.terms(zone), items);
        request.dry_run = true;
        let id = self.next_id();
        let answer = self.http.change(&id, &request).await?;
        check(&answer, "")?;
        Ok(answer.took)
    }

    /// Pushes the quota of a project.
    pub async fn set_quota(&mut self, project: &str, quota: &Value) -> Result<Duration, Error> {
        let id = self.next_id();
        Ok(self.http.set_quota(&id, project, quota).await?)
    }

    fn terms(&self, zone: &str) -> Terms {
        let expires_at = Timestamp::now().saturating_add(24.hours()).unwrap_or(Timestamp::MAX);
        Terms { zone: zone.to_owned(), info_version: self.info_version, expires_at }
    }

    fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("{}-{}", self.name, self.calls)
    }
}

/// The change of one commitment, whose amount is counted in slots.
pub fn item(uuid: &str, slots: usize, old: Option<Status>, new: Option<Status>) -> Item {
    Item {
        project: testing::PROJECT.to_owned(),
        resource: format!("hw_version_{}_ram", testing::GROUP),
        uuid: uuid.to_owned(),
        old,
        new,
        amount: slots as u64,
    }
}

/// A new commitment, confirmed at once.
pub fn sold(uuid: &str, slots: usize) -> Item {
    item(uuid, slots, None, Some(Status::Confirmed))
}

/// Whether the reason of the answer is the expected one; an empty one means that the change is accepted.
fn check(answer: &Answer<ChangeAnswer>, expected: &str) -> Result<(), Error> {
    let reason = &answer.decoded.rejection_reason;
    let is_expected = if expected.is_empty() { reason.is_empty() } else { reason.contains(expected) };
    if is_expected { Ok(()) } else { Err(Error::Answer(answer.text.clone())) }
}
