//! What `filter_quota_enforcement` decides about a request, with its numbers, for metrics, logs and reports.

use berth_core::{GroupName, Zone};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

/// A decision. Only the last one is against the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum QuotaDecision {
    /// The VM exists already and moves or is rebuilt.
    AcceptSkippedIntentMigration,
    /// The request is for a slot.
    AcceptSkippedIntentInternal,
    /// The request only asks for capacity.
    AcceptSkipped,
    /// It has no project, no zone, or a flavor without a group.
    AcceptSkippedMissingData,
    /// A commitment has enough RAM left.
    AcceptCr,
    /// The project has no quota in the zone.
    AcceptNoQuota,
    /// The quota has enough left.
    AcceptPayg,
    Reject,
}

impl QuotaDecision {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The value of the label `decision` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A resource with a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum QuotaResource {
    Ram,
    Cores,
    Instances,
}

impl QuotaResource {
    /// The value of the label `resource` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What the filter decides about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuotaVerdict {
    /// A rejected request gets no host. Otherwise the filter only counts.
    pub enforce: bool,
    pub decision: QuotaDecision,
    /// The resource that is lacking, or that a commitment has.
    pub resource: Option<QuotaResource>,
    /// The zone and the group of the request, empty where no host, and no quota or commitment, has them.
    pub zone: Zone,
    pub group: GroupName,
    /// `None` if the request was not checked.
    pub figures: Option<QuotaFigures>,
}

impl QuotaVerdict {
    /// Whether the request gets no host.
    pub fn removes_hosts(&self) -> bool {
        self.enforce && self.decision == QuotaDecision::Reject
    }
}

/// The numbers of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuotaFigures {
    /// In GiB.
    pub ram: ResourceFigures,
    pub cores: ResourceFigures,
    pub instances: ResourceFigures,
    /// The most RAM that one commitment has left, in GiB; `None` without a commitment.
    pub headroom: Option<i64>,
}

/// The numbers of one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceFigures {
    /// `None` is unlimited.
    pub quota: Option<i64>,
    /// What commitments have of it, used or not.
    pub committed: i64,
    /// What is used and no commitment pays for.
    pub used: i64,
    /// The same of VMs that the usage does not count yet.
    pub claimed: i64,
    pub needed: i64,
}

impl ResourceFigures {
    /// Whether the quota has enough left.
    pub(crate) fn suffices(&self) -> bool {
        let taken = [self.committed, self.used, self.claimed].into_iter().fold(0, i64::saturating_add);
        self.quota.is_none_or(|quota| quota.saturating_sub(taken) >= self.needed)
    }
}
