//! Admission: checks a request against the stores, and finds what keeps it from being decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use berth_cluster::indexes::CHANGE_BY_COMMITMENT;
use berth_cluster::{ObjectKey, Partial, RouteError};
use berth_core::commitment::Spec;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::conversion::{LimesCommitment, convert};
use berth_core::liquid::resources::{GroupResources, ResourceConfig};
use berth_core::liquid::units::RamUnit;
use berth_core::liquid::validation::{Facts, Item, RequestError, validate};
use berth_core::{ClusterName, CommitmentUuid, GroupName};
use berth_crds::conditions::{self, safety};
use berth_crds::{CommittedResource, CommittedResourceSpec, Reservation, facts, names};
use jiff::Timestamp;
use tracing::warn;

use super::answer::Answer;
use super::{Asked, ChangeService, texts};
use crate::refused::{NOT_READY, Refused};

/// A request that can be decided.
#[derive(Debug)]
pub(super) struct Admitted {
    /// The cluster of their slots.
    pub(super) slot_cluster: ClusterName,
    /// Without deletions of commitments that do not exist.
    pub(super) items: Vec<AdmittedItem>,
    pub(super) now: Timestamp,
}

/// One commitment of the request.
#[derive(Clone, Debug)]
pub(super) struct AdmittedItem {
    pub(super) uuid: CommitmentUuid,
    pub(super) key: ObjectKey,
    pub(super) object: Option<Arc<CommittedResource>>,
    /// `None`: it is deleted.
    pub(super) after: Option<CommittedResourceSpec>,
}

/// Why a request cannot be admitted.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// A check failed.
    Check(RequestError),
    /// There are no flavor groups.
    NotReady,
    /// No service info was ever published.
    Unpublished,
    /// The caller acts on another service info than this one.
    Version(i64),
    /// The API server of the home cluster cannot be reached.
    Away,
    /// It cannot be decided now, for this reason.
    Waits(String),
}

impl From<RequestError> for Obstacle {
    fn from(error: RequestError) -> Self {
        Self::Check(error)
    }
}

impl ChangeService {
    /// What the request means at this moment.
    pub(super) fn admit(&self, asked: &Asked) -> Result<Admitted, Obstacle> {
        let now = self.context.clock.now();
        self.context.changes.store().require_synced(&ClusterName::home()).map_err(|partial| {
            warn!(greq = asked.global_id(), %partial, "a change of commitments waits for the API server");
            Obstacle::Away
        })?;
        let existing = self.existing(asked);
        let items = self.validate(asked, &existing, now)?;
        let (cluster, slot_cluster) = self.clusters(asked).map_err(|error| {
            warn!(greq = asked.global_id(), %error, "no cluster for a change of commitments");
            Obstacle::Waits(format!("availability zone {} is not served at the moment", asked.request.zone))
        })?;
        self.require_synced(&cluster, &slot_cluster).map_err(|partial| {
            warn!(greq = asked.global_id(), %partial, "a change of commitments waits for a complete read");
            Obstacle::Waits(format!("availability zone {} cannot be read at the moment", asked.request.zone))
        })?;
        let allow_rejection = asked.takes_reasons();
        let items = items.into_iter().filter_map(|item| self.item(&item, &cluster, now, allow_rejection));
        let admitted = Admitted { items: items.collect(), slot_cluster, now };
        match admitted.items.iter().find_map(|item| Some((item, self.obstacle(item)?))) {
            Some((item, why)) => Err(Obstacle::Waits(texts::waits(&item.uuid, &why))),
            None => Ok(admitted),
        }
    }

    /// The checks of a request that need no queue.
    pub(super) fn check(&self, asked: &Asked) -> Result<(), Obstacle> {
        self.validate(asked, &self.existing(asked), self.context.clock.now()).map(drop)
    }

