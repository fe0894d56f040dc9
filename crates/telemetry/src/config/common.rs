//! Keys that several components share (document 11 section 5.1): names, labels, credentials, the scheduler's address.

use std::{collections::BTreeMap, fmt};

use super::{section::Section, value};

const LEASE: &str = "Name of the Lease that replicas compete for when `--leader-elect` is set.";
const LABELS: &str = "Labels that every exported metric carries. They must not be labels that a metric has already.";
const FOREIGN: &str = "Read by other programs; no effect here.";
const DATASOURCE: &str = "Datasource object that names the secret of the database with servers and flavors. Without \
                          one, components run without this input and say so.";
const KEYSTONE: &str = "Secret with the Keystone credentials (URL, user, password, project, domains).";

/// Shared keys of the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    /// `leaderElectionID`: name of the Lease for leader election. Empty when it is given so, which leader election
    /// refuses (document 11 section 3.5).
    pub leader_election_id: String,
    /// `userAgent.component`, empty when absent: first half of the `User-Agent` of outgoing HTTP.
    pub user_agent_component: String,
    /// `userAgent.version`, empty when absent: second half.
    pub user_agent_version: String,
    /// `monitoring.labels`: labels on every exported metric.
    pub metric_labels: BTreeMap<String, String>,
    /// `datasourceName`: the Datasource object that names the database secret. Absent: components run without it,
    /// quota takes its own default ([`super::quota::Quota::datasource_name`]).
    pub datasource_name: Option<String>,
    /// `schedulerURL`: the scheduler of capacity and failover.
    pub scheduler: SchedulerUrl,
    /// `keystoneSecretRef`: Keystone credentials.
    pub keystone: Option<SecretRef>,
    /// `ssoSecretRef`: client certificate for OpenStack endpoints.
    pub sso: Option<SecretRef>,
}

impl Common {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let leader_election_id = s.text_or_empty("leaderElectionID", "berth", LEASE);
        let (user_agent_component, user_agent_version) = s.section("userAgent", |s| {
            let component = s.text("component", "", "First half of the `User-Agent` of outgoing HTTP requests.");
            (component, s.text("version", "", "Second half of the `User-Agent`, after a slash."))
        });
        let metric_labels = s.section("monitoring", |s| {
            s.foreign("port", FOREIGN);
            s.texts("labels", LABELS)
        });
        s.foreign("schedulingDomain", FOREIGN);
        s.foreign("overcommitMappings", FOREIGN);
        Self {
            leader_election_id,
            user_agent_component,
            user_agent_version,
            metric_labels,
            datasource_name: s.optional("datasourceName", "none; `nova-servers` for quota", DATASOURCE),
            scheduler: SchedulerUrl::read(s, "schedulerURL", "Scheduler for the probes of the capacity controller."),
            keystone: SecretRef::read(s, "keystoneSecretRef", KEYSTONE),
            sso: SecretRef::read(s, "ssoSecretRef", "Secret with a client certificate for the OpenStack endpoints."),
        }
    }

    /// The `User-Agent` of outgoing HTTP: `<component>/<version>`, or the component alone; `None` when neither is set.
    pub fn user_agent(&self) -> Option<String> {
        match (self.user_agent_component.as_str(), self.user_agent_version.as_str()) {
            ("", _) => None,
            (component, "") => Some(component.to_owned()),
            (component, version) => Some(format!("{component}/{version}")),
        }
    }
}

/// Name and namespace of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRef {
    /// The Secret's name.
    pub name: String,
    /// The Secret's namespace.
    pub namespace: String,
}

impl SecretRef {
    /// An absent object, or one with an empty name, means that there is no secret.
    pub(super) fn read(s: &mut Section<'_>, key: &'static str, meaning: &'static str) -> Option<Self> {
        s.section(key, |s| {
            let name = s.optional("name", "none", meaning);
            let namespace = s.optional("namespace", "none", "Namespace of that secret.");
            match (name, namespace) {
                (Some(name), Some(namespace)) => Some(Self { name, namespace }),
                (Some(_), None) => {
                    s.error("namespace", "is missing; write the namespace of the secret".to_owned());
                    None
                }
                (None, _) => None,
            }
        })
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Which scheduler answers (decision D4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SchedulerUrl {
    /// The one of this process: an absent or empty key, or `builtin:`.
    #[default]
    BuiltIn,
    /// One behind HTTP.
    External(String),
}

impl SchedulerUrl {
    pub(super) fn read(s: &mut Section<'_>, key: &'static str, meaning: &'static str) -> Self {
        let parse = |found: &serde_json::Value| match found.as_str() {
            Some("" | "builtin:") => Ok(Self::BuiltIn),
            _ => value::url(found).map(Self::External),
        };
        s.value(key, "URL or `builtin:`", "built-in scheduler".to_owned(), meaning, parse).unwrap_or_default()
    }
}
