//! The property of `configuration`, for the fuzzer and for a test of `berth-telemetry`: a configuration file of any
//! bytes is read, with and without `--strict-config`. Messages about mistakes are lines that name the key; a usable
//! configuration in effect is the same when it is read again, and never shows a secret.

use berth_telemetry::TelemetryError;
use berth_telemetry::config::{Configuration, Findings, Loaded, Severity, decode, mask_urls, merge};
use serde_json::{Map, Value};

/// The longest line about one key, in characters: a few keys of a path, and a text.
const LINE: usize = 1500;

const SECRETS: [&str; 3] =
    ["/scheduler/token", "/committedResourceReservationController/schedulerToken", "/osPassword"];

pub fn configuration(file: &[u8]) {
    let Ok(Value::Object(values)) = serde_json::from_slice(file) else { return };
    let (lenient, strict) = (read(&values, false), read(&values, true));
    if let Ok(strict) = &strict {
        assert_eq!(lenient.as_ref().map(|loaded| &loaded.configuration), Ok(&strict.configuration));
    }
    match (&lenient, &strict) {
        (Ok(loaded), Err(_)) => {
            assert!(!loaded.findings.0.is_empty(), "--strict-config refuses a configuration without a finding");
        }
        (Err(_), strict) => assert!(strict.is_err(), "--strict-config accepts an unusable configuration"),
        _ => {}
    }
    for findings in [&lenient, &strict].map(|read| read.as_ref().map_or_else(|wrong| wrong, |good| &good.findings)) {
        reported(findings, &values);
    }
    if let Ok(loaded) = lenient {
        in_effect(&loaded, &values);
    }
    laid_over_itself(&values);
}

fn read(values: &Map<String, Value>, strict: bool) -> Result<Loaded, Findings> {
    decode(values, strict).map_err(|error| match error {
        TelemetryError::Configuration { findings } => findings,
        other => panic!("a value cannot cause {other}"),
    })
}

fn reported(findings: &Findings, values: &Map<String, Value>) {
    for finding in &findings.0 {
        let line = finding.to_string();
        assert!(!finding.path.is_empty() && !finding.text.is_empty(), "{line:?}");
        assert!(line.chars().count() < LINE && !line.contains(char::is_control), "{} bytes: {line:?}", line.len());
        for secret in secrets(values) {
            assert!(!line.contains(secret), "{line:?} shows a secret");
        }
    }
    let shown = findings.0.iter().filter(|finding| finding.severity != Severity::Info).count();
    assert_eq!(findings.to_string().lines().skip(1).count(), shown, "{findings}");
}

fn in_effect(loaded: &Loaded, values: &Map<String, Value>) {
    let text = Value::Object(loaded.in_effect.clone()).to_string();
    for secret in secrets(values) {
        assert!(!text.contains(secret), "{text} shows a secret");
    }
    let again = read(&loaded.in_effect, false).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
    let shown = |loaded| mask_urls(&format!("{:?}", without_secrets(loaded)));
    assert_eq!(shown(&again), shown(loaded), "{text}");
    assert_eq!(again.in_effect, loaded.in_effect);
}

fn without_secrets(loaded: &Loaded) -> Configuration {
    let mut configuration = loaded.configuration.clone();
    configuration.scheduler.token = None;
    configuration.reservation_controller.scheduler_token = None;
    configuration.keystone_keys.password = None;
    configuration
}

/// Texts that occur only in the place of secrets, so that an output with one of them shows a secret.
fn secrets(values: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let whole = Value::Object(values.clone());
    let text = whole.to_string();
    let at = |path: &str| {
        let mut keys = path.split('/').filter(|key| !key.is_empty());
        keys.try_fold(values, |values, key| values.get(key)?.as_object())
    };
    let found = SECRETS.into_iter().filter_map(move |path| {
        let (section, key) = path.rsplit_once('/')?;
        at(section)?.get(key)?.as_str()
    });
    found.filter(move |secret| secret.len() > 5 && text.matches(secret).count() == 1).collect::<Vec<_>>().into_iter()
}

fn laid_over_itself(values: &Map<String, Value>) {
    let mut both = values.clone();
    merge(&mut both, values.clone());
    assert_eq!(both, *values);
}