    pub(super) fn answer_obstacle(&self, asked: &Asked, obstacle: Obstacle) -> Answer {
        match obstacle {
            Obstacle::NotReady if asked.request.dry_run => self.no_verdict(asked, NOT_READY.to_owned()),
            Obstacle::NotReady | Obstacle::Unpublished => Refused::not_ready().into(),
            Obstacle::Version(current) => {
                let text = texts::version_mismatch(asked.request.info_version, current);
                Answer::refused(StatusCode::CONFLICT, text)
            }
            Obstacle::Away => Answer::unavailable(texts::API_SERVER_AWAY, 5),
            Obstacle::Waits(text) => self.no_verdict(asked, text),
            Obstacle::Check(error) if error.is_malformed() || !asked.takes_reasons() => {
                Answer::refused(StatusCode::BAD_REQUEST, error.to_string())
            }
            Obstacle::Check(error) if asked.request.dry_run => {
                Answer::Rejected { reason: error.dry_run_reason(), retry_at: None }
            }
            Obstacle::Check(error) => Answer::Rejected { reason: error.to_string(), retry_at: None },
        }
    }

    /// Neither accepted nor rejected. Limes confirms many commitments in one transaction, which an error would undo as a
    /// whole, so only callers that ignore reasons get one.
    pub(super) fn no_verdict(&self, asked: &Asked, text: String) -> Answer {
        if !asked.takes_reasons() {
            return Answer::unavailable(text, 5);
        }
        self.rejected_for_now(if asked.request.dry_run { format!("dry run: {text}") } else { text })
    }

    /// A reason that may be gone later.
    pub(super) fn rejected_for_now(&self, reason: String) -> Answer {
        let after = self.context.settings.retry_after_rejection;
        let retry_at = (!after.is_zero()).then(|| self.context.clock.now().checked_add(after).ok()).flatten();
        Answer::Rejected { reason, retry_at: retry_at.and_then(|time| Timestamp::from_second(time.as_second()).ok()) }
    }

    fn validate(
        &self,
        asked: &Asked,
        existing: &BTreeMap<CommitmentUuid, Spec>,
        now: Timestamp,
    ) -> Result<Vec<Item>, Obstacle> {
        match self.context.info.version() {
            None => return Err(Obstacle::Unpublished),
            Some(current) if current != asked.request.info_version => return Err(Obstacle::Version(current)),
            Some(_) => {}
        }
        let known = self.context.flavor_groups.get().map_err(|error| {
            warn!(greq = asked.global_id(), %error, "a change of commitments waits for flavor groups");
            Obstacle::NotReady
        })?;
        let config = self.published_resources(&known.groups);
        let facts = Facts { groups: &known.groups, config: &config, existing, now };
        match validate(&asked.request, &facts) {
            // The newest groups cannot be read, and it may be one of them.
            Err(error @ RequestError::UnknownGroup(_)) if known.outdated.is_some() => {
                Err(Obstacle::Waits(error.to_string()))
            }
            checked => Ok(checked?),
        }
    }

    /// What is configured, with the units of the published info.
    fn published_resources(&self, groups: &FlavorGroups) -> ResourceConfig {
        let of_group = |group: &GroupName| {
            let configured = self.context.resources.of(group);
            let unit = self.context.info.ram_unit(group).map_or(configured.ram_unit_gib, RamUnit::in_gib);
            (group.clone(), GroupResources { ram_unit_gib: unit, ..configured })
        };
        groups.iter().map(|group| of_group(&group.name)).collect()
    }

    /// The stored commitments of the request, whichever cluster they are in.
    fn existing(&self, asked: &Asked) -> BTreeMap<CommitmentUuid, Spec> {
        let store = &self.context.commitments;
        let stored = |key: CommitmentUuid| {
            let holders = store.holders(&names::commitment(key.as_str()).into());
            let object = holders.iter().find_map(|holder| store.get(holder))?;
            Some((key, facts::spec(&object)))
        };
        asked.request.commitment_keys().into_iter().filter_map(stored).collect()
    }

    fn clusters(&self, asked: &Asked) -> Result<(ClusterName, ClusterName), RouteError> {
        let (routes, zone) = (&self.context.routes, Some(asked.request.zone.as_str()));
        Ok((routes.target::<CommittedResource>(zone)?, routes.target::<Reservation>(zone)?))
    }

