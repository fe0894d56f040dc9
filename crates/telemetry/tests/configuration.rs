//! Reading a whole configuration: what is in effect, and the messages about mistakes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::time::Duration;

use berth_telemetry::TelemetryError;
use berth_telemetry::config::{
    AuthMode, Configuration, Controller, Files, Finding, Gate, Kind, Loaded, Password, Pipelines, SchedulerUrl,
    Severity, Task, TieBreak, decode, keys, load,
};
use serde_json::{Value, json};

fn read(values: &Value, strict: bool) -> Result<Loaded, TelemetryError> {
    decode(values.as_object().unwrap(), strict)
}

fn findings(found: Result<Loaded, TelemetryError>) -> Vec<Finding> {
    match found {
        Ok(loaded) => loaded.findings.0,
        Err(TelemetryError::Configuration { findings }) => findings.0,
        Err(other) => panic!("{other}"),
    }
}

/// Whether a finding is about a key that is right, and has no effect in this version.
fn is_unused(finding: &Finding) -> bool {
    finding.text.contains("has no effect: this version has no ") || finding.text.ends_with("; no effect here")
}

/// The findings, without those about keys that have no effect in this version.
fn lines(found: Result<Loaded, TelemetryError>) -> Vec<String> {
    findings(found).iter().filter(|finding| !is_unused(finding)).map(ToString::to_string).collect()
}

fn refused(values: &Value) -> Vec<String> {
    let result = read(values, false);
    assert!(result.is_err(), "accepted: {values}");
    lines(result)
}

fn warned(values: &Value) -> Vec<String> {
    let result = read(values, false);
    assert!(result.is_ok(), "{:?}", result.unwrap_err());
    lines(result)
}

fn accepted(values: &Value) -> Configuration {
    let loaded = read(values, false).unwrap();
    let configuration = loaded.configuration.clone();
    assert_eq!(lines(Ok(loaded)), [""; 0], "{values}");
    configuration
}

#[test]
fn nothing_configured_is_a_working_operator() {
    let configuration = accepted(&json!({}));
    assert_eq!(configuration, Configuration::default());
    assert_eq!(configuration.enabled_controllers, Controller::ALL.into());
    assert_eq!(configuration.enabled_tasks, [].into());
    assert_eq!(configuration.common.leader_election_id, "berth");
    assert_eq!(
        accepted(&json!({ "leaderElectionID": "" })).common.leader_election_id,
        "",
        "an election refuses the value"
    );
    assert_eq!(configuration.common.scheduler, SchedulerUrl::BuiltIn);
    assert_eq!(configuration.reservation_controller.scheduler, SchedulerUrl::BuiltIn);
    assert!(configuration.api_servers.home_serves(&Kind::parse("v1/Secret").unwrap()));
    assert_eq!(configuration.auth.mode, AuthMode::Off);
    assert!(configuration.feature_gates.is_on(Gate::CommittedResourceTracking));
    assert_eq!(configuration.scheduler.tie_break, TieBreak::Hash);
    assert!(configuration.scheduler.nova_limit_hosts_to_request, "Nova fails on other hosts");
    assert_eq!(configuration.scheduler.pipelines, Pipelines::BuiltInAndCrd);
}

#[test]
fn absent_intervals_have_their_defaults() {
    let configuration = Configuration::default();
    let (slots, commitments) = (&configuration.reservation_controller, &configuration.committed_resource_controller);
    assert_eq!(slots.requeue_interval_active, Duration::from_secs(300));
    assert_eq!(slots.requeue_interval_retry, Duration::from_secs(60));
    assert_eq!(slots.requeue_interval_grace_period, Duration::from_secs(60));
    assert_eq!(slots.allocation_grace_period, Duration::from_secs(900));
    assert_eq!(commitments.requeue_interval_retry, Duration::from_secs(30));
    assert_eq!(commitments.max_requeue_interval, Duration::from_secs(1800));
    assert_eq!(commitments.slot_creation_delay, Duration::ZERO);
    assert_eq!(commitments.max_slots_per_commitment, None);
    let api = &configuration.committed_resource_api;
    assert!(api.enable_change_commitments && api.enable_report_usage && api.enable_report_capacity && api.enable_quota);
    assert_eq!((api.watch_timeout, api.watch_poll_interval), (Duration::from_secs(10), Duration::from_millis(500)));
    assert_eq!(configuration.syncer.interval, Duration::from_secs(3600));
}

