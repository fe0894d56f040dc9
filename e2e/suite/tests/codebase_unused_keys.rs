//! The table of configuration keys without effect agrees with the code: what production code reads is not in it, and
//! everything else is.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::{BTreeMap, BTreeSet};

use berth_telemetry::config::{self, Controller, Task, UNUSED};
use regex::Regex;

/// The objects of the configuration: their type, the field of `Configuration`, and the path of the object.
const OBJECTS: [(&str, &str, &str); 17] = [
    ("Auth", "auth", "auth."),
    ("Capacity", "capacity", ""),
    ("Checks", "checks", ""),
    ("CommittedResourceApi", "committed_resource_api", "committedResourceAPI."),
    ("CommittedResourceController", "committed_resource_controller", "committedResourceController."),
    ("Common", "common", ""),
    ("DisruptionLimit", "disruption_limit", "disruptionLimit."),
    ("History", "history", "history."),
    ("Http", "http", "http."),
    ("KeystoneKeys", "keystone_keys", ""),
    ("Pause", "pause", "pause."),
    ("Placement", "placement", "placement."),
    ("Quota", "quota", ""),
    ("ReservationController", "reservation_controller", "committedResourceReservationController."),
    ("Scheduler", "scheduler", "scheduler."),
    ("Syncer", "syncer", ""),
    ("UsageReconciler", "usage_reconciler", "committedResourceUsageReconciler."),
];

/// Keys that are not declared as a field of their own, or whose object is passed on as a whole, and the code that reads
/// them.
const OTHERS: [(&str, &str); 25] = [
    ("auth.mode", "auth.mode"),
    ("committedResourceAPI.flavorGroupResourceConfig", ".flavor_groups"),
    ("flavorGroupResourceConfig", ".flavor_groups"),
    ("azs", "checks.zones"),
    ("projectID", "checks.project_id"),
    ("roundTripCheck", "checks.zones"),
    ("userAgent.component", "common.user_agent"),
    ("userAgent.version", "common.user_agent"),
    ("monitoring.labels", "common.metric_labels"),
    ("apiservers", "configuration.api_servers"),
    ("crStateFilter", "keys.commitment_states"),
    ("featureGates.committedResourceTracking", "Gate::CommittedResourceTracking"),
    ("committedResourceTracking", "Gate::CommittedResourceTracking"),
    ("novaLimitHostsToRequest", "keys.nova_limit_hosts_to_request"),
    ("evacuationShuffleK", "keys.evacuation_shuffle_k"),
    ("committedResourceSyncInterval", "keys.period"),
    ("limesServiceTypes", "keys.services"),
    ("disruptionLimit.slots", "configuration.disruption_limit"),
    ("http.trustedPeers", "http.trusted_peers"),
    ("tls.certFile", "keys.cert_file"),
    ("tls.keyFile", "keys.key_file"),
    ("tls.caFile", "keys.ca_file"),
    ("tls.minVersion", "keys.min_version"),
    ("pause.zones", "configuration.pause"),
    ("pause.flavorGroups", "configuration.pause"),
];

/// The production sources outside of the configuration itself.
fn sources() -> Vec<String> {
    let paths = codebase::rust_sources("crates").into_iter().filter(|path| {
        path.contains("/src/")
            && !path.starts_with("crates/telemetry/")
            && !path.contains("test")
            && !path.contains("build.rs")
    });
    paths.map(|path| codebase::text(&path).split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()).collect()
}

/// The keys of declared fields: the field, its object's type and field.
fn declared() -> BTreeMap<String, (String, &'static str, &'static str)> {
    let object = Regex::new(r"pub struct (\w+) = ").unwrap();
    let field = Regex::new(r#"^ +(\w+): [^=]+ = \w+\("(\w+)""#).unwrap();
    let mut found = BTreeMap::new();
    for path in codebase::rust_sources("crates/telemetry/src/config") {
        let mut owner = None;
        for line in codebase::text(&path).lines() {
            if let Some(named) = object.captures(line) {
                owner = OBJECTS.iter().find(|(kind, ..)| *kind == &named[1]);
            }
            if let (Some((kind, place, prefix)), Some(field)) = (owner, field.captures(line)) {
                found.insert(format!("{prefix}{}", &field[2]), (field[1].to_owned(), *kind, *place));
            }
        }
    }
    found
}

/// Whether a source reads this field of this object, directly or by another name of the object.
fn reads(source: &str, field: &str, (kind, place): (&str, &str)) -> bool {
    if !source.contains(&format!(".{field}")) {
        return false;
    }
    let alias = Regex::new(&format!(r"let (\w+) = &?[\w.]*\b{place};|(\w+): &{kind}\b")).unwrap();
    let names = alias.captures_iter(source).filter_map(|found| found.get(1).or(found.get(2)));
    let names: BTreeSet<&str> = names.map(|name| name.as_str()).chain([place]).collect();
    names.iter().any(|name| Regex::new(&format!(r"\b{name}\s*\.{field}\b")).unwrap().is_match(source))
}

/// Whether a path is this key or a key of this object.
fn covers(path: &str, key: &str) -> bool {
    key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn is_listed(key: &str) -> bool {
    UNUSED.iter().any(|(unused, _)| covers(unused, key))
}

#[test]
fn keys_that_nothing_reads_are_in_the_table_and_no_others() {
    let (sources, declared) = (sources(), declared());
    // `None`: it is not known how the key would be read.
    let is_read = |key: &str| {
        if let Some((_, code)) = OTHERS.iter().find(|(path, _)| covers(path, key)) {
            return Some(sources.iter().any(|source| source.contains(code)));
        }
        let (_, (field, kind, place)) = declared.iter().find(|(path, _)| covers(path, key))?;
        Some(sources.iter().any(|source| reads(source, field, (*kind, *place))))
    };
    let mut wrong = Vec::new();
    let keys = config::keys().into_iter().map(|key| key.path);
    for key in keys.filter(|key| !["enabledControllers", "enabledTasks"].contains(&key.as_str())) {
        match (is_read(&key), is_listed(&key)) {
            (Some(true), true) => wrong.push(format!("{key} is read: remove it from UNUSED")),
            (Some(false), false) => wrong.push(format!("{key} is not read: add it to UNUSED")),
            (None, false) => wrong.push(format!("{key}: say in OBJECTS or OTHERS how it is read")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn controllers_and_tasks_that_nothing_starts_are_in_the_table_and_no_others() {
    let sources = sources();
    let controllers =
        Controller::ALL.map(|one| (format!("enabledControllers[{}]", one.name()), format!("Controller::{one:?}")));
    let tasks = Task::ALL.map(|one| (format!("enabledTasks[{}]", one.name()), format!("Task::{one:?}")));
    for (key, code) in controllers.into_iter().chain(tasks) {
        let code = Regex::new(&format!(r"\b{code}\b")).unwrap();
        let is_started = sources.iter().any(|source| code.is_match(source));
        assert_ne!(
            is_started,
            is_listed(&key),
            "{key}: the code {}",
            if is_started { "starts it" } else { "does not start it" }
        );
    }
}

#[test]
fn every_row_of_the_table_is_a_key() {
    let keys = config::keys();
    for (unused, _) in UNUSED {
        let path = unused.split('[').next().unwrap();
        let is_key = keys.iter().any(|key| key.path == path || key.path.starts_with(&format!("{path}.")));
        assert!(is_key, "{unused} is no key: correct or remove it");
    }
}
