//! `berth config`: what is wrong with a configuration, and what is in effect, without a cluster.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{Ended, berth};

/// A configuration and its secrets, as files.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(config: &str, secrets: &str) -> Self {
        let files = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(files.path("conf.json"), config).unwrap();
        fs::write(files.path("secrets.json"), secrets).unwrap();
        files
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    async fn config(&self, what: &str, more: &[&str]) -> Ended {
        let (config, secrets) = (self.path("conf.json"), format!("--secrets={}", self.path("secrets.json")));
        berth(&[&["config", what, &config, &secrets], more].concat(), "").await
    }
}

const WRONG: &str = r#"{ "committedResourceController": { "requeueIntervalRetry": "5" }, "pause": { "zone": ["a"] } }"#;

#[tokio::test]
async fn all_problems_are_reported_at_once_as_at_the_start_of_an_operator() {
    let files = Files::new(WRONG, r#"{ "schedulerURL": 7 }"#);
    let checked = files.config("check", &[]).await;
    assert_eq!(checked.status, 1, "{checked:#?}");
    for line in [
        "error    committedResourceController.requeueIntervalRetry: \"5\" is not a duration",
        "warning  pause.zone: unknown key, without effect",
        "error    schedulerURL: 7 is not",
    ] {
        assert!(
            checked.stdout.lines().any(|reported| reported.starts_with(line)),
            "{line} is not in\n{}",
            checked.stdout
        );
    }
    let summary = "berth: an operator does not start with this configuration: 2 errors, 1 warning\n";
    assert_eq!(checked.stderr, summary);

    let (config, secrets) = (files.path("conf.json"), files.path("secrets.json"));
    let started = berth(&["operator", "--config", &config, "--secrets", &secrets], "").await;
    assert_eq!(started.status, 2);
    let texts = checked.stdout.lines().map(|line| line[9..].to_owned());
    texts.for_each(|text| assert!(started.stderr.contains(&text), "{text} is not in\n{}", started.stderr));
}

#[tokio::test]
async fn what_has_no_effect_is_an_error_when_it_is_to_be() {
    let files = Files::new(r#"{ "pause": { "zone": ["a"] } }"#, "");
    let tolerant = files.config("check", &[]).await;
    assert_eq!((tolerant.status, tolerant.stderr.as_str()), (0, ""), "{tolerant:#?}");
    assert!(tolerant.stdout.ends_with("An operator starts with this configuration: no errors, 1 warning.\n"));
    let strict = files.config("check", &["--strict-config"]).await;
    assert_eq!(strict.status, 1, "{strict:#?}");
    assert!(strict.stdout.starts_with("error    pause.zone: "), "{}", strict.stdout);
}

#[tokio::test]
async fn resources_that_are_announced_without_capacity_are_named() {
    let groups = r#"{ "*": { "ram": { "hasCapacity": true }, "cores": { "hasCapacity": true } } }"#;
    let config = format!(r#"{{ "committedResourceAPI": {{ "flavorGroupResourceConfig": {groups} }} }}"#);
    let checked = Files::new(&config, "").config("check", &[]).await;
    let line = "warning  committedResourceAPI.flavorGroupResourceConfig: hw_version_*_instances is announced without hasCapacity";
    assert!(checked.stdout.starts_with(line), "{}", checked.stdout);
    assert!(checked.stdout.ends_with("An operator starts with this configuration: no errors, 1 warning.\n"));
}

#[tokio::test]
async fn what_only_the_start_finds_is_found_as_well() {
    let kinds = r#"{ "apiservers": { "home": { "gvks": ["cortex.cloud/v1alpha1/Reservation"] } } }"#;
    let unserved = Files::new(kinds, "").config("check", &[]).await;
    assert_eq!(unserved.status, 1, "{unserved:#?}");
    assert!(
        unserved.stdout.contains("error    apiservers: gvk kvm.cloud.sap/v1, Kind=Hypervisor is not"),
        "{}",
        unserved.stdout
    );
    let labels = Files::new(r#"{ "monitoring": { "labels": { "kind": "x" } } }"#, "").config("check", &[]).await;
    assert_eq!(labels.status, 1, "{labels:#?}");
    assert!(
        labels.stdout.contains("error    monitoring.labels: \"kind\" is a label of the metric"),
        "{}",
        labels.stdout
    );
}

/// A configuration whose policy file has this text.
fn with_policies(policies: &str) -> Files {
    let files = Files::new("", "");
    fs::write(files.path("policy.yaml"), policies).unwrap();
    let config = format!(r#"{{ "auth": {{ "policyFile": "{}" }} }}"#, files.path("policy.yaml"));
    fs::write(files.path("conf.json"), config).unwrap();
    files
}

#[tokio::test]
async fn what_is_wrong_in_a_policy_file_is_found_as_at_the_start_of_an_operator() {
    let files = with_policies("liquid:get_info: role:x or\n");
    let checked = files.config("check", &[]).await;
    assert_eq!(checked.status, 1, "{checked:#?}");
    let path = files.path("policy.yaml");
    let why =
        format!("the policy file {path} cannot be used: rule \"liquid:get_info\" of the policy file cannot be read: ");
    assert!(checked.stdout.starts_with(&format!("error    auth.policyFile: {why}")), "{}", checked.stdout);
    assert_eq!(checked.stdout.lines().count(), 1, "reported once: {}", checked.stdout);
    let config = files.path("conf.json");
    let started = berth(&["operator", "--config", &config, "--secrets", &files.path("secrets.json")], "").await;
    assert_eq!(started.status, 1);
    assert!(started.stderr.contains(&why), "{}", started.stderr);
}

#[tokio::test]
async fn rules_of_a_policy_file_that_no_api_has_are_named() {
    let files = with_policies("liquid:get_inf: '@'\nplacement:usages: '!'\nadmin_api: role:admin\n");
    let checked = files.config("check", &[]).await;
    let line = "warning  auth.policyFile: no API has a rule \"liquid:get_inf\", so it has no effect; correct its name or remove it\n";
    let end = "An operator starts with this configuration: no errors, 1 warning.\n";
    assert_eq!((checked.status, checked.stdout.as_str()), (0, format!("{line}{end}").as_str()));
}

#[tokio::test]
async fn what_only_placement_cannot_use_in_a_policy_file_is_a_warning() {
    let text = "admin_or_service_api: rule:placement:usages\nplacement:usages: rule:admin_or_service_api\nliquid:get_info: '@'\n";
    let circle = with_policies(text).config("check", &[]).await;
    assert_eq!(circle.status, 1, "a circle is one for every API: {circle:#?}");
    let through_defaults = with_policies(
        "service_api: rule:admin_or_service_api\nadmin_or_service_api: rule:placement:reshaper:reshape\n",
    );
    let checked = through_defaults.config("check", &[]).await;
    assert_eq!(checked.status, 0, "{checked:#?}");
    assert!(
        checked.stdout.starts_with("warning  auth.policyFile: berth placement does not start: the policy file "),
        "{}",
        checked.stdout
    );
    let own = Files::new(r#"{ "placement": { "policyFile": "/does/not/exist" } }"#, "").config("check", &[]).await;
    assert_eq!(own.status, 0, "{own:#?}");
    let line =
        "warning  placement.policyFile: berth placement does not start: the policy file /does/not/exist cannot be used";
    assert!(own.stdout.starts_with(line), "{}", own.stdout);
}

#[tokio::test]
async fn files_that_are_none_are_reported_and_wrong_flags_are_another_matter() {
    let files = Files::new("{ not json", "");
    let wrong = files.config("check", &[]).await;
    assert_eq!(wrong.status, 1);
    assert!(wrong.stdout.contains("conf.json: is not valid JSON from line 1"), "{wrong:#?}");
    let missing = berth(&["config", "check", "/does/not/exist.json"], "").await;
    assert_eq!(missing.status, 1);
    assert!(missing.stdout.contains("/does/not/exist.json: does not exist"), "{missing:#?}");
    assert_eq!(berth(&["config", "check", "--nonsense"], "").await.status, 2);
    let unusable = files.config("print", &[]).await;
    assert_eq!((unusable.status, unusable.stdout.as_str()), (1, ""));
    assert!(unusable.stderr.contains("conf.json: is not valid JSON"), "{unusable:#?}");
}

#[tokio::test]
async fn what_is_printed_is_a_configuration_that_reports_the_same_without_secrets() {
    let files = Files::new(r#"{ "disruptionLimit": { "slots": 7 } }"#, r#"{ "scheduler": { "token": "s3cret" } }"#);
    let printed = files.config("print", &["--strict-config"]).await;
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""), "{printed:#?}");
    let value: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        (&value["disruptionLimit"]["slots"], &value["leaderElectionID"]),
        (&Value::from(7), &Value::from("berth"))
    );
    assert!(!printed.stdout.contains("s3cret") && value["scheduler"]["token"] == "********", "{}", printed.stdout);
    let again = Files::new(&printed.stdout, "").config("print", &["--strict-config"]).await;
    assert_eq!(again.stdout, printed.stdout);
}
