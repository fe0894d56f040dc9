//! `committedResourceReservationController`: placing slots on hosts, watching allocations, oversubscription (document
//! 11 section 5.2).

use std::{collections::BTreeMap, time::Duration};

use super::{
    common::{SchedulerUrl, SecretRef},
    duration,
    section::{Section, Zero},
    token::Token,
};

const ACTIVE: &str = "When a ready slot is looked at again.";
const RETRY: &str = "When a slot that could not be placed is tried again.";
const GRACE: &str = "When an allocation in its grace period is looked at again, and how long a host must be missing \
                     before it counts as gone.";
const ALLOCATION: &str = "How long a VM may take to appear on its host before its allocation leaves the slot.";
const PIPELINE_DEFAULT: &str = "Pipeline of groups that `flavorGroupPipelines` does not cover.";
const PIPELINES: &str = "Pipeline by flavor group; `*` stands for all groups that are not named.";
const KEYSTONE: &str =
    "Secret with the Keystone credentials for looking up domain names; without it the scheduler gets none.";
const TOKEN: &str = "Bearer token that is shown to an external scheduler. Belongs into the secrets file.";
const CHECK: &str = "Look for hosts that hold more than fits, and count them.";
const EVICTION: &str = "Let slots leave such hosts; otherwise there are only metrics.";
const EVICT_OCCUPIED: &str = "Let slots with VMs leave such hosts too, when the empty ones are not enough: the VMs run on, \
                              without the cover of their slot.";
const EVICTION_GRACE: &str = "Wait between detection and eviction, and between evictions.";

/// Settings of the reservation and oversubscription controllers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationController {
    /// `requeueIntervalActive`: when a ready slot is looked at again.
    pub requeue_interval_active: Duration,
    /// `requeueIntervalRetry`: when a slot that could not be placed is tried again.
    pub requeue_interval_retry: Duration,
    /// `requeueIntervalGracePeriod`: when an allocation in its grace period is looked at again; also how long a host
    /// must be missing before it counts as gone (decision U36).
    pub requeue_interval_grace_period: Duration,
    /// `allocationGracePeriod`: how long a VM may take to appear on its host.
    pub allocation_grace_period: Duration,
    /// `schedulerURL`: who places slots.
    pub scheduler: SchedulerUrl,
    /// `schedulerToken`: shown to a scheduler behind HTTP.
    pub scheduler_token: Option<Token>,
    /// `pipelineDefault`: pipeline of groups without one; absent: inferred from the flavor.
    pub pipeline_default: Option<String>,
    /// `flavorGroupPipelines`: pipeline by group, `*` for the rest.
    pub flavor_group_pipelines: BTreeMap<String, String>,
    /// `keystoneSecretRef`: credentials for looking up domain names.
    pub keystone: Option<SecretRef>,
    /// `ssoSecretRef`: client certificate for that.
    pub sso: Option<SecretRef>,
    /// `enableOversubscriptionCheck`: whether over-booked hosts are looked for.
    pub enable_oversubscription_check: bool,
    /// `enableOversubscriptionReservationEviction`: whether slots leave such hosts.
    pub enable_oversubscription_eviction: bool,
    /// `oversubscriptionEvictOccupied`: whether slots with VMs leave such hosts, too. A key of ours (document 21 section
    /// 15 no. 12).
    pub oversubscription_evict_occupied: bool,
    /// `oversubscriptionGracePeriod`: wait before the first and between evictions.
    pub oversubscription_grace_period: Duration,
    /// `oversubscriptionMinCheckInterval`: least time between two checks of a host.
    pub oversubscription_min_check_interval: Duration,
}

impl ReservationController {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        use Zero::{Default, Invalid};
        let this = Self {
            requeue_interval_active: s.duration("requeueIntervalActive", minutes(5), Invalid, ACTIVE),
            requeue_interval_retry: s.duration("requeueIntervalRetry", minutes(1), Invalid, RETRY),
            requeue_interval_grace_period: s.duration("requeueIntervalGracePeriod", minutes(1), Invalid, GRACE),
            allocation_grace_period: s.duration("allocationGracePeriod", minutes(15), Invalid, ALLOCATION),
            scheduler: SchedulerUrl::read(s, "schedulerURL", "Scheduler that finds hosts for slots."),
            scheduler_token: s.token("schedulerToken", "none", TOKEN),
            pipeline_default: s.optional("pipelineDefault", "inferred from the flavor", PIPELINE_DEFAULT),
            flavor_group_pipelines: s.texts("flavorGroupPipelines", PIPELINES),
            keystone: SecretRef::read(s, "keystoneSecretRef", KEYSTONE),
            sso: SecretRef::read(s, "ssoSecretRef", "Secret with a client certificate for that."),
            enable_oversubscription_check: s.flag("enableOversubscriptionCheck", false, CHECK),
            enable_oversubscription_eviction: s.flag("enableOversubscriptionReservationEviction", false, EVICTION),
            oversubscription_evict_occupied: s.flag("oversubscriptionEvictOccupied", false, EVICT_OCCUPIED),
            oversubscription_grace_period: s.duration(
                "oversubscriptionGracePeriod",
                minutes(2),
                Default,
                EVICTION_GRACE,
            ),
            oversubscription_min_check_interval: s.duration(
                "oversubscriptionMinCheckInterval",
                Duration::from_secs(30),
                Default,
                "Least time between two checks of one host. Shorter than the grace period.",
            ),
        };
        this.check(s);
        this
    }

    /// The pipeline for a group: its own entry, then `*`, then the default.
    pub fn pipeline(&self, group: &str) -> Option<&str> {
        let entry = self.flavor_group_pipelines.get(group).or_else(|| self.flavor_group_pipelines.get("*"));
        entry.or(self.pipeline_default.as_ref()).map(String::as_str)
    }

    fn check(&self, s: &mut Section<'_>) {
        for (group, _) in self.flavor_group_pipelines.iter().filter(|(_, pipeline)| pipeline.is_empty()) {
            s.error(
                &format!("flavorGroupPipelines.{group}"),
                "is empty; write the name of a pipeline or remove the entry".to_owned(),
            );
        }
        if s.is_sound() && self.oversubscription_min_check_interval >= self.oversubscription_grace_period {
            let text = format!(
                "{} is not shorter than oversubscriptionGracePeriod ({}); check more often or wait longer",
                duration::format(self.oversubscription_min_check_interval),
                duration::format(self.oversubscription_grace_period)
            );
            s.error("oversubscriptionMinCheckInterval", text);
        }
    }
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