    fn require_synced(&self, cluster: &ClusterName, slot_cluster: &ClusterName) -> Result<(), Partial> {
        self.context.commitments.require_synced(cluster)?;
        self.context.reservations.require_synced(slot_cluster).map(drop)
    }

    fn item(&self, item: &Item, cluster: &ClusterName, now: Timestamp, allow_rejection: bool) -> Option<AdmittedItem> {
        let key = ObjectKey::new(cluster.clone(), names::commitment(item.uuid.as_str()));
        let object = self.context.commitments.get(&key);
        if item.after.is_none() && object.is_none() && self.context.commitments.invalid_entry(&key).is_none() {
            return None;
        }
        let after = item.after.as_ref().map(|after| spec_after(after, object.as_deref(), now, allow_rejection));
        Some(AdmittedItem { uuid: item.uuid.clone(), key, object, after })
    }

    /// What keeps a commitment from being changed now.
    fn obstacle(&self, item: &AdmittedItem) -> Option<String> {
        let (store, object) = (&self.context.commitments, item.object.as_deref());
        if store.in_doubt(&item.key) || store.invalid_entry(&item.key).is_some() {
            return Some("its state cannot be read".to_owned());
        }
        if object.is_some_and(|object| object.metadata.deletion_timestamp.is_some()) {
            return Some("it is being deleted".to_owned());
        }
        let paused = object.and_then(|object| self.context.pauses.commitment(object));
        if paused.or_else(|| self.context.pauses.spec(item.after.as_ref()?)).is_some() {
            return Some("it is paused by an operator".to_owned());
        }
        if object.is_some_and(is_disruption_limited) {
            return Some("too many slots of its zone are being moved".to_owned());
        }
        if !self.context.changes.store().select(&CHANGE_BY_COMMITMENT, item.uuid.as_str()).is_empty() {
            return Some("another change of it is not finished".to_owned());
        }
        if depends_on_time(item)
            && let Err(error) = self.context.clock.trusted_now()
        {
            warn!(commitment = %item.uuid, %error, "a change of commitments waits for a trusted clock");
            return Some("the time is not known well enough".to_owned());
        }
        None
    }
}

/// Limes knows a commitment that it names here, so what keeps the syncer from ending it does not matter.
fn is_disruption_limited(object: &CommittedResource) -> bool {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions::find(conditions, safety::DISRUPTION_LIMITED)
        .filter(|condition| condition.reason != safety::UNKNOWN_TO_LIMES)
        .is_some_and(|condition| condition.status == conditions::Status::True.as_str())
}

/// Whether it matters what time it is: a commitment with an end may be over.
fn depends_on_time(item: &AdmittedItem) -> bool {
    let specs = [item.after.as_ref(), item.object.as_ref().map(|object| &object.spec)];
    specs.into_iter().flatten().any(|spec| spec.end_time.is_some())
}

/// The spec to write.
fn spec_after(
    after: &LimesCommitment,
    object: Option<&CommittedResource>,
    now: Timestamp,
    allow_rejection: bool,
) -> CommittedResourceSpec {
    let stored = object.map(facts::spec);
    facts::written_spec(&convert(after, stored.as_ref(), now, allow_rejection), object.map(|object| &object.spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_not_written_again() {
        let mut object = berth_crds::testing::commitment("uuid-1", "491520Mi");
        object.spec.scheduling_domain = None;
        object.spec.start_time = Some(berth_crds::Time(Timestamp::UNIX_EPOCH));
        let stored = facts::spec(&object);
        let after = LimesCommitment {
            uuid: stored.uuid.clone(),
            group: stored.group.clone(),
            resource: stored.resource,
            amount: stored.amount,
            zone: stored.zone.clone(),
            project: stored.project.clone(),
            domain: stored.domain.clone(),
            status: stored.state,
            start: berth_core::liquid::conversion::Start::UnlessStored(Timestamp::MAX),
            expires_at: None,
        };
        assert_eq!(spec_after(&after, Some(&object), Timestamp::UNIX_EPOCH, false), object.spec);
        let changed = spec_after(&after, Some(&object), Timestamp::UNIX_EPOCH, true);
        assert_eq!((changed.amount.as_str(), changed.allow_rejection), ("480Gi", true));
    }
}