#[test]
fn the_complete_sample_loads() {
    let sample: Value = serde_json::from_str(include_str!("data/manager.json")).unwrap();
    let loaded = read(&sample, false).unwrap();
    assert_eq!(
        lines(Ok(loaded.clone())),
        [
            r#"enabledControllers[3]: "failover-reservations-controller" is not provided by this binary"#,
            r#"auth.mode: is not set: the credentials of Keystone turn authentication on; set it to "off" to turn it off"#,
        ]
    );
    assert_eq!(loaded.findings.0[0].severity, Severity::Info);
    let configuration = loaded.configuration;
    assert_eq!(configuration.enabled_controllers.len(), 4);
    assert_eq!(configuration.enabled_tasks, [Task::CommitmentsSync].into());
    assert_eq!(configuration.common.user_agent().as_deref(), Some("cortex-reservations/1.0.0"));
    assert_eq!(configuration.auth.mode, AuthMode::Keystone);
    assert_eq!(configuration.committed_resource_controller.max_slots_per_commitment, Some(64));
    assert_eq!(configuration.reservation_controller.pipeline("mem_v4"), Some("kvm-hana-bin-packing"));
    assert_eq!(configuration.reservation_controller.pipeline("gp"), Some("kvm-general-purpose-load-balancing"));
    let (zone_a, change) = (&configuration.api_servers.remotes[0], "cortex.cloud/v1alpha1/CommitmentChange");
    assert_eq!((zone_a.zone(), zone_a.kinds.len()), (Some("eu-test-1a"), 5));
    assert!(
        configuration.api_servers.home_serves(&Kind::parse(change).unwrap()),
        "it was unknown when the sample was written"
    );
    assert!(!configuration.api_servers.home_serves(&Kind::parse("kvm.cloud.sap/v1/Hypervisor").unwrap()));
}

#[test]
fn all_problems_are_reported_at_once_with_path_finding_and_expectation() {
    let reported = refused(&json!({
        "committedResourceController": {"requeueIntervalRetry": "5", "maxSlotsPerCommitment": 1.5},
        "committedResourceReservationController": {"requeueIntervalActive": "0s", "schedulerURL": "localhost:8080"},
        "committedResourceAPI": {"enableQuota": "true", "watchTimeout": 10},
        "enabledControllers": "capacity-controller",
        "monitoring": {"labels": {"a": 1}},
        "scheduler": {"tieBreak": "random"},
        "disruptionLimit": [],
        "leaderElectionID": 7,
    }));
    assert_eq!(
        reported,
        [
            r#"enabledControllers: "capacity-controller" is not a list; write ["...", "..."]"#,
            "leaderElectionID: 7 is not text; write it in quotes",
            r#"monitoring.labels: an object holds 1 under "a", which is not text; write it in quotes"#,
            r#"committedResourceAPI.enableQuota: "true" is not true or false; write it without quotes"#,
            r#"committedResourceAPI.watchTimeout: 10 is not a duration; write a number with a unit, for example "30s""#,
            r#"committedResourceReservationController.requeueIntervalActive: "0s" is not possible here; write a longer duration, or leave the key out for 5m0s"#,
            r#"committedResourceReservationController.schedulerURL: "localhost:8080" is not a URL; write for example "https://host.example.org:8080/path""#,
            r#"committedResourceController.requeueIntervalRetry: "5" is not a duration; write a number with a unit, for example "30s""#,
            "committedResourceController.maxSlotsPerCommitment: 1.5 is not a whole number; write it without quotes and without a fraction",
            r#"scheduler.tieBreak: "random" is not possible here; write "hash" or "name""#,
            "disruptionLimit: a list is not an object; write {...}",
        ]
    );
}

