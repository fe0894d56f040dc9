//! `apiservers`: which cluster serves which kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::section::Section;

/// The label of a remote cluster that routing reads.
pub const ZONE_LABEL: &str = "availabilityZone";

/// Kinds whose objects live in the cluster of their zone.
const ROUTED: [&str; 6] = [
    "kvm.cloud.sap/v1/Hypervisor",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "cortex.cloud/v1alpha1/ProjectQuota",
    "cortex.cloud/v1alpha1/History",
];
/// Further kinds that this program or its neighbours in the same chart know.
const OTHERS: [&str; 10] = [
    "cortex.cloud/v1alpha1/CommitmentChange",
    "cortex.cloud/v1alpha1/Datasource",
    "cortex.cloud/v1alpha1/Decision",
    "cortex.cloud/v1alpha1/Descheduling",
    "cortex.cloud/v1alpha1/KPI",
    "cortex.cloud/v1alpha1/Knowledge",
    "cortex.cloud/v1alpha1/Pipeline",
    "coordination.k8s.io/v1/Lease",
    "v1/ConfigMap",
    "v1/Secret",
];
/// Kinds that always live in the home cluster, listed or not: older configurations cannot know them.
const AT_HOME: [&str; 1] = ["cortex.cloud/v1alpha1/CommitmentChange"];

/// A kind: group, version and name, written `<group>/<version>/<Kind>`, in the core group `<version>/<Kind>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Name of the kind, never of its list.
    pub kind: String,
}

impl Kind {
    /// Reads `<group>/<version>/<Kind>`. The kind of a list stands for the kind of its items.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (group, version, kind) = match parts[..] {
            [version, kind] => ("", version, kind),
            [group, version, kind] if !group.is_empty() => (group, version, kind),
            _ => return None,
        };
        let kind = kind.strip_suffix("List").filter(|item| !item.is_empty()).unwrap_or(kind);
        let fits = version.starts_with('v') && kind.starts_with(|c: char| c.is_ascii_uppercase());
        fits.then(|| Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() })
    }

    /// Whether objects of this kind live in the cluster of their zone.
    pub fn is_routed(&self) -> bool {
        self.is_in(&ROUTED)
    }

    /// Whether objects of this kind live in the home cluster, whatever is configured.
    pub fn is_at_home(&self) -> bool {
        self.is_in(&AT_HOME)
    }

    fn is_in(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.to_string().as_str())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, version, kind } = self;
        if group.is_empty() { write!(f, "{version}/{kind}") } else { write!(f, "{group}/{version}/{kind}") }
    }
}

/// A further cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// `host`: URL of its API server.
    pub host: String,
    /// `caCert`: PEM of the root certificate; absent: that of the home cluster.
    pub ca_cert: Option<String>,
    /// `insecureSkipTLSVerify`: whether its certificate is not verified.
    pub insecure_skip_tls_verify: bool,
    /// `gvks`: kinds it serves.
    pub kinds: BTreeSet<Kind>,
    /// `labels`: routing labels.
    pub labels: BTreeMap<String, String>,
}

impl Remote {
    /// Whether it serves a kind.
    pub fn serves(&self, kind: &Kind) -> bool {
        self.kinds.contains(kind) && !kind.is_at_home()
    }

    /// The availability zone whose objects it serves. An empty one is none.
    pub fn zone(&self) -> Option<&str> {
        self.labels.get(ZONE_LABEL).map(String::as_str).filter(|zone| !zone.is_empty())
    }
}

/// All clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiServers {
    /// `home.gvks`: kinds of the home cluster. Absent: every kind that no remote serves.
    pub home: Option<BTreeSet<Kind>>,
    /// `remotes`, in the order of the configuration.
    pub remotes: Vec<Remote>,
}

impl ApiServers {
    /// Whether the home cluster serves a kind.
    pub fn home_serves(&self, kind: &Kind) -> bool {
        match &self.home {
            Some(kinds) => kinds.contains(kind) || kind.is_at_home(),
            None => !self.remotes.iter().any(|remote| remote.serves(kind)),
        }
    }

    pub(super) fn read(s: &mut Section<'_>, all_zones: bool) -> Self {
        const HOME: &str = "Kinds that the home cluster serves, as `<group>/<version>/<Kind>`.";
        let home = s.section("home", |s| kinds(s, "every kind that no remote serves", HOME));
        let remotes = s.items("remotes", remote);
        let this = Self { home, remotes };
        this.check_zones(s);
        if all_zones {
            this.check_home(s);
        }
        this
    }

