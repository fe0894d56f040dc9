//! Reads the configuration files and merges the second into the first.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::finding::{Finding, Severity};
use super::unique::{REPEATED, UniqueKeys};

/// The public file, mounted from a `ConfigMap`.
pub const DEFAULT_CONFIG: &str = "/etc/config/conf.json";
/// The file with the values that are secret, mounted from a Secret.
pub const DEFAULT_SECRETS: &str = "/etc/secrets/secrets.json";

/// Which files to read. A path that was set must exist; the default ones may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// `--config`; absent means [`DEFAULT_CONFIG`].
    pub config: Option<PathBuf>,
    /// `--secrets`; absent means [`DEFAULT_SECRETS`].
    pub secrets: Option<PathBuf>,
}

impl Files {
    /// Both files merged, or what is wrong with either.
    pub(super) fn read(&self) -> Result<Map<String, Value>, Vec<Finding>> {
        let base = object(self.config.as_deref(), DEFAULT_CONFIG);
        let over = object(self.secrets.as_deref(), DEFAULT_SECRETS);
        match (base, over) {
            (Ok(mut base), Ok(over)) => {
                merge(&mut base, over);
                Ok(base)
            }
            (base, over) => Err([base.err(), over.err()].into_iter().flatten().collect()),
        }
    }
}

/// Lays `over` over `base`: objects are merged, everything else replaces, and `null` replaces nothing.
pub fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(base)), Value::Object(over)) => merge(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn object(chosen: Option<&Path>, default: &str) -> Result<Map<String, Value>, Finding> {
    let path = chosen.unwrap_or(Path::new(default));
    let finding = |text: String| Finding { severity: Severity::Error, path: path.display().to_string(), text };
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && chosen.is_none() => return Ok(Map::new()),
        read => read.map_err(|error| finding(unreadable(&error)))?,
    };
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(UniqueKeys(Value::Object(object))) => Ok(object),
        Err(error) if error.to_string().starts_with(REPEATED) => Err(finding(format!("{error}; remove one of them"))),
        Ok(_) => Err(finding("does not hold a JSON object; write {...}".to_owned())),
        Err(error) => Err(finding(format!(
            "is not valid JSON from line {}, column {}; correct what stands there or just before",
            error.line(),
            error.column()
        ))),
    }
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist; create it or name another file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "must not be read by this user; change its mode or owner".to_owned(),
        std::io::ErrorKind::InvalidData => "is not text in UTF-8; write it again in this encoding".to_owned(),
        kind => format!("cannot be read ({kind}); check that it is a file"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(base: Value, over: Value) -> Value {
        let (Value::Object(mut base), Value::Object(over)) = (base, over) else { panic!("objects expected") };
        merge(&mut base, over);
        Value::Object(base)
    }

    #[test]
    fn worked_examples_are_read() {
        let over = json!({"a": {"y": [3]}, "b": null, "c": true});
        let both = merged(json!({"a": {"x": 1, "y": [1, 2]}, "b": "s"}), over);
        assert_eq!(both, json!({"a": {"x": 1, "y": [3]}, "b": "s", "c": true}));
        assert_eq!(merged(json!({"sso": null}), json!({"sso": {"cert": "A"}})), json!({"sso": {"cert": "A"}}));
        let policies = json!({"auth": {"policies": [{"pattern": "* /*"}]}});
        assert_eq!(merged(policies.clone(), json!({"auth": {}})), policies);
        let off = merged(json!({"versioning": {"id": "v1.0"}}), json!({"versioning": "off"}));
        assert_eq!(off, json!({"versioning": "off"}));
    }
}
