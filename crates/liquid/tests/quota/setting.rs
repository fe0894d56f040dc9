//! A process that serves quota, over the double of the API server.
#![allow(dead_code, reason = "each target uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use berth_cluster::{Fence, FlavorGroupsCache, Routes};
use berth_core::liquid::resources::{GroupResources, ResourceConfig};
use berth_core::liquid::units::RamUnit;
use berth_core::{GroupName, Zone};
use berth_crds::{ProjectQuota, names};
use berth_http::forwarder::Unanswered;
use berth_http::{Forwarder, Role};
use berth_liquid::quota::{Context, QuotaService};
use berth_liquid::server::{QuotaCall, QuotaHandler as _};
use berth_liquid::service::{Leading, ServedInfo};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_testkit::{Server, World, seeds};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub const PROJECT: &str = "p1";
pub const COLLECTION: &str = "/apis/cortex.cloud/v1alpha1/projectquotas";

/// What the test decides for the rest of the process.
pub struct Stubs {
    pub role: Mutex<Role>,
    pub searches: AtomicUsize,
    /// The published units, by group.
    pub published: Mutex<BTreeMap<&'static str, u64>>,
    /// Method and path, request id and time left of what was forwarded.
    pub forwarded: Mutex<Vec<(String, HeaderMap, Duration)>>,
    /// The answer of the leader, and whether it is none.
    pub leader_answer: Mutex<(StatusCode, bool)>,
}

impl Default for Stubs {
    fn default() -> Self {
        Self {
            role: Mutex::new(Role::Leader),
            searches: AtomicUsize::default(),
            published: Mutex::default(),
            forwarded: Mutex::default(),
            leader_answer: Mutex::new((StatusCode::NO_CONTENT, false)),
        }
    }
}

impl Leading for Stubs {
    fn role(&self) -> Role {
        self.role.lock().clone()
    }

    fn find_leader(&self) {
        self.searches.fetch_add(1, Ordering::Relaxed);
    }
}

impl ServedInfo for Stubs {
    fn version(&self) -> Option<i64> {
        None
    }

    fn ram_unit(&self, group: &GroupName) -> Option<RamUnit> {
        self.published.lock().get(group.as_str()).and_then(|gib| RamUnit::new(*gib).ok())
    }
}

impl Forwarder for Stubs {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        method: Method,
        path: &'a str,
        _: Bytes,
        headers: &'a HeaderMap,
        left: Duration,
    ) -> BoxFuture<'a, Response> {
        self.forwarded.lock().push((format!("{method} {leader}{path}"), headers.clone(), left));
        let (status, is_unanswered) = *self.leader_answer.lock();
        Box::pin(async move {
            let mut response = Response::builder().status(status).body(Body::empty()).unwrap();
            if is_unanswered {
                response.extensions_mut().insert(Unanswered);
            }
            response
        })
    }
}

/// One process.
pub struct Process {
    pub world: World,
    pub service: Arc<QuotaService>,
    pub stubs: Arc<Stubs>,
}

/// What a process is started with besides the server.
pub struct Start {
    pub routes: Routes,
    pub fence: Fence,
    pub served: &'static [&'static str],
}

impl Default for Start {
    fn default() -> Self {
        Self { routes: Routes::home_only(), fence: Fence::open(), served: &[] }
    }
}

/// An answer as a caller sees it.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub status: u16,
    pub retry_after: Option<String>,
    pub text: String,
}

impl Seen {
    pub fn is(&self, status: u16, text: &str) {
        assert_eq!((self.status, self.text.trim_end()), (status, text));
    }
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()))
}

/// A server with flavor groups.
pub fn server() -> Server {
    let clock = clock();
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    server
}

impl Process {
    pub fn start(server: &Server) -> Self {
        Self::start_with(server, Start::default())
    }

    pub fn start_with(server: &Server, start: Start) -> Self {
        let world = World::new(server);
        world.list().unwrap();
        let stubs = Arc::new(Stubs::default());
        let service = QuotaService::new(Context {
            leading: stubs.clone(),
            forwarder: stubs.clone(),
            info: stubs.clone(),
            flavor_groups: FlavorGroupsCache::new(world.stores.knowledges.clone()),
            resources: resources(),
            quotas: world.writer(&world.stores.quotas).fenced(start.fence),
            routes: start.routes,
            served_zones: start.served.iter().map(|zone| Zone::from(*zone)).collect::<BTreeSet<_>>(),
        });
        Self { world, service: Arc::new(service), stubs }
    }

    pub async fn push(&self, body: &Value) -> Seen {
        self.send(body.to_string(), HeaderMap::new()).await
    }

    pub async fn send(&self, body: impl Into<Bytes>, headers: HeaderMap) -> Seen {
        let call = QuotaCall { project: PROJECT.into(), body: body.into(), headers, request_id: "s-1".to_owned() };
        let (head, body) = self.service.set_quota(call).await.into_parts();
        let text = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
        let retry_after = head.headers.get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        Seen { status: head.status.as_u16(), retry_after, text }
    }
}

/// Units of 480 GiB for `hana_v3`, and of one GiB for others.
fn resources() -> ResourceConfig {
    let of = |ram_unit_gib| GroupResources { ram_unit_gib, ..GroupResources::default() };
    [("hana_v3".into(), of(480)), ("*".into(), of(1))].into_iter().collect()
}

/// A push of these values by resource, without the prefix of its name, and zone.
pub fn push(values: &[(&str, &str, u64)]) -> Value {
    let mut resources = json!({});
    for (resource, zone, quota) in values {
        resources[format!("hw_version_{resource}")]["perAZ"][*zone]["quota"] = json!(quota);
    }
    let domain = json!({ "uuid": "d-1", "name": "corp" });
    json!({ "resources": resources, "projectMetadata": { "uuid": PROJECT, "name": "prod", "domain": domain } })
}

/// The stored quota of the project: by zone, then by resource without the prefix of its name.
pub fn stored(server: &Server) -> Value {
    let mut zones = json!({});
    for object in server.all::<ProjectQuota>().unwrap() {
        let spec = object.spec;
        let name = names::project_quota(&spec.project_id, &spec.availability_zone);
        assert_eq!(object.metadata.name.as_deref(), Some(&*name));
        if spec.project_id == PROJECT {
            let quota = spec.quota.iter().map(|(name, value)| (name.replacen("hw_version_", "", 1), json!(value)));
            zones[spec.availability_zone] = Value::Object(quota.collect());
        }
    }
    zones
}

pub fn object_in(server: &Server, zone: &str) -> ProjectQuota {
    server.get(&names::project_quota(PROJECT, zone)).unwrap()
}

pub fn path_in(zone: &str) -> String {
    format!("{COLLECTION}/{}", names::project_quota(PROJECT, zone))
}