#[test]
fn null_is_the_same_as_absent() {
    let values = json!({"enabledControllers": null, "disruptionLimit": null, "ssoSecretRef": null, "scheduler": {"tieBreak": null},
        "committedResourceAPI": {"flavorGroupResourceConfig": {"*": null}}});
    let mut configuration = accepted(&values);
    configuration.committed_resource_api.flavor_groups = Configuration::default().committed_resource_api.flavor_groups;
    assert_eq!(configuration, Configuration::default());
}

#[test]
fn a_zero_means_off_default_or_a_mistake_depending_on_the_key() {
    let values = json!({"committedResourceController": {"slotCreationDelay": "0ms", "maxSlotsPerCommitment": 0},
        "capacityReconcileInterval": "0", "committedResourceUsageReconciler": {"cooldownInterval": "0s"}});
    assert_eq!(accepted(&values), Configuration::default());
    for path in [
        "committedResourceSyncInterval",
        "auth.tokenCacheTTL",
        "committedResourceReservationController.allocationGracePeriod",
    ] {
        let mut values = json!("0s");
        path.rsplit('.').for_each(|key| values = json!({key: values}));
        assert!(refused(&values)[0].starts_with(&format!("{path}: \"0s\" is not possible here")), "{path}");
    }
    assert!(refused(&json!({"capacityReconcileInterval": "-5m"}))[0].contains("is negative"));
}

#[test]
fn what_has_no_effect_is_a_warning_and_with_strict_an_error() {
    let values = json!({"leaderelectionid": "x", "colour": "blue", "disruptionLimit": {"slot": 1},
        "enabledControllers": ["quota-control", "kpis-controller", "manila-pipeline-controllers"],
        "enabledTasks": ["nova-history-cleanup-task", "commitments-sync"]});
    let reported = [
        r#"enabledControllers[0]: "quota-control" is not known; correct or remove it"#,
        r#"enabledControllers[1]: "kpis-controller" is not provided by this binary"#,
        r#"enabledControllers[2]: "manila-pipeline-controllers" is not provided by this binary"#,
        r#"enabledTasks[0]: "nova-history-cleanup-task" is not provided by this binary"#,
        r#"enabledTasks[1]: "commitments-sync" is not known; correct or remove it"#,
        "disruptionLimit.slot: unknown key, without effect; correct or remove it",
        "colour: unknown key, without effect; correct or remove it",
        "leaderelectionid: this spelling is not read; write leaderElectionID",
    ];
    assert_eq!(warned(&values), reported);
    assert_eq!(read(&values, false).unwrap().configuration.common.leader_election_id, "berth");
    let Err(TelemetryError::Configuration { findings }) = read(&values, true) else { panic!("accepted") };
    assert_eq!(findings.0.iter().filter(|one| one.severity == Severity::Error).count(), 5);
    assert_eq!(findings.0.iter().filter(|one| one.severity == Severity::Info).count(), 3);
}

