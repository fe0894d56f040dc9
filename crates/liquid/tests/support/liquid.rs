//! The service behind `change-commitments` on a process of this folder, and a replica that forwards to it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use berth_cluster::{FlavorGroupsCache, Routes};
use berth_committed_resource::{ChangeVerdict, CommittedResourceController, ProposedCommitment};
use berth_core::GroupName;
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_core::liquid::units::RamUnit;
use berth_crds::testing;
use berth_http::{Forwarder, Role};
use berth_liquid::server::{ChangeCall, ChangeHandler as _, LiquidMetrics};
use berth_liquid::service::{
    ChangeService, Context, DryRun, DryRunVerdict, Leading, ProposedSpec, ServedInfo, Settings,
};
use berth_scheduler::BuiltIn;
use berth_telemetry::ids::FreshIds;
use berth_testkit::World;
use berth_testkit::seeds::SLOT_GIB;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{Process, events, metrics};

/// The version of the service info.
pub const VERSION: i64 = 1_772_439_300;

const LEADER: &str = "http://10.0.0.7:8080";
const RAM: &str = "hw_version_mem_v4_ram";

/// What surrounds the service of one replica.
struct Surroundings {
    commitments: Arc<CommittedResourceController<BuiltIn>>,
    /// The service of the leader, if this replica does not lead.
    leader: Option<Arc<ChangeService>>,
}

impl Leading for Surroundings {
    fn role(&self) -> Role {
        match self.leader {
            None => Role::Leader,
            Some(_) => Role::Follower { leader: Some(LEADER.to_owned()) },
        }
    }

    fn find_leader(&self) {}
}

impl ServedInfo for Surroundings {
    fn version(&self) -> Option<i64> {
        Some(VERSION)
    }

    fn ram_unit(&self, _: &GroupName) -> Option<RamUnit> {
        RamUnit::new(SLOT_GIB).ok()
    }
}

impl DryRun for Surroundings {
    fn dry_run<'a>(&'a self, change: Vec<ProposedSpec>, request_id: &'a str) -> BoxFuture<'a, DryRunVerdict> {
        Box::pin(async move {
            let proposed = |one: ProposedSpec| ProposedCommitment {
                key: one.key,
                uuid: one.uuid,
                object: one.object,
                after: one.after,
            };
            let change: Vec<_> = change.into_iter().map(proposed).collect();
            match self.commitments.dry_run_change(&change, request_id).await {
                ChangeVerdict::Fits => DryRunVerdict::Fits,
                ChangeVerdict::Rejected(rejected) => DryRunVerdict::Rejected(rejected),
                ChangeVerdict::Undecided(uuid, why) => DryRunVerdict::Undecided(uuid, why),
            }
        })
    }
}

impl Forwarder for Surroundings {
    fn forward<'a>(
        &'a self,
        leader: &'a str,
        _: Method,
        _: &'a str,
        body: Bytes,
        headers: &'a HeaderMap,
        _: Duration,
    ) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            assert_eq!(leader, LEADER);
            let request_id = headers["x-request-id"].to_str().unwrap().to_owned();
            self.leader.as_ref().unwrap().change(ChangeCall { body, headers: headers.clone(), request_id }).await
        })
    }
}

/// The service of a process that leads. An external scheduler decides itself, so that nothing is tried first.
pub fn serve(process: &Process, tries_first: bool) -> Arc<ChangeService> {
    service(process, &process.world, None, tries_first)
}

/// The service of another replica, which has its own stores.
pub fn follow(process: &Process, leader: &Arc<ChangeService>) -> Arc<ChangeService> {
    let world = World::new(&process.world.server);
    world.list().unwrap();
    service(process, &world, Some(leader.clone()), true)
}

fn service(
    process: &Process,
    world: &World,
    leader: Option<Arc<ChangeService>>,
    tries_first: bool,
) -> Arc<ChangeService> {
    let surroundings = Arc::new(Surroundings { commitments: process.commitments.clone(), leader });
    let stores = &world.stores;
    Arc::new(ChangeService::new(Context {
        leading: surroundings.clone(),
        forwarder: surroundings.clone(),
        info: surroundings.clone(),
        dry_run: surroundings,
        flavor_groups: FlavorGroupsCache::new(stores.knowledges.clone()),
        resources: resources(),
        commitments: stores.commitments.clone(),
        reservations: stores.reservations.clone(),
        hypervisors: stores.hypervisors.clone(),
        changes: world.writer(&stores.changes),
        under_way: process.under_way.clone(),
        routes: Routes::home_only(),
        pauses: world.pauses(),
        clock: process.clock.clone(),
        events: events(world),
        ids: FreshIds::counted(),
        metrics: LiquidMetrics::register(&metrics()).unwrap(),
        settings: Settings { tries_first, ..Settings::default() },
    }))
}

fn resources() -> ResourceConfig {
    let flags = ResourceFlags { handles_commitments: true, handles_dry_run: true, ..ResourceFlags::default() };
    let group = GroupResources { ram: flags, cores: flags, ram_unit_gib: SLOT_GIB, ..GroupResources::default() };
    [("*".into(), group)].into_iter().collect()
}

/// The slots that commitments shall have; `None` deletes one.
pub type Wanted = Vec<(String, Option<u64>)>;

/// Whether Limes waits for the answer: deletions alone need no consent.
pub fn requires_confirmation(wanted: &[(String, Option<u64>)]) -> bool {
    wanted.iter().any(|(_, slots)| slots.is_some())
}

/// The body of such a request. Its totals grow if it needs confirmation.
pub fn body(wanted: &[(String, Option<u64>)]) -> Value {
    let commitment = |(uuid, slots): &(String, Option<u64>)| match slots {
        Some(slots) => json!({ "uuid": uuid, "oldStatus": null, "newStatus": "confirmed", "amount": slots }),
        None => json!({ "uuid": uuid, "oldStatus": "confirmed", "newStatus": null, "amount": 1 }),
    };
    let totals = if requires_confirmation(wanted) { (0, 1_000_000) } else { (wanted.len(), 0) };
    json!({
        "az": testing::ZONE, "dryRun": false, "infoVersion": VERSION,
        "byProject": { testing::PROJECT: {
            "projectMetadata": {
                "uuid": testing::PROJECT, "name": "p", "domain": { "uuid": testing::DOMAIN, "name": "d" },
            },
            "byResource": { RAM: {
                "totalConfirmedBefore": totals.0, "totalConfirmedAfter": totals.1,
                "totalGuaranteedBefore": 0, "totalGuaranteedAfter": 0,
                "commitments": wanted.iter().map(commitment).collect::<Vec<_>>(),
            } },
        } },
    })
}

/// What a caller gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Accepted,
    /// There is not enough capacity.
    Rejected,
    /// Nothing was decided, with the status and the text.
    NoVerdict(u16, String),
}

/// Sends a request, and waits for the answer.
pub async fn ask(service: Arc<ChangeService>, body: Value) -> Answer {
    let call =
        ChangeCall { body: body.to_string().into(), headers: HeaderMap::new(), request_id: "9f31c0de-77aa".to_owned() };
    let (head, body) = service.change(call).await.into_parts();
    let text = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
    match head.status.as_u16() {
        200 if text.trim_end() == "{}" => Answer::Accepted,
        200 if text.contains("insufficient capacity") => Answer::Rejected,
        status => Answer::NoVerdict(status, text),
    }
}