    /// Two remotes must not compete for the objects of one zone.
    fn check_zones(&self, s: &mut Section<'_>) {
        let mut served = BTreeMap::new();
        for (index, remote) in self.remotes.iter().enumerate() {
            for kind in remote.kinds.iter().filter(|kind| kind.is_routed()) {
                let Some(zone) = remote.zone() else { continue };
                if let Some(first) = served.insert((zone, kind), index) {
                    let text = format!("{kind} of zone {zone:?} is served by remotes[{first}] already; list it once");
                    s.error(&format!("remotes[{index}].gvks"), text);
                }
            }
        }
    }

    /// A routed kind at home collects the objects of zones that no remote serves.
    fn check_home(&self, s: &mut Section<'_>) {
        for kind in self.home.iter().flatten().filter(|kind| kind.is_routed()) {
            if self.remotes.iter().any(|remote| remote.kinds.contains(kind)) {
                let text = format!(
                    "{kind} is served by remotes too, so objects of zones without a remote end up here; remove it, or \
                     set committedResourceAPI.quotaServedAvailabilityZones"
                );
                s.warning("home.gvks", text);
            }
        }
    }
}

fn remote(s: &mut Section<'_>) -> Remote {
    const CA: &str = "Root certificate in PEM. Without effect together with `insecureSkipTLSVerify`.";
    const LABELS: &str = "Routing labels. `availabilityZone` names the zone whose objects the cluster serves.";
    let host = s.url("host", "none: must be given", "URL of the API server.");
    let remote = Remote {
        host: host.unwrap_or_default(),
        ca_cert: s.optional("caCert", "that of the home cluster", CA),
        insecure_skip_tls_verify: s.flag("insecureSkipTLSVerify", false, "Do not verify the server's certificate."),
        kinds: kinds(s, "none: must be given", "Kinds that this cluster serves.").unwrap_or_default(),
        labels: s.texts("labels", LABELS),
    };
    check_remote(s, &remote);
    remote
}

fn check_remote(s: &mut Section<'_>, remote: &Remote) {
    if remote.host.is_empty() && s.are_sound(&["host"]) {
        s.error("host", "is missing; write the URL of the API server".to_owned());
    }
    if remote.kinds.is_empty() && s.are_sound(&["gvks"]) {
        s.error("gvks", "is empty; list the kinds that this cluster serves".to_owned());
    }
    if remote.ca_cert.as_deref().is_some_and(|pem| !pem.contains("-----BEGIN CERTIFICATE-----")) {
        s.error("caCert", "holds no certificate; write it in PEM".to_owned());
    }
    if let Some(kind) = remote.kinds.iter().find(|kind| kind.is_routed() && remote.zone().is_none()) {
        let text =
            format!("has no {ZONE_LABEL}, but objects of {kind} are routed by it; name the zone of this cluster");
        s.error("labels", text);
    }
    for kind in remote.kinds.iter().filter(|kind| kind.is_at_home()) {
        s.unknown("gvks", format!("{kind} always belongs to the home cluster; remove it"));
    }
    for label in remote.labels.keys().filter(|label| *label != ZONE_LABEL) {
        s.unknown(&format!("labels.{label}"), format!("is not used for routing; only {ZONE_LABEL} is"));
    }
}

fn kinds(s: &mut Section<'_>, absent: &str, meaning: &'static str) -> Option<BTreeSet<Kind>> {
    let texts = s.list("gvks", absent, meaning)?;
    let mut kinds = BTreeSet::new();
    for (index, text) in texts.iter().enumerate() {
        let path = format!("gvks[{index}]");
        let Some(kind) = Kind::parse(text) else {
            let text = format!("{text:?} is not a kind; write <group>/<version>/<Kind>, for example v1/Secret");
            s.error(&path, text);
            continue;
        };
        if !kind.is_in(&ROUTED) && !kind.is_in(&OTHERS) {
            s.unknown(&path, format!("{text:?} is no kind that is used; correct or remove it"));
        }
        kinds.insert(kind);
    }
    Some(kinds)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Kind;
    use crate::config::decode;

    #[test]
    fn changes_of_commitments_are_not_served_by_remotes() {
        let change = "cortex.cloud/v1alpha1/CommitmentChange";
        let remote = json!({ "host": "https://a.example.org", "gvks": ["v1/Secret", change] });
        let values = json!({ "apiservers": { "home": { "gvks": ["v1/ConfigMap"] }, "remotes": [remote] } });
        let loaded = decode(values.as_object().unwrap(), false).unwrap();
        let reported: Vec<String> = loaded.findings.0.iter().map(ToString::to_string).collect();
        let text = "apiservers.remotes[0].gvks: cortex.cloud/v1alpha1/CommitmentChange always belongs to the home cluster; remove it";
        assert_eq!(reported, [text]);
        let (servers, change) = (loaded.configuration.api_servers, Kind::parse(change).unwrap());
        assert!(servers.home_serves(&change) && !servers.remotes[0].serves(&change));
    }
}