#[test]
fn what_this_version_does_not_use_is_reported_with_the_reason() {
    let values = json!({
        "enabledControllers": ["nova-pipeline-controllers", "capacity-controller"],
        "enabledTasks": ["commitments-sync-task"],
        "committedResourceController": {"requeueIntervalRetry": "1m"},
        "committedResourceAPI": {
            "quotaServedAvailabilityZones": ["a"], "enableReportUsage": false, "watchPollInterval": "1s"
        },
        "committedResourceUsageReconciler": {"cooldownInterval": "5m"},
        "datasourceName": "servers",
        "schedulerURL": "",
        "reconcileInterval": "5m",
    });
    let found = findings(read(&values, false));
    let expected = [
        ("committedResourceAPI.watchPollInterval", Severity::Warning, "has no effect: this version has no polling"),
        ("reconcileInterval", Severity::Info, "is read by other programs; no effect here"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, (path, severity, text)) in found.iter().zip(expected) {
        assert_eq!((found.path.as_str(), found.severity), (path, severity));
        assert!(found.text.starts_with(text), "{found}");
    }
    assert!(read(&values, true).is_err(), "a strict configuration has nothing without effect");
}

#[test]
fn whatever_people_call_things_a_finding_is_a_line() {
    let long = "x\n".repeat(10_000);
    let wrong = json!({
        long.as_str(): 1,
        "monitoring": { "labels": { long.as_str(): 1 } },
        "committedResourceAPI": { "flavorGroupResourceConfig": { long.as_str(): { "ram": 1 } } },
        "apiservers": { "home": { "gvks": [long] } },
    });
    let lines = lines(read(&wrong, false));
    assert_eq!(lines.len(), 4, "{lines:#?}");
    for line in lines {
        assert!(line.len() < 1000 && !line.contains('\n'), "{} bytes: {line}", line.len());
    }
    let unnamed = warned(&json!({ "": 1 }));
    assert_eq!(unnamed, [r#""": unknown key, without effect; correct or remove it"#]);
}

#[test]
fn the_error_shows_problems_and_warnings_one_per_line() {
    let values =
        json!({"disruptionLimit": {"slots": -1}, "colour": "blue", "enabledTasks": ["nova-history-cleanup-task"]});
    assert_eq!(
        read(&values, false).unwrap_err().to_string(),
        "the configuration cannot be used:\n  disruptionLimit.slots: -1 is out of range; write a number from 0 to 4294967295\n  \
         colour: unknown key, without effect; correct or remove it (a warning only)"
    );
}

#[test]
fn an_explicit_empty_list_starts_nothing() {
    assert_eq!(accepted(&json!({"enabledControllers": []})).enabled_controllers, [].into());
}

#[test]
fn capacity_intervals() {
    accepted(&json!({"capacityReconcileInterval": "5m", "capacityMinReconcileInterval": "30s"}));
    let wrong = "capacityReconcileInterval: raise it: capacityReconcileInterval";
    let reported = refused(&json!({"capacityReconcileInterval": "30s", "capacityMinReconcileInterval": "30s"}));
    assert_eq!(reported, [format!("{wrong} (30s) must be greater than capacityMinReconcileInterval (30s)")]);
    let reported = refused(&json!({"capacityReconcileInterval": "20s"}));
    assert_eq!(reported, [format!("{wrong} (20s) must be greater than capacityMinReconcileInterval (30s)")]);
}

#[test]
fn values_that_contradict_each_other() {
    let retry = json!({"committedResourceController": {"requeueIntervalRetry": "2h"}});
    assert_eq!(
        refused(&retry),
        [
            "committedResourceController.requeueIntervalRetry: 2h0m0s is longer than maxRequeueInterval (30m0s); shorten the \
          one or raise the other"
        ]
    );
    let poll = json!({"committedResourceAPI": {"watchPollInterval": "10s"}});
    assert!(
        refused(&poll)[0]
            .starts_with("committedResourceAPI.watchPollInterval: 10s is not shorter than watchTimeout (10s)")
    );
    let check = json!({"committedResourceReservationController": {"oversubscriptionGracePeriod": "30s"}});
    assert!(
        refused(&check)[0]
            .contains("oversubscriptionMinCheckInterval: 30s is not shorter than oversubscriptionGracePeriod (30s)")
    );
    let keystone = json!({"auth": {"mode": "keystone"}});
    assert!(refused(&keystone)[0].starts_with(r#"auth.mode: is "keystone", but keystoneSecretRef is missing"#));
    let keys = json!({"keystoneURL": "https://id.example", "osUsername": "u", "osPassword": "p"});
    let mut both = keys.clone();
    both["keystoneSecretRef"] = json!({"name": "keystone", "namespace": "berth"});
    assert!(refused(&both)[0].starts_with("keystoneURL: is set besides keystoneSecretRef; remove one"));
    let number = json!({"osPassword": 5});
    assert_eq!(refused(&number)[0], "osPassword: is not a text; write one in quotes");
    let pipeline = json!({"committedResourceReservationController": {"flavorGroupPipelines": {"*": ""}}});
    assert!(
        refused(&pipeline)[0].starts_with("committedResourceReservationController.flavorGroupPipelines.*: is empty")
    );
    let state = json!({"crStateFilter": ["confirmed", "Guaranteed"]});
    assert!(refused(&state)[0].starts_with(r#"crStateFilter[1]: "Guaranteed" is not a state of a commitment"#));
    let secret = json!({"keystoneSecretRef": {"name": "keystone"}});
    assert!(refused(&secret)[0].starts_with("keystoneSecretRef.namespace: is missing"));
    let instances = json!({"committedResourceAPI": {"flavorGroupResourceConfig": {"a": {"instances": {"handlesCommitments": true}}}}});
    assert!(refused(&instances)[0].contains("flavorGroupResourceConfig.a.instances.handlesCommitments: is true"));
}

#[test]
fn a_value_that_is_wrong_is_not_compared_with_others() {
    let values = json!({"committedResourceController": {"requeueIntervalRetry": "2h", "maxRequeueInterval": "4"}});
    assert_eq!(refused(&values).len(), 1);
    let values = json!({"capacityReconcileInterval": "20s", "capacityMinReconcileInterval": 5});
    assert_eq!(refused(&values).len(), 1);
}

#[test]
fn values_are_compared_although_another_one_of_their_object_is_wrong() {
    let reported = refused(&json!({
        "committedResourceController": {"requeueIntervalRetry": "2h", "maxSlotsPerCommitment": -1},
        "committedResourceAPI": {"watchPollInterval": "10s", "enableQuota": "yes"},
        "apiservers": {"remotes": [{"gvks": ["Reservation"]}, {"host": 7}]},
    }));
    let expected = [
        r#"committedResourceAPI.enableQuota: "yes" is not true or false"#,
        "committedResourceAPI.watchPollInterval: 10s is not shorter than watchTimeout (10s)",
        r#"apiservers.remotes[0].gvks[0]: "Reservation" is not a kind"#,
        "apiservers.remotes[0].host: is missing",
        "apiservers.remotes[1].host: 7 is not",
        "apiservers.remotes[1].gvks: is empty",
        "committedResourceController.maxSlotsPerCommitment: -1 is out of range",
        "committedResourceController.requeueIntervalRetry: 2h0m0s is longer than maxRequeueInterval (30m0s)",
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for (reported, expected) in reported.iter().zip(expected) {
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn a_group_takes_its_own_entry_or_that_of_the_star_as_a_whole() {
    let values = json!({"committedResourceAPI": {"flavorGroupResourceConfig":
        {"*": {"ram": {"hasCapacity": true}}, "mem_v4": {"ram": {"handlesCommitments": true, "ramUnitGiB": 480}}}}});
    let groups = accepted(&values).committed_resource_api.flavor_groups;
    let (mem, gp) = (groups.of("mem_v4"), groups.of("gp_v4"));
    assert_eq!((mem.ram.handles_commitments, mem.ram.has_capacity, mem.ram_unit_mib()), (true, false, 491_520));
    assert_eq!((gp.ram.handles_commitments, gp.ram.has_capacity, gp.ram_unit_mib()), (false, true, 1024));
    assert_eq!(groups.named().map(|(group, _)| group).collect::<Vec<_>>(), ["mem_v4"]);
    assert_eq!(Configuration::default().committed_resource_api.flavor_groups.of("any").ram_unit_gib(), 1);
}

#[test]
fn the_old_place_of_groups_fills_gaps_and_must_not_contradict() {
    let groups = |old: Value| {
        json!({"flavorGroupResourceConfig": old,
        "committedResourceAPI": {"flavorGroupResourceConfig": {"a": {"ram": {"ramUnitGiB": 2}}}}})
    };
    let values = groups(json!({"a": {"ram": {"hasQuota": true}}, "b": {"ram": {"ramUnitGiB": 4}}}));
    assert_eq!(
        warned(&values),
        [
            "flavorGroupResourceConfig: is the old place; move the entries to committedResourceAPI.flavorGroupResourceConfig"
        ]
    );
    let read = read(&values, false).unwrap().configuration.committed_resource_api.flavor_groups;
    assert_eq!((read.of("a").ram_unit_gib(), read.of("a").ram.has_quota, read.of("b").ram_unit_gib()), (2, false, 4));
    let reported = refused(&groups(json!({"a": {"ram": {"ramUnitGiB": 3}}})));
    assert!(reported[1].starts_with("flavorGroupResourceConfig.a.ram.ramUnitGiB: is 3, but 2 in"), "{reported:?}");
}

#[test]
fn the_gate_is_read_at_its_place_and_at_the_old_one() {
    let gate =
        |values: Value| read(&values, true).unwrap().configuration.feature_gates.is_on(Gate::CommittedResourceTracking);
    assert!(!gate(json!({"featureGates": {"committedResourceTracking": false}})));
    assert!(!gate(json!({"committedResourceTracking": false})));
    assert!(gate(json!({"committedResourceTracking": false, "featureGates": {"committedResourceTracking": true}})));
    let unknown = warned(&json!({"featureGates": {"noSuchGate": true}}));
    assert!(unknown.len() == 1 && unknown[0].starts_with("featureGates.noSuchGate: unknown key"), "{unknown:?}");
    assert!(read(&json!({"featureGates": {"noSuchGate": true}}), true).is_err(), "with --strict-config");
    let reported = warned(&json!({"committedResourceTracking": true}));
    assert_eq!(
        reported,
        ["committedResourceTracking: is the old place; move it to featureGates.committedResourceTracking"]
    );
}

#[test]
fn patterns_that_cannot_match_are_skipped_with_a_warning() {
    let reported = warned(&json!({"flavorFailoverRequirements": {"*": 1, "mem_*": 2, "[": 9}}));
    assert_eq!(
        reported,
        ["flavorFailoverRequirements.[: is not a pattern and is skipped; correct the brackets or the backslash"]
    );
    assert!(refused(&json!({"flavorFailoverRequirements": {"*": -1}}))[0].contains("-1 is negative"));
}

fn remotes(remotes: &Value) -> Value {
    json!({"apiservers": {"home": {"gvks": ["v1/Secret", "cortex.cloud/v1alpha1/ProjectQuota"]}, "remotes": remotes}})
}

#[test]
fn clusters_that_could_not_be_routed_to_are_refused() {
    let slots = "cortex.cloud/v1alpha1/ReservationList";
    let reported = refused(&remotes(&json!([
        {"host": "https://a.example.org", "gvks": [slots], "labels": {"az": "az-a"}},
        {"host": "https://b.example.org", "gvks": [slots], "labels": {"availabilityZone": "az-b"}, "caCert": "x"},
        {"host": "https://c.example.org", "gvks": [slots], "labels": {"availabilityZone": "az-b"}},
        {"gvks": ["Reservation"]},
        {"host": "https://d.example.org"},
    ])));
    let expected = [
        "apiservers.remotes[0].labels: has no availabilityZone, but objects of cortex.cloud/v1alpha1/Reservation are routed",
        "apiservers.remotes[0].labels.az: is not used for routing; only availabilityZone is",
        "apiservers.remotes[1].caCert: holds no certificate; write it in PEM",
        r#"apiservers.remotes[3].gvks[0]: "Reservation" is not a kind; write <group>/<version>/<Kind>"#,
        "apiservers.remotes[3].host: is missing",
        "apiservers.remotes[4].gvks: is empty; list the kinds that this cluster serves",
        r#"apiservers.remotes[2].gvks: cortex.cloud/v1alpha1/Reservation of zone "az-b" is served by remotes[1] already"#,
    ];
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    for (reported, expected) in reported.iter().zip(expected) {
        assert!(reported.starts_with(expected), "{reported}");
    }
    assert!(
        refused(&remotes(&json!([{"gvks": ["v1/Secret"]}])))[0].starts_with("apiservers.remotes[0].host: is missing")
    );
    let empty = json!([{"host": "https://a.example.org", "gvks": [slots], "labels": {"availabilityZone": ""}}]);
    assert!(refused(&remotes(&empty))[0].starts_with("apiservers.remotes[0].labels: has no availabilityZone"));
}

#[test]
fn a_routed_kind_at_home_besides_remotes_is_worth_a_warning() {
    let remote = json!([{"host": "https://a.example.org", "gvks": ["cortex.cloud/v1alpha1/ProjectQuota"], "labels": {"availabilityZone": "az-a"}}]);
    let mut values = remotes(&remote);
    assert!(
        warned(&values)[0]
            .starts_with("apiservers.home.gvks: cortex.cloud/v1alpha1/ProjectQuota is served by remotes too")
    );
    values["committedResourceAPI"] = json!({"quotaServedAvailabilityZones": ["az-a"]});
    accepted(&values);
}

#[test]
fn unused_kinds_are_most_likely_misspelt() {
    let reported = warned(&json!({"apiservers": {"home": {"gvks": ["cortex.cloud/v1alpha1/Reservations"]}}}));
    assert_eq!(
        reported,
        [
            r#"apiservers.home.gvks[0]: "cortex.cloud/v1alpha1/Reservations" is no kind that is used; correct or remove it"#
        ]
    );
}

#[test]
fn the_old_form_of_the_checks_is_understood() {
    let configuration = accepted(&json!({"roundTripCheck": {"az": "az-a", "testProjectID": "p"}}));
    assert_eq!((configuration.checks.zones, configuration.checks.project_id.as_str()), (vec!["az-a".to_owned()], "p"));
}

#[test]
fn the_disruption_limit_and_pauses_are_read() {
    let configuration =
        accepted(&json!({"disruptionLimit": {"slots": 7}, "pause": {"zones": ["az-a"], "flavorGroups": ["mem"]}}));
    assert_eq!(configuration.disruption_limit.limit(10_000), 7);
    assert!(configuration.pause.covers("az-a", "gp") && configuration.pause.covers("az-b", "mem"));
    assert!(!configuration.pause.covers("az-b", "gp"));
    let disruption_limit = Configuration::default().disruption_limit;
    assert_eq!((disruption_limit.limit(100), disruption_limit.limit(1000)), (20, 50));
}

#[test]
fn former_names_of_objects_are_read_with_a_warning_and_never_beside_the_present_ones() {
    let loaded = read(&json!({"brake": {"slots": 7}, "freeze": {"zones": ["az-a"]}}), false).unwrap();
    assert_eq!(loaded.configuration.disruption_limit.limit(10_000), 7);
    assert!(loaded.configuration.pause.covers("az-a", "gp"));
    let findings: Vec<String> = loaded.findings.0.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        ["brake: is deprecated; rename it to disruptionLimit", "freeze: is deprecated; rename it to pause"]
    );
    assert_eq!(loaded.in_effect["disruptionLimit"]["slots"], 7);
    assert!(!loaded.in_effect.contains_key("brake") && !loaded.in_effect.contains_key("freeze"));
    let both = json!({"brake": {"slots": 7}, "disruptionLimit": {"slots": 8}});
    let error = read(&both, false).unwrap_err().to_string();
    assert!(
        error.contains("brake: is the former name of disruptionLimit, which is there as well; remove brake"),
        "{error}"
    );
}

#[test]
fn files_are_merged_and_only_chosen_ones_must_exist() {
    let folder = std::env::temp_dir().join(format!("berth-configuration-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        Some(folder.join(name))
    };
    let files =
        Files { config: write("conf.json", r#"{"leaderElectionID": "a", "datasourceName": "d"}"#), secrets: None };
    assert_eq!(load(&files, false).unwrap().configuration.common.leader_election_id, "a");
    let files = Files { secrets: write("secrets.json", r#"{"leaderElectionID": "b"}"#), ..files };
    let common = load(&files, false).unwrap().configuration.common;
    assert_eq!((common.leader_election_id.as_str(), common.datasource_name.as_deref()), ("b", Some("d")));
    let files = Files { config: write("empty.json", " \n"), secrets: None };
    assert_eq!(load(&files, true).unwrap().configuration, Configuration::default());

    let files = Files { config: write("broken.json", "{\n  \"a\": }"), secrets: Some(folder.join("missing.json")) };
    let reported = lines(load(&files, false));
    assert!(
        reported[0].ends_with(
            "broken.json: is not valid JSON from line 2, column 8; correct what stands there or just before"
        ),
        "{reported:?}"
    );
    assert!(reported[1].ends_with("missing.json: does not exist; create it or name another file"), "{reported:?}");
    let files = Files { config: write("list.json", "[]"), secrets: None };
    assert!(lines(load(&files, false))[0].ends_with("does not hold a JSON object; write {...}"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_key_is_documented_once() {
    let keys = keys();
    assert!(keys.len() > 100);
    for key in &keys {
        assert!(key.meaning.ends_with('.') && !key.default.is_empty() && !key.kind.is_empty(), "{key:?}");
        assert_eq!(keys.iter().filter(|other| other.path == key.path).count(), 1, "{}", key.path);
    }
    for path in [
        "committedResourceAPI.flavorGroupResourceConfig.<group>.ram.ramUnitGiB",
        "apiservers.remotes[].host",
        "disruptionLimit.slots",
    ] {
        assert!(keys.iter().any(|key| key.path == path), "{path}");
    }
}

/// Neither the configuration in effect nor a message shows a token.
#[test]
fn tokens_are_never_shown() {
    let with = |token: Value| {
        let slots = json!({"schedulerToken": token.clone()});
        json!({"scheduler": {"token": token}, "committedResourceReservationController": slots})
    };
    let configuration = accepted(&with(json!("s3cret")));
    let (own, shown) =
        (configuration.scheduler.token.clone(), configuration.reservation_controller.scheduler_token.clone());
    assert!(own.is_some_and(|token| token.is(b"s3cret")) && shown.is_some_and(|token| token.reveal() == "s3cret"));
    assert!(!format!("{configuration:?}").contains("s3cret"));
    for wrong in [json!(73_570_001), json!("pass 73570001"), json!({"73570001": 1})] {
        let lines = refused(&with(wrong));
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.contains("oken: ") && !line.contains("73570001")), "{lines:?}");
    }
    assert_eq!(accepted(&with(json!(""))).scheduler.token, None);
}

#[test]
fn credentials_in_the_configuration_turn_authentication_on_if_they_are_complete() {
    let keys = json!({"keystoneURL": "https://id.example", "osUsername": "u", "osPassword": "p \u{e9}"});
    let loaded = read(&keys, true).unwrap();
    let configuration = &loaded.configuration;
    assert_eq!((configuration.auth.mode, configuration.placement.auth), (AuthMode::Keystone, None));
    assert_eq!(configuration.keystone_keys.password.as_ref().map(Password::reveal), Some("p \u{e9}"));
    assert_eq!(loaded.in_effect["osPassword"], "********");
    assert!(!format!("{loaded:?}").contains("\u{e9}"));
    let lines = lines(Ok(loaded));
    assert!(
        lines[0].starts_with("auth.mode: is not set: the credentials of Keystone turn authentication on"),
        "{lines:?}"
    );
    let mut off = keys.clone();
    off["auth"] = json!({"mode": "off"});
    assert_eq!(accepted(&off).auth.mode, AuthMode::Off);
    let mut partial = keys;
    partial["osPassword"] = json!("");
    let loaded = read(&partial, false).unwrap();
    assert_eq!(loaded.configuration.auth.mode, AuthMode::Off);
    assert_eq!(
        loaded.findings.0.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["keystoneURL: has no effect without osPassword"]
    );
}
