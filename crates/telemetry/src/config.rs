//! The configuration of a process: read once, checked as a whole, passed on in parts.
//!
//! There is one file per object. Each key is declared in one call, from which its value, its check and its
//! documentation come.

mod api_servers;
mod auth;
mod capacity;
mod checks;
mod committed_resource_api;
mod committed_resource_controller;
mod common;
mod controllers;
pub mod duration;
mod failover;
mod feature_gates;
mod finding;
mod flavor_group_resources;
mod history;
mod http;
mod keystone;
mod mask;
mod placement;
mod quota;
mod reservation_controller;
mod safety;
mod scheduler;
mod section;
mod settings;
mod source;
mod syncer;
mod tls;
mod token;
mod unique;
mod unused;
mod usage_reconciler;
mod value;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use mask::mask_value;

pub use api_servers::{ApiServers, Kind, Remote, ZONE_LABEL};
pub use auth::{Auth, AuthMode};
pub use capacity::Capacity;
pub use checks::Checks;
pub use committed_resource_api::CommittedResourceApi;
pub use committed_resource_controller::CommittedResourceController;
pub use common::{Common, SchedulerUrl, SecretRef};
pub use controllers::{Controller, Task};
pub use feature_gates::{FeatureGates, Gate, GateDeclaration, Stage};
pub use finding::{Finding, Findings, KeyDoc, Severity};
pub use flavor_group_resources::{FlavorGroupResources, FlavorGroups, Offer};
pub use history::History;
pub use http::Http;
pub use keystone::{KeystoneKeys, Password};
pub use mask::mask_urls;
pub use placement::Placement;
pub use quota::Quota;
pub use reservation_controller::ReservationController;
pub use safety::{DisruptionLimit, Pause};
pub use scheduler::{Pipelines, Scheduler, TieBreak};
pub use source::{DEFAULT_CONFIG, DEFAULT_SECRETS, Files, merge};
pub use syncer::Syncer;
pub use tls::{Tls, TlsVersion};
pub use token::{Token, Tokens};
pub use unused::{Cause, UNUSED};
pub use usage_reconciler::UsageReconciler;

use crate::error::TelemetryError;
use section::{ReadReport, Section};

/// Everything that can be configured. [`Default`] is an operator about which nothing was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Keys that several components share.
    pub common: Common,
    /// `enabledControllers`: what runs.
    pub enabled_controllers: BTreeSet<Controller>,
    /// `enabledTasks`: what runs from time to time.
    pub enabled_tasks: BTreeSet<Task>,
    /// `apiservers`: which cluster serves which kind.
    pub api_servers: ApiServers,
    /// `featureGates`.
    pub feature_gates: FeatureGates,
    /// `committedResourceReservationController`.
    pub reservation_controller: ReservationController,
    /// `committedResourceController`.
    pub committed_resource_controller: CommittedResourceController,
    /// `committedResourceUsageReconciler`.
    pub usage_reconciler: UsageReconciler,
    /// `committedResourceAPI`.
    pub committed_resource_api: CommittedResourceApi,
    /// The syncer.
    pub syncer: Syncer,
    /// The capacity controller.
    pub capacity: Capacity,
    /// The quota controller.
    pub quota: Quota,
    /// The built-in scheduler.
    pub scheduler: Scheduler,
    /// `disruptionLimit`.
    pub disruption_limit: DisruptionLimit,
    /// `pause`.
    pub pause: Pause,
    /// Credentials of Keystone that are not in a Secret.
    pub keystone_keys: KeystoneKeys,
    /// `auth`.
    pub auth: Auth,
    /// `history`: History objects.
    pub history: History,
    /// `http`: the listeners of the APIs.
    pub http: Http,
    /// `tls`: the certificate of the listeners.
    pub tls: Tls,
    /// `placement`: the server of the Placement API.
    pub placement: Placement,
    /// The checks of `berth e2e-commitments`.
    pub checks: Checks,
}

