//! `committedResourceReservationController`: placing slots on hosts, watching allocations, oversubscription.

use std::collections::BTreeMap;
use std::time::Duration;

use super::common::{SchedulerUrl, SecretRef};
use super::section::{Section, Zero, seconds};
use super::settings::settings;
use super::token::Token;

settings! {
    /// Settings of the reservation and oversubscription controllers.
    pub struct ReservationController = read(s) check {
        /// When a ready slot is reconciled again.
        requeue_interval_active: Duration = duration("requeueIntervalActive", seconds(300), Zero::Invalid),
        /// First delay before the slots of a commitment that found no host are tried again; it doubles, to at most 30 minutes.
        requeue_interval_retry: Duration = duration("requeueIntervalRetry", seconds(60), Zero::Invalid),
        /// When an allocation in its grace period is reconciled again, and how long a host must be missing before it
        /// counts as gone.
        requeue_interval_grace_period: Duration = duration("requeueIntervalGracePeriod", seconds(60), Zero::Invalid),
        /// How long a VM may take to appear on its host before its allocation leaves the slot.
        allocation_grace_period: Duration = duration("allocationGracePeriod", seconds(900), Zero::Invalid),
        /// Scheduler that finds hosts for slots.
        scheduler: SchedulerUrl = scheduler_url("schedulerURL"),
        /// Bearer token that is shown to an external scheduler, also to that of the capacity probes. Belongs into the secrets file.
        scheduler_token: Option<Token> = token("schedulerToken", "none"),
        /// Pipeline of groups that `flavorGroupPipelines` does not cover.
        pipeline_default: Option<String> = optional("pipelineDefault", "inferred from the flavor"),
        /// Pipeline by flavor group; `*` stands for all groups that are not named.
        flavor_group_pipelines: BTreeMap<String, String> = texts("flavorGroupPipelines"),
        /// Secret with the Keystone credentials for resolving domain names; without it the scheduler gets none.
        keystone: Option<SecretRef> = secret("keystoneSecretRef"),
        /// Secret with a client certificate for that.
        sso: Option<SecretRef> = secret("ssoSecretRef"),
        /// Find over-booked hosts, and count them.
        enable_oversubscription_check: bool = flag("enableOversubscriptionCheck", false),
        /// Let slots leave such hosts; otherwise there are only metrics.
        enable_oversubscription_eviction: bool = flag("enableOversubscriptionReservationEviction", false),
        /// Let slots with VMs leave such hosts too, when the empty ones are not enough: the VMs run on, without the cover of
        /// their slot.
        oversubscription_evict_occupied: bool = flag("oversubscriptionEvictOccupied", false),
        /// Wait between detection and eviction, and between evictions.
        oversubscription_grace_period: Duration = duration("oversubscriptionGracePeriod", seconds(120), Zero::Default),
        /// Least time between two checks of one host. Shorter than the grace period.
        oversubscription_min_check_interval: Duration = duration("oversubscriptionMinCheckInterval", seconds(30), Zero::Default),
    }
}

impl ReservationController {
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
        s.check_shorter(
            ("oversubscriptionMinCheckInterval", self.oversubscription_min_check_interval),
            ("oversubscriptionGracePeriod", self.oversubscription_grace_period),
            "check more often or wait longer",
        );
    }
}
