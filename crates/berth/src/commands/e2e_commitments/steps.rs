//! The checks, in their order. Each but the first reads the service info and goes through all zones and resources.

use std::time::Duration;

use berth_telemetry::config::Checks;
use jiff::Timestamp;
use serde_json::Value;
use tracing::{info, warn};

use super::answers::{ServiceInfo, UsageCounts, is_allowed};
use super::client::ApiClient;
use super::requests::{self, Commitment, Place};

const SHORT_LIFE: Duration = Duration::from_secs(5 * 60);
const BATCH_LIFE: Duration = Duration::from_secs(10 * 60);

/// What became of a change.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    /// The zone is full, which is no failure.
    Full,
}

pub(super) struct Steps<'a> {
    client: ApiClient,
    checks: &'a Checks,
    /// Unix milliseconds in the last UUIDs; the next ones have more.
    last: i64,
}

impl<'a> Steps<'a> {
    pub(super) fn new(client: ApiClient, checks: &'a Checks) -> Self {
        Self { client, checks, last: 0 }
    }

    pub(super) async fn run(mut self) -> Result<(), String> {
        self.info().await.map_err(|reason| format!("info: {reason}"))?;
        for place in self.places().await.map_err(|reason| format!("dry run: {reason}"))? {
            self.dry_run(&place).await.map_err(|reason| failure("dry run", &place, &reason))?;
        }
        for place in self.places().await.map_err(|reason| format!("round trip: {reason}"))? {
            self.round_trip(&place).await.map_err(|reason| failure("round trip", &place, &reason))?;
        }
        for place in self.places().await.map_err(|reason| format!("batch: {reason}"))? {
            self.batch(&place).await.map_err(|reason| failure("batch", &place, &reason))?;
        }
        Ok(())
    }

    async fn info(&self) -> Result<(), String> {
        let answer = self.client.info().await?;
        let (version, resources) = (answer.decoded.version, answer.decoded.resources().count());
        if version < 0 {
            warn!(version, "the version of the service info is negative");
        }
        info!(version, resources, "e2e check of the service info passed");
        Ok(())
    }

    async fn places(&self) -> Result<Vec<Place>, String> {
        let info = self.client.info().await?.decoded;
        let places = places(self.checks, &info);
        if places.is_empty() {
            warn!("no zone and resource with commitments to check");
        }
        Ok(places)
    }

    async fn dry_run(&mut self, place: &Place) -> Result<(), String> {
        let commitment = commitment("e2e-dry", self.milliseconds(), SHORT_LIFE);
        self.ask("dry run", place, &requests::dry_run(place, &commitment)).await.map(drop)
    }

    async fn round_trip(&mut self, place: &Place) -> Result<(), String> {
        let commitment = commitment("e2e", self.milliseconds(), SHORT_LIFE);
        if self.ask("creation", place, &requests::create(place, &commitment)).await? == Verdict::Full {
            return Ok(());
        }
        let reported = self.usage(place).await;
        if self.checks.no_cleanup {
            return reported;
        }
        // The commitment goes whatever the report was.
        let deleted = self.demand("deletion", place, &requests::delete(place, &commitment)).await;
        reported.and(deleted)
    }

    async fn batch(&mut self, place: &Place) -> Result<(), String> {
        let number = self.milliseconds();
        let [first, second] = ["e2e-batch-a", "e2e-batch-b"].map(|name| commitment(name, number, BATCH_LIFE));
        self.demand("creation", place, &requests::create_pending(place, &first)).await?;
        match self.ask("confirmation", place, &requests::confirm_batch(place, &first, &second)).await? {
            // A commitment that waits would take capacity that becomes free, so it goes in any case.
            Verdict::Full => self.demand("deletion", place, &requests::delete_pending(place, &first)).await,
            Verdict::Accepted => {
                let reported = self.usage(place).await;
                if self.checks.no_cleanup {
                    return reported;
                }
                let delete = requests::delete_batch(place, &first, &second);
                reported.and(self.demand("deletion", place, &delete).await)
            }
        }
    }

    async fn usage(&self, place: &Place) -> Result<(), String> {
        let answer = self.client.usage(&place.project, &place.zone).await?;
        let (zone, version) = (&place.zone, answer.decoded.info_version);
        for (resource, reported) in answer.decoded.resources.iter().flatten() {
            let UsageCounts { usage, subresources, committed } = reported.counts();
            let uncommitted = subresources - committed;
            info!(zone, version, resource, usage, subresources, committed, uncommitted, "usage reported");
        }
        Ok(())
    }

    /// Sends a change that may be rejected for lack of capacity.
    async fn ask(&self, step: &str, place: &Place, request: &Value) -> Result<Verdict, String> {
        let answer = self.client.change(request).await.map_err(|reason| format!("{step}: {reason}"))?;
        let (reason, request_id) = (answer.decoded.rejection_reason, answer.request_id);
        let (zone, resource) = (&place.zone, &place.resource);
        if reason.is_empty() {
            info!(zone, resource, request_id, "{step} accepted");
            return Ok(Verdict::Accepted);
        }
        if is_allowed(&reason) {
            info!(zone, resource, request_id, reason, "{step} rejected for lack of capacity");
            return Ok(Verdict::Full);
        }
        Err(format!("{step}: rejected (X-Request-ID {request_id}): {reason}"))
    }

    /// Sends a change for which any reason is a failure.
    async fn demand(&self, step: &str, place: &Place, request: &Value) -> Result<(), String> {
        match self.ask(step, place, request).await? {
            Verdict::Accepted => Ok(()),
            Verdict::Full => Err(format!("{step}: rejected for lack of capacity")),
        }
    }

    /// The time, or a little more if another UUID has it.
    fn milliseconds(&mut self) -> i64 {
        self.last = Timestamp::now().as_millisecond().max(self.last.saturating_add(1));
        self.last
    }
}

/// Each zone with each resource that has commitments.
pub(super) fn places(checks: &Checks, info: &ServiceInfo) -> Vec<Place> {
    let place = |zone: &str, resource: &str| Place {
        zone: zone.to_owned(),
        resource: resource.to_owned(),
        project: checks.project_id.clone(),
        info_version: info.version,
    };
    checks.zones.iter().flat_map(|zone| info.resources().map(move |resource| place(zone, resource))).collect()
}

fn commitment(name: &str, number: i64, life: Duration) -> Commitment {
    let expires_at = Timestamp::now().saturating_add(life).unwrap_or(Timestamp::MAX);
    Commitment { uuid: format!("{name}-{number}"), expires_at }
}

fn failure(check: &str, place: &Place, reason: &str) -> String {
    format!("{check} of {} in {}: {reason}", place.resource, place.zone)
}
