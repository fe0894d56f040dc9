//! The audit log of the API server: one line for each answer to a write, with client and times.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Error, FromRefused as _, work_folder};

/// A write request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// When it was received, in UTC, to the microsecond: such strings compare as the times do.
    pub received: String,
    /// When it was answered, in the same form.
    pub answered: String,
    pub user_agent: String,
    pub verb: String,
    /// The plural of the kind, with the subresource if there is one: `reservations/status`.
    pub resource: String,
    /// The object; empty when the server generates the name.
    pub name: String,
    pub code: u16,
}

impl WriteRequest {
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }

    fn of(line: &str) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        let (kind, sub) = (text(&object["resource"]), text(&object["subresource"]));
        Some(Self {
            received: text(&event["requestReceivedTimestamp"]),
            answered: text(&event["stageTimestamp"]),
            user_agent: text(&event["userAgent"]),
            verb: text(&event["verb"]),
            resource: if sub.is_empty() { kind } else { format!("{kind}/{sub}") },
            name: text(&object["name"]),
            code: u16::try_from(event["responseStatus"]["code"].as_u64()?).ok()?,
        })
    }
}

/// The audit log of one API server, which continues over its restarts.
#[derive(Debug)]
pub(crate) struct AuditLog {
    policy: PathBuf,
    log: PathBuf,
}

impl AuditLog {
    /// Writes the audit policy: all writes but those of the server itself.
    pub(crate) fn new(folder: &Path) -> Result<Self, Error> {
        let audit_log = Self { policy: folder.join("audit-policy.json"), log: folder.join("audit.log") };
        let writes = ["create", "update", "patch", "delete", "deletecollection"];
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                { "level": "None", "users": ["system:apiserver"] },
                { "level": "Metadata", "verbs": writes },
                { "level": "None" },
            ],
        });
        work_folder::write_private(&audit_log.policy, &policy.to_string())?;
        Ok(audit_log)
    }

    pub(crate) fn arguments(&self) -> [String; 2] {
        let (policy, log) = (self.policy.display(), self.log.display());
        [format!("--audit-policy-file={policy}"), format!("--audit-log-path={log}")]
    }

    /// In the order of the answers. A line that is being written is left out.
    pub(crate) fn read(&self) -> Result<Vec<WriteRequest>, Error> {
        let text = fs::read(&self.log).map_err(Error::path("read", &self.log))?;
        Ok(String::from_utf8_lossy(&text).lines().filter_map(WriteRequest::of).collect())
    }
}
