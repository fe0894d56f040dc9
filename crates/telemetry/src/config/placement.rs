//! `placement`: the server of the Placement API. Flags and environment variables take precedence.

use std::path::PathBuf;

use super::auth::AuthMode;
use super::settings::settings;

const STRATEGIES: [(&str, bool); 2] = [("depth-first", false), ("breadth-first", true)];

settings! {
    /// Settings of `berth placement`.
    pub struct Placement = read(s) {
        /// Address of the Placement API.
        listen: String = text("listen", "127.0.0.1:8778"),
        /// Address of its probes, metrics and checks; `0` switches them off.
        metrics_listen: String = text("metricsListen", "127.0.0.1:8779"),
        /// Serve metrics and checks over HTTPS, to callers that the API server allows to get the path.
        metrics_secure: Option<bool> = optional_flag("metricsSecure", "true, or false on loopback"),
        /// The ledger: a SQLite file, the URL of a PostgreSQL database, or `:memory:`.
        database: String = database("database", "berth-placement.db"),
        /// File whose first line is such a URL; it takes precedence over `database`.
        database_file: Option<PathBuf> = file("databaseFile", "none"),
        /// How callers of the Placement API prove who they are.
        auth: Option<AuthMode> = choice("auth", &AuthMode::CHOICES, "as `auth.mode`"),
        /// Serve without authentication (`off`, `noauth2`) at addresses other than loopback too.
        insecure_api: bool = flag("insecureApi", false),
        /// File with rules of oslo.policy for the Placement API.
        policy_file: Option<PathBuf> = file("policyFile", "`auth.policyFile`"),
        /// Whether the newer default policies of Placement hold; without them the role admin may do everything.
        enforce_new_defaults: bool = flag("enforceNewDefaults", true),
        /// Sites whose pages may use the API; `*` is all.
        cors_origin: Vec<String> = set("corsOrigin", "none"),
        /// Request headers that these pages may send.
        cors_headers: Vec<String> = set("corsHeaders", "none"),
        /// Whether the order of hosts in allocation candidates is drawn anew for each query.
        randomize_allocation_candidates: bool = flag("randomizeAllocationCandidates", false),
        /// Whether all candidates of a host come before those of the next, or hosts take turns, one candidate each.
        breadth_first: bool = choice_or("allocationCandidatesGenerationStrategy", &STRATEGIES, 0),
        /// Candidates after which a query stops, before `limit`; -1 is no maximum.
        max_allocation_candidates: i64 = integer("maxAllocationCandidates", -1, -1..=i64::MAX),
    }
}
