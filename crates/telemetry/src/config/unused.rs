//! Keys and names that are read and checked, but have no effect in this version.

use serde_json::{Map, Value};

use super::finding::{Finding, Findings, Severity};

/// Why something has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It is about a part that this version does not have.
    Lacks(&'static str),
    /// Other programs read it from the same file.
    Foreign,
}

use Cause::{Foreign, Lacks};

const POLLING: Cause = Lacks("polling: outcomes are watched");

/// All of them: a key, an object with all its keys, or a name in a list, in brackets behind the list.
pub const UNUSED: [(&str, Cause); 16] = [
    ("committedResourceAPI.watchPollInterval", POLLING),
    ("monitoring.port", Foreign),
    ("schedulingDomain", Foreign),
    ("overcommitMappings", Foreign),
    ("flavorFailoverRequirements", Foreign),
    ("reconcileInterval", Foreign),
    ("shortReconcileInterval", Foreign),
    ("maxVMsToProcess", Foreign),
    ("minSuccessForShortInterval", Foreign),
    ("maxFailuresForShortInterval", Foreign),
    ("vmSelectionRotationInterval", Foreign),
    ("trustHypervisorLocation", Foreign),
    ("revalidationInterval", Foreign),
    ("limitOneNewReservationPerHypervisor", Foreign),
    ("useFlavorGroupResources", Foreign),
    ("creator", Foreign),
];

/// Reports what is configured without effect. `defaults` is what is in effect when nothing is configured.
pub(super) fn report(values: &Map<String, Value>, defaults: &Map<String, Value>, findings: &mut Findings) {
    for (key, cause) in UNUSED {
        if let Some(path) = find_configured(values, defaults, key) {
            findings.0.push(finding(path, cause));
        }
    }
}

fn finding(path: String, cause: Cause) -> Finding {
    match cause {
        Lacks(part) => Finding::new(Severity::Unknown, path, format!("has no effect: this version has no {part}")),
        Foreign => Finding::new(Severity::Info, path, "is read by other programs; no effect here".to_owned()),
    }
}

/// The path of what is configured. A printed configuration has every key, so those with their default are left out.
fn find_configured(values: &Map<String, Value>, defaults: &Map<String, Value>, key: &str) -> Option<String> {
    let (path, name) = match key.strip_suffix(']').and_then(|key| key.split_once('[')) {
        Some((list, name)) => (list, Some(name)),
        None => (key, None),
    };
    let found = at(values, path).filter(|found| !is_blank(found) && at(defaults, path) != Some(found))?;
    let Some(name) = name else { return Some(path.to_owned()) };
    let index = found.as_array()?.iter().position(|one| one.as_str() == Some(name))?;
    Some(format!("{path}[{index}]"))
}

fn at<'a>(values: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('.');
    let first = values.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.get(key))
}

/// Whether a value says the same as an absent key.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_blank),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
