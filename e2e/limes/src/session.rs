//! Plays Limes against a service from the discovery on, and reports each call and its answer. It ends at the first answer that
//! Limes would not expect.

use std::time::Duration;

use jiff::{Timestamp, ToSpan as _};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::answers::{ChangeAnswer, ServiceInfo};
use crate::client::{Answer, LiquidClient};
use crate::error::Error;
use crate::plan::{self, Expected, Projects, Step};
use crate::requests::{Item, Ledger, Status, Terms};
use crate::{info, usage};

/// A service answers 503 until it has published its info for the first time.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(200);
const CAPACITY_REASONS: [&str; 2] = ["insufficient capacity", "insufficient CPU cores"];

/// Which service, and for whom commitments are sold there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base URL, to which Limes appends `v1/info`.
    pub base_url: String,
    pub zone: String,
    pub projects: Projects,
}

/// A session with one service.
pub struct Session<S> {
    settings: Settings,
    client: LiquidClient,
    ledger: Ledger,
    /// Part of all request ids.
    id: String,
    calls: u32,
    say: S,
}

impl<S: FnMut(String)> Session<S> {
    /// `say` gets the lines of the report.
    pub fn new(settings: Settings, say: S) -> Result<Self, Error> {
        let client = LiquidClient::new(&settings.base_url)?;
        let id = Uuid::new_v4().simple().to_string();
        Ok(Self { settings, client, ledger: Ledger::default(), id, calls: 0, say })
    }

    pub async fn play(mut self) -> Result<(), Error> {
        let info = self.discover().await?;
        let (sold, other) = info::offers(&info).ok_or(Error::NothingToSell)?;
        if other.is_none() {
            (self.say)("convert: skipped, because only one resource accepts commitments".to_owned());
        }
        self.scrape(&info).await?;
        let terms = Terms {
            zone: self.settings.zone.clone(),
            info_version: info.version,
            expires_at: Timestamp::now().saturating_add(24.hours()).unwrap_or(Timestamp::MAX),
        };
        for step in plan::steps(&sold, other.as_ref(), &self.settings.projects, || Uuid::new_v4().to_string()) {
            self.take(&terms, &step).await?;
        }
        Ok(())
    }

    async fn discover(&mut self) -> Result<ServiceInfo, Error> {
        let id = self.next_id();
        let deadline = Instant::now() + PUBLISHED_WITHIN;
        let answer = loop {
            match self.client.info(&id).await {
                Err(Error::Status { status: 503, .. }) if Instant::now() < deadline => sleep(ASK_EVERY).await,
                answer => break answer?,
            }
        };
        let (info, resources) = (&answer.decoded, answer.decoded.resources.iter().flatten());
        let sold = resources.clone().filter(|(_, resource)| resource.handles_commitments).count();
        let (count, version, took) = (resources.count(), info.version, answer.took.as_secs_f64());
        (self.say)(format!(
            "discover: version {version}, {count} resources, {sold} of them with commitments ({took:.2} s)"
        ));
        let violations = info::violations(info);
        if violations.is_empty() { Ok(answer.decoded) } else { Err(Error::Info(violations)) }
    }

    /// Reads the usage of a project. A service may have none for a moment, or at all.
    async fn scrape(&mut self, info: &ServiceInfo) -> Result<(), Error> {
        let (id, project) = (self.next_id(), self.settings.projects.first.clone());
        let zone = self.settings.zone.clone();
        match self.client.usage(&id, &project, &[&zone]).await {
            Err(Error::Status { status: 503, body, .. }) => {
                (self.say)(format!("usage of {project}: none now, {body}"));
                Ok(())
            }
            Err(error) => Err(error),
            Ok(answer) => {
                let (vms, took) = (usage::vms(&answer.decoded), answer.took.as_secs_f64());
                (self.say)(format!("usage of {project} in {zone}: {vms} VMs ({took:.2} s)"));
                let violations = usage::violations(info, &answer.decoded, &zone);
                if violations.is_empty() { Ok(()) } else { Err(Error::Usage(violations)) }
            }
        }
    }

    async fn take(&mut self, terms: &Terms, step: &Step) -> Result<(), Error> {
        let (request, after) = self.ledger.request(terms, &step.items);
        let id = self.next_id();
        (self.say)(format!("{} in {}, request {id}", step.name, terms.zone));
        step.items.iter().for_each(|item| (self.say)(item_line(item)));
        let answer = self.client.change(&id, &request).await?;
        (self.say)(answer_line(&answer));
        check(step, &answer.decoded)?;
        if step.expected == Expected::Accepted {
            self.ledger = after;
        }
        Ok(())
    }

    fn next_id(&mut self) -> String {
        self.calls += 1;
        format!("limes-{}-{}", short(&self.id), self.calls)
    }
}

fn check(step: &Step, answer: &ChangeAnswer) -> Result<(), Error> {
    let (step, expected, reason) = (step.name, step.expected, answer.rejection_reason.clone());
    let is_about_capacity = CAPACITY_REASONS.iter().any(|known| reason.contains(known));
    match (expected, reason.is_empty()) {
        (Expected::Accepted, true) => Ok(()),
        (Expected::Accepted, false) => Err(Error::Refused { step, reason }),
        (Expected::Rejected, true) => Err(Error::NotRefused { step }),
        (Expected::Rejected, false) if is_about_capacity => Ok(()),
        (Expected::Rejected, false) => Err(Error::OtherReason { step, reason }),
    }
}

fn answer_line(answer: &Answer<ChangeAnswer>) -> String {
    format!("  answer: {} ({:.2} s)", answer.text, answer.took.as_secs_f64())
}

fn item_line(item: &Item) -> String {
    let Item { project, resource, uuid, old, new, amount } = item;
    format!("  {}: {amount} of {resource} in project {project}, {} -> {}", short(uuid), word(*old), word(*new))
}

fn word(status: Option<Status>) -> &'static str {
    match status {
        None => "none",
        Some(Status::Pending) => "pending",
        Some(Status::Confirmed) => "confirmed",
        Some(Status::Superseded) => "superseded",
    }
}

/// The beginning of an id, by which people tell it from others.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(expected: Expected, reason: &str) -> Result<(), String> {
        let step = Step { name: "sell", items: Vec::new(), expected };
        let answer = ChangeAnswer { rejection_reason: reason.to_owned(), retry_at: None };
        check(&step, &answer).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_that_limes_does_not_expect_ends_the_session() {
        let full = "1 commitment(s) failed to apply:\n- commitment a: insufficient capacity: 1/2";
        assert_eq!(outcome(Expected::Accepted, ""), Ok(()));
        assert_eq!(outcome(Expected::Rejected, full), Ok(()));
        assert!(outcome(Expected::Accepted, full).unwrap_err().starts_with("sell: the service refuses: "));
        assert!(outcome(Expected::Rejected, "").unwrap_err().contains("accepts more than any zone has"));
        assert!(outcome(Expected::Rejected, "no").unwrap_err().contains("not about capacity"));
    }
}
