//! Keys that several components share: names, labels, credentials, the scheduler's address.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::section::{Section, Zero, seconds};
use super::settings::settings;
use super::value;

const FOREIGN: &str = "Read by other programs; no effect here.";

settings! {
    /// Shared keys of the top level.
    pub struct Common = read(s) {
        /// Name of the Lease that replicas compete for when `--leader-elect` is set.
        leader_election_id: String = text_or_empty("leaderElectionID", "berth"),
        /// `userAgent.component` and `userAgent.version`, empty when absent: the `User-Agent` of outgoing HTTP.
        user_agent_parts: (String, String) = (user_agent(s)),
        /// `monitoring.labels`: labels on every exported metric.
        metric_labels: BTreeMap<String, String> = (metric_labels(s)),
        /// Datasource object that names the secret of the database with servers and flavors. Without one, usage is not
        /// computed.
        datasource_name: Option<String> = optional("datasourceName", "`nova-servers` if there is such an object"),
        /// How old the data of VMs may be. Usage is not computed from older data.
        vm_source_max_age: Duration = duration("vmSourceMaxAge", seconds(3600), Zero::Invalid),
        /// SQLite file with the tables of servers and flavors, instead of a Datasource: for local runs and tests.
        vm_source_sqlite: Option<PathBuf> = file("vmSourceSqlite", "none"),
        /// Scheduler for the probes of the capacity controller.
        scheduler: SchedulerUrl = scheduler_url("schedulerURL"),
        /// Secret with the Keystone credentials (URL, user, password, project, domains).
        keystone: Option<SecretRef> = secret("keystoneSecretRef"),
        /// Secret with a client certificate for the OpenStack endpoints.
        sso: Option<SecretRef> = secret("ssoSecretRef"),
    }
}

fn user_agent(s: &mut Section<'_>) -> (String, String) {
    s.section("userAgent", |s| {
        let component = s.text("component", "", "First half of the `User-Agent` of outgoing HTTP requests.");
        (component, s.text("version", "", "Second half of the `User-Agent`, after a slash."))
    })
}

fn metric_labels(s: &mut Section<'_>) -> BTreeMap<String, String> {
    const LABELS: &str =
        "Labels that every exported metric carries. They must not be labels that a metric has already.";
    let labels = s.section("monitoring", |s| {
        s.foreign("port", FOREIGN);
        s.texts("labels", LABELS)
    });
    s.foreign("schedulingDomain", FOREIGN);
    s.foreign("overcommitMappings", FOREIGN);
    labels
}

impl Common {
    /// The `User-Agent` of outgoing HTTP: `<component>/<version>`, or the component alone; `None` when neither is set.
    pub fn user_agent(&self) -> Option<String> {
        let (component, version) = &self.user_agent_parts;
        match (component.as_str(), version.as_str()) {
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

impl Section<'_> {
    /// An absent object, or one with an empty name, means that there is no secret.
    pub fn secret(&mut self, key: &'static str, meaning: &'static str) -> Option<SecretRef> {
        self.section(key, |s| {
            let name = s.optional("name", "none", meaning);
            let namespace = s.optional("namespace", "none", "Namespace of that secret.");
            match (name, namespace) {
                (Some(name), Some(namespace)) => Some(SecretRef { name, namespace }),
                (Some(_), None) => {
                    s.error("namespace", "is missing; write the namespace of the secret".to_owned());
                    None
                }
                (None, _) => None,
            }
        })
    }

    /// An absent or empty key, or `builtin:`, is the scheduler of this process.
    pub fn scheduler_url(&mut self, key: &'static str, meaning: &'static str) -> SchedulerUrl {
        let parse = |found: &serde_json::Value| match found.as_str() {
            Some("" | "builtin:") => Ok(SchedulerUrl::BuiltIn),
            _ => value::url(found).map(SchedulerUrl::External),
        };
        self.value(key, "URL or `builtin:`", "built-in scheduler".to_owned(), meaning, parse).unwrap_or_default()
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Which scheduler answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SchedulerUrl {
    /// The one of this process: an absent or empty key, or `builtin:`.
    #[default]
    BuiltIn,
    /// One behind HTTP.
    External(String),
}