/// A configuration that can be used, and what should be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The values.
    pub configuration: Configuration,
    /// Warnings and remarks; log them with [`Findings::log`] once logs are set up.
    pub findings: Findings,
    /// Every key with its value in effect: a configuration that says the same. `null` is a key without a value; secrets
    /// are masked.
    pub in_effect: Map<String, Value>,
}

/// Reads both files and checks everything in them. With `strict` what has no effect is an error.
pub fn load(files: &Files, strict: bool) -> Result<Loaded, TelemetryError> {
    load_with(files, Map::new(), strict)
}

/// The same with a JSON object that is merged over both files.
pub fn load_with(files: &Files, over: Map<String, Value>, strict: bool) -> Result<Loaded, TelemetryError> {
    let merged = files.read().map_err(|findings| TelemetryError::Configuration { findings: Findings(findings) });
    let mut merged = merged?;
    merge(&mut merged, over);
    decode(&merged, strict)
}

/// The same for an object that is already read and merged.
pub fn decode(merged: &Map<String, Value>, strict: bool) -> Result<Loaded, TelemetryError> {
    let mut report = ReadReport::default();
    let configuration = Configuration::read(Section::root(Some(merged), &mut report));
    let mut findings = report.findings;
    unused::report(merged, &defaults(), &mut findings);
    findings.settle(strict);
    if findings.has_errors() {
        return Err(TelemetryError::Configuration { findings });
    }
    let mut in_effect = report.in_effect;
    in_effect.values_mut().for_each(mask_value);
    Ok(Loaded { configuration, findings, in_effect })
}

/// What is in effect when nothing is configured.
fn defaults() -> Map<String, Value> {
    let mut report = ReadReport::default();
    Configuration::read(Section::root(None, &mut report));
    report.in_effect
}

/// Every key there is, in the order in which they are read.
pub fn keys() -> Vec<KeyDoc> {
    let mut report = ReadReport::default();
    Configuration::read(Section::root(None, &mut report));
    report.keys
}

impl Default for Configuration {
    fn default() -> Self {
        Self::read(Section::root(None, &mut ReadReport::default()))
    }
}

impl Configuration {
    fn read(mut root: Section<'_>) -> Self {
        let s = &mut root;
        let enabled_controllers = controllers::controllers(s);
        let enabled_tasks = controllers::tasks(s);
        let common = Common::read(s);
        let keystone_keys = KeystoneKeys::read(s, common.keystone.is_some());
        let mut committed_resource_api = s.section("committedResourceAPI", CommittedResourceApi::read);
        committed_resource_api.flavor_groups.add_old_place(s);
        let all_zones = committed_resource_api.quota_served_availability_zones.is_empty();
        let this = Self {
            enabled_controllers,
            enabled_tasks,
            api_servers: s.section("apiservers", |s| ApiServers::read(s, all_zones)),
            feature_gates: FeatureGates::read(s),
            reservation_controller: s.section("committedResourceReservationController", ReservationController::read),
            committed_resource_controller: s.section("committedResourceController", CommittedResourceController::read),
            usage_reconciler: s.section("committedResourceUsageReconciler", UsageReconciler::read),
            committed_resource_api,
            syncer: Syncer::read(s),
            capacity: Capacity::read(s),
            quota: Quota::read(s),
            scheduler: Scheduler::read(s),
            disruption_limit: s.renamed_section("brake", "disruptionLimit", DisruptionLimit::read),
            pause: s.renamed_section("freeze", "pause", Pause::read),
            auth: s.section("auth", |s| Auth::read(s, keystone_keys.has_credentials)),
            keystone_keys,
            history: s.section("history", History::read),
            http: s.section("http", Http::read),
            tls: s.section("tls", Tls::read),
            placement: s.section("placement", Placement::read),
            checks: Checks::read(s),
            common,
        };
        failover::check(s);
        root.finish_root();
        this
    }
}
