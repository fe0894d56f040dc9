//! `placement`: the server of the Placement API. Each key is also a flag and a variable of the environment, which count more;
//! this file decides what holds without them.

use std::path::PathBuf;

use super::{auth::AuthMode, section::Section};

/// Settings of `berth placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// `placement.listen`: address of the API.
    pub listen: String,
    /// `placement.metricsListen`: address of probes and metrics; `0` is none.
    pub metrics_listen: String,
    /// `placement.database`: a PostgreSQL URL, a file or `:memory:`.
    pub database: String,
    /// `placement.auth`: how callers prove who they are.
    pub auth: AuthMode,
    /// `placement.policyFile`: rules of oslo.policy.
    pub policy_file: Option<PathBuf>,
    /// `placement.enforceNewDefaults`: whether the newer default policies hold.
    pub enforce_new_defaults: bool,
    /// `placement.corsOrigin`: sites whose pages may use the API.
    pub cors_origin: Vec<String>,
    /// `placement.corsHeaders`: request headers that they may send.
    pub cors_headers: Vec<String>,
    /// `placement.randomizeAllocationCandidates`: whether the order of hosts is drawn anew for each query.
    pub randomize_allocation_candidates: bool,
    /// `placement.allocationCandidatesGenerationStrategy`: whether hosts take turns.
    pub breadth_first: bool,
    /// `placement.maxAllocationCandidates`: after how many candidates of a query generation stops; -1 is no maximum.
    pub max_allocation_candidates: i64,
}

impl Placement {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const LISTEN: &str = "Address of the Placement API.";
        const METRICS: &str = "Address of its probes, metrics and checks; `0` switches them off.";
        const DATABASE: &str = "The ledger: a SQLite file, the URL of a PostgreSQL database, or `:memory:`.";
        const AUTH: &str = "How callers of the Placement API prove who they are.";
        const ENFORCE: &str =
            "Whether the newer default policies of Placement hold; without them the role admin may do everything.";
        const RANDOMIZE: &str = "Whether the order of hosts in allocation candidates is drawn anew for each query.";
        const STRATEGY: &str =
            "Whether all candidates of a host come before those of the next, or hosts take turns, one candidate each.";
        const MOST: &str = "Candidates after which a query stops looking for more, before `limit`; -1 is no maximum.";
        let strategies = [("depth-first", false), ("breadth-first", true)];
        let choices = [("keystone", AuthMode::Keystone), ("noauth2", AuthMode::NoAuth2), ("off", AuthMode::Off)];
        Self {
            listen: s.text("listen", "127.0.0.1:8778", LISTEN),
            metrics_listen: s.text("metricsListen", "127.0.0.1:8779", METRICS),
            database: s.text("database", "berth-placement.db", DATABASE),
            auth: s.choice("auth", &choices, "off", AUTH).unwrap_or(AuthMode::Off),
            policy_file: s.optional("policyFile", "none", "File with rules of oslo.policy.").map(PathBuf::from),
            enforce_new_defaults: s.flag("enforceNewDefaults", true, ENFORCE),
            cors_origin: s
                .list("corsOrigin", "none", "Sites whose pages may use the API; `*` is all.")
                .unwrap_or_default(),
            cors_headers: s
                .list("corsHeaders", "none", "Request headers that these pages may send.")
                .unwrap_or_default(),
            randomize_allocation_candidates: s.flag("randomizeAllocationCandidates", false, RANDOMIZE),
            breadth_first: s
                .choice("allocationCandidatesGenerationStrategy", &strategies, "depth-first", STRATEGY)
                .unwrap_or(false),
            max_allocation_candidates: s.integer("maxAllocationCandidates", -1, -1..=i64::MAX, MOST),
        }
    }
}
