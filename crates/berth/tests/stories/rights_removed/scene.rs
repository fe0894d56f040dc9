//! A cloud in which an operator uses all its rights in one cluster, and what happens there in each stage.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use berth_crds::{FlavorGroupCapacity, History, Pipeline, Reservation, generate, names, testing};
use berth_limes::requests::{Item, Ledger, Status, Terms};
use jiff::{Timestamp, ToSpan};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::place::Place;
use super::table::{Report, Row, Stage};
use crate::capacity::CONTROLLERS;
use crate::support::api_proxy::{Access, ApiProxy};
use crate::support::cloud::Cloud;
use crate::support::http::{self, get_secure};
use crate::support::nova::{of_another_project, post, wants};
use crate::support::objects::{GROUP, OTHER_ZONE, SLOT_GIB, ZONE, host, non_rejectable, slot_name};
use crate::support::operator::{Operator, SECURE_METRICS};
use crate::support::vm_table::VmFile;
use crate::support::waiting::{so, until};
use crate::support::world::World;

const NAMESPACE: &str = "berth-system";
const INFO: &str = "berth-liquid-info";
/// A Lease that only the elector competes for. Somebody else holds it, so that no right is missing for long enough to lose it.
const LEASE: &str = "lease-of-the-elector";
const READER: &str = "metrics-reader";

pub struct Scene {
    pub place: Place,
    /// Before the cluster in which rights are removed.
    pub proxy: ApiProxy,
    /// A process that does nothing but compete for a Lease, and show its metrics to known callers.
    elector: Operator,
    _vms: VmFile,
    /// Requests of Limes that nobody waits for.
    requests: Vec<JoinHandle<()>>,
}

/// What was reported before a right was removed.
pub struct Before {
    metrics: String,
    log: usize,
    elector: usize,
    refused: BTreeMap<Access, u64>,
}

fn keys(vms: &VmFile) -> Value {
    let offer = json!({ "hasCapacity": true, "hasQuota": true });
    let memory = json!({ "hasCapacity": true, "hasQuota": true, "ramUnitGiB": SLOT_GIB, "handlesCommitments": true });
    json!({
        "enabledControllers": CONTROLLERS, "capacityReconcileInterval": "2s", "capacityMinReconcileInterval": "1s",
        "committedResourceAPI": {
            "flavorGroupResourceConfig": { GROUP: { "ram": memory, "cores": offer, "instances": offer } },
            "changeRetention": "1s",
        },
        "vmSourceSqlite": vms.path(),
    })
}

impl Scene {
    pub async fn begin(mut place: Place) -> Self {
        place.install(generate::optional()).await;
        place.objects().install(generate::optional()).await;
        for role in ["clusterrolebinding", "serviceaccount"] {
            let _ = place.try_kubectl(&["delete", role, READER, "--namespace", NAMESPACE]).await;
        }
        place.kubectl(&["create", "serviceaccount", READER, "--namespace", NAMESPACE]).await;
        let account = format!("--serviceaccount={NAMESPACE}:{READER}");
        place.kubectl(&["create", "clusterrolebinding", READER, "--clusterrole=berth-metrics", &account]).await;
        place.objects().create(&host("node1", 60)).await;
        let vms = VmFile::create();
        let proxy = ApiProxy::start(&place.account_of_operator()).await;
        let kubeconfig = place.use_proxy(&proxy, keys(&vms));
        hold_lease(&place).await;
        place.world().start().await;
        let config = proxy.kubeconfig().with_file_name("elector.json");
        std::fs::write(&config, json!({ "enabledControllers": [], "leaderElectionID": LEASE }).to_string()).unwrap();
        let arguments = ["--leader-elect", SECURE_METRICS];
        let control_plane = place.world().control_plane();
        let elector = Operator::start_as("elector", control_plane, &kubeconfig, &config, &arguments).await;
        let scene = Self { place, proxy, elector, _vms: vms, requests: Vec::new() };
        // The rights in another cluster are checked when it is reached, which may be later.
        until(async || scene.is_ready().await).await.unwrap();
        scene
    }

    /// Creates everything that the stages rest on.
    pub async fn warm_up(&mut self) {
        let old = json!({ "metadata": { "name": "nova-old" },
                          "spec": { "schedulingDomain": "nova", "resourceID": "old" } });
        let _ = self.objects().raw::<History>().delete("nova-old", &DeleteParams::default()).await;
        self.objects().create_raw::<History>(old).await.unwrap();
        let decided = json!({ "status": { "current": { "timestamp": "2024-01-01T00:00:00Z", "successful": true } } });
        self.objects().edit_status::<History>("nova-old", decided).await;
        until(async || self.info_version().await.map(drop)).await.unwrap();
        self.push_quota("project-kept", &[(ZONE, 1)]).await;
        self.push_quota("project-moves", &[(ZONE, 1)]).await;
        for uuid in ["kept-1", "goes-1"] {
            self.objects().create(&non_rejectable(uuid, 1)).await;
            self.place.accepted(uuid).await;
        }
        self.sell("sold-early", None, Some(Status::Confirmed)).await;
        self.place.accepted("sold-early").await;
        self.ask("vm-early").await;
        until(async || self.scraped(200).await).await.unwrap();
    }

    pub async fn before(&self) -> Before {
        Before {
            metrics: self.place.operator().metrics().await,
            log: self.place.operator().log().len(),
            elector: self.elector.log().len(),
            refused: self.proxy.refused(),
        }
    }

    /// Lets the operator use the rights of a stage.
    pub async fn play(&mut self, stage: Stage) {
        match stage {
            Stage::Commitments => self.of_commitments().await,
            Stage::Slots => self.of_slots().await,
            Stage::Placements => self.of_placements().await,
            Stage::SlotStates => self.of_slot_states().await,
            Stage::Changes => self.of_changes().await,
            Stage::Maps => self.of_maps().await,
            Stage::Deletions => self.of_deletions().await,
            Stage::Doubts => self.of_doubts().await,
            Stage::Watches => self.proxy.cut(),
            Stage::Lists => self.proxy.expire(),
            Stage::Background => {}
        }
    }

    async fn of_commitments(&mut self) {
        self.free_lease(None).await;
        self.objects().create(&non_rejectable("first-1", 1)).await;
        self.objects().create(&host("node2", 1)).await;
        self.push_quota("project-first", &[(ZONE, 1)]).await;
        self.ask("vm-first").await;
        let step = json!([{ "name": "filter_has_enough_capacity" }]);
        let spec = json!({ "schedulingDomain": "nova", "type": "filter-weigher", "filters": step, "weighers": [] });
        let pipeline = json!({ "metadata": { "name": "own" }, "spec": spec });
        self.place.create_raw::<Pipeline>(pipeline).await.unwrap();
        self.sell("sold-first", None, Some(Status::Confirmed)).await;
    }

    async fn of_slots(&mut self) {
        self.free_lease(Some(json!({ "spec": { "holderIdentity": null } }))).await;
        self.objects().create(&non_rejectable("second-1", 1)).await;
        self.objects().delete::<FlavorGroupCapacity>(&names::flavor_group_capacity(GROUP, ZONE)).await;
        self.push_quota("project-kept", &[(ZONE, 2)]).await;
        self.ask("vm-second").await;
        self.sell("sold-second", None, Some(Status::Confirmed)).await;
        self.place.kubectl(&["delete", "configmap", INFO, "--namespace", NAMESPACE]).await;
    }

    async fn of_placements(&mut self) {
        self.push_quota("project-moves", &[(OTHER_ZONE, 1)]).await;
        self.ask("vm-third").await;
        // This one goes into a slot of its project.
        post(self.api(), &wants("vm-inside", &["node1"])).await;
        self.sell("sold-third", None, Some(Status::Confirmed)).await;
        self.change_info().await;
    }

    async fn of_slot_states(&mut self) {
        self.unsettle_slot().await;
        self.push_quota("project-fourth", &[(ZONE, 1)]).await;
        self.ask("vm-fourth").await;
        self.sell("sold-early", Some(Status::Confirmed), None).await;
    }

    async fn of_changes(&mut self) {
        for _ in 0..2 {
            self.ask("vm-fifth").await;
        }
        self.sell("sold-fifth", None, Some(Status::Confirmed)).await;
        self.proxy.lose_answers([INFO.to_owned()]);
        self.change_info().await;
    }

    async fn of_maps(&mut self) {
        self.objects().create(&non_rejectable("sixth-1", 1)).await;
        self.place.kubectl(&["delete", "configmap", "berth-claims", "--namespace", NAMESPACE]).await;
        self.ask("vm-sixth").await;
    }

    async fn of_deletions(&mut self) {
        self.objects().delete_commitment("goes-1").await;
        let spec = json!({ "flavorGroup": "gone", "availabilityZone": ZONE });
        let left = json!({ "metadata": { "name": names::flavor_group_capacity("gone", ZONE) }, "spec": spec });
        self.objects().create_raw::<FlavorGroupCapacity>(left).await.unwrap();
        self.sell("sold-seventh", None, Some(Status::Confirmed)).await;
    }

    async fn of_doubts(&mut self) {
        // A creation that the watch shows is in doubt no more.
        let kinds = [
            "commitmentchanges/status",
            "committedresources",
            "flavorgroupcapacities",
            "projectquotas",
            "reservations",
        ];
        self.proxy.lose_answers(kinds.map(str::to_owned));
        self.unsettle_slot().await;
        self.objects().respec("kept-1", json!({ "amount": "960Gi" })).await;
        self.objects().create(&host("node4", 1)).await;
        self.push_quota("project-first", &[(ZONE, 5)]).await;
        self.sell("sold-eighth", None, Some(Status::Confirmed)).await;
    }

    /// Whether the right is missed where the table says.
    pub async fn is_reported(&self, row: &Row, before: &Before) -> Result<(), String> {
        let resource = row.resource;
        if matches!(row.report, Report::Unanswered) {
            self.scraped(503).await?;
        }
        let access = (row.verb.to_owned(), resource.to_owned());
        let is_refused = self.proxy.refused().get(&access) > before.refused.get(&access);
        so(is_refused, || format!("{} {resource} was not refused", row.verb))?;
        let metrics = self.place.operator().metrics().await;
        let rises = |metric: &str, words: &[&str]| {
            let (old, new) = (http::sum(&before.metrics, metric, words), http::sum(&metrics, metric, words));
            so(new > old, || format!("{metric} {words:?} is still {new}"))
        };
        match row.report {
            Report::Writes(kind, verb) => {
                let (kind, verb) = (format!("kind=\"{kind}\""), format!("verb=\"{verb}\""));
                rises("berth_writes_total", &[&kind, &verb, "outcome=\"unavailable\""])
            }
            Report::Counted(metric, label) => rises(metric, &[label]),
            Report::InDoubt(kind) => {
                let doubts = http::sum(&metrics, "berth_writes_in_doubt", &[&format!("kind=\"{kind}\"")]);
                let is_said = || self.is_logged(before, "cannot get resource", resource);
                so(doubts > 0 || is_said(), || format!("no {kind} is in doubt"))
            }
            Report::Logged(first, second) => {
                so(self.is_logged(before, first, second), || format!("no line has {first:?} and {second:?}"))
            }
            Report::Unanswered => Ok(()),
        }
    }

    /// Whether a new line of the operator or the elector says that something is forbidden, with these words.
    fn is_logged(&self, before: &Before, first: &str, second: &str) -> bool {
        let (log, elector) = (self.place.operator().log(), self.elector.log());
        let new = [log.get(before.log..), elector.get(before.elector..)].map(Option::unwrap_or_default);
        let is_it = |line: &str| line.contains(first) && line.contains(second) && line.contains("forbidden");
        new.iter().any(|log| log.lines().any(is_it))
    }

    /// Nothing is in doubt any more, and everything is followed that was followed before.
    pub async fn recovers(&mut self, stage: Stage, before: &Before) {
        self.requests.drain(..).for_each(|request| request.abort());
        self.proxy.lose_answers([]);
        let settled = until(async || {
            let metrics = self.place.operator().metrics().await;
            let doubts = http::sum(&metrics, "berth_writes_in_doubt", &[]);
            so(!metrics.is_empty() && doubts == 0, || format!("{doubts} objects in doubt"))?;
            let complete = [&before.metrics, &metrics].map(|text| http::sum(text, "berth_store_complete", &[]));
            so(complete[1] >= complete[0], || format!("{} of {} stores are complete", complete[1], complete[0]))?;
            // What somebody has changed is put right, so that the next failure is news.
            let info = ["get", "configmap", INFO, "--namespace", NAMESPACE, "--output=jsonpath={.data.changed}"];
            let changed = self.place.try_kubectl(&info).await?;
            so(changed.is_empty(), || format!("{INFO} is as somebody has left it: {changed}"))?;
            self.is_ready().await
        });
        settled.await.unwrap_or_else(|bad| panic!("after {stage:?}: {bad}\n{}", self.report()));
    }

    /// Whether no zone has to wait for its cluster either.
    async fn is_ready(&self) -> Result<(), String> {
        let answer = self.place.operator().probe("/readyz").await;
        let is_ready = answer.as_ref().is_some_and(|(status, text)| *status == 200 && text.trim() == "ok");
        so(is_ready, || format!("{answer:?}"))
    }

    /// Before the rights are granted again: the elector is not to lead.
    pub async fn hold_lease(&self) {
        if self.removes_rights_to_leases() {
            hold_lease(&self.place).await;
        }
    }

    fn removes_rights_to_leases(&self) -> bool {
        matches!(self.place, Place::Home(_))
    }

    pub fn report(&self) -> String {
        let elector = self.elector.log().lines().last().unwrap_or_default().to_owned();
        format!("{}\nThe elector:\n{elector}", self.place.operator().end_of_log())
    }

    pub async fn end(mut self) {
        self.requests.drain(..).for_each(|request| request.abort());
        self.elector.stop().await;
        self.place.world().stop().await;
    }

    /// Where the objects of zones are.
    fn objects(&self) -> &Cloud {
        self.place.objects()
    }

    /// Deletes the Lease, or changes it, so that the elector tries to take it. It would succeed where the rights to Leases are not
    /// removed, and end when the Lease is held again.
    async fn free_lease(&self, change: Option<Value>) {
        if !self.removes_rights_to_leases() {
            return;
        }
        let leases: Api<Lease> = Api::namespaced(self.place.client().await, NAMESPACE);
        match change {
            None => drop(leases.delete(LEASE, &DeleteParams::default()).await.unwrap()),
            Some(change) => drop(leases.patch(LEASE, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()),
        }
    }

    async fn info_version(&self) -> Result<i64, String> {
        let (status, text) = http::get(self.api(), "/commitments/v1/info").await.ok_or("no answer")?;
        so(status == 200, || text.clone())?;
        let info: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        info["version"].as_i64().ok_or(text)
    }

    fn api(&self) -> SocketAddr {
        self.place.operator().api()
    }

    /// Limes changes a commitment; nobody waits for the answer.
    async fn sell(&mut self, uuid: &str, old: Option<Status>, new: Option<Status>) {
        let info_version = until(async || self.info_version().await).await.unwrap();
        let expires_at = Timestamp::now().checked_add(24.hours()).unwrap();
        let terms = Terms { zone: ZONE.to_owned(), info_version, expires_at };
        let (project, resource) = (testing::PROJECT.to_owned(), format!("hw_version_{GROUP}_ram"));
        let item = Item { project, resource, uuid: uuid.to_owned(), old, new, amount: 1 };
        let (request, _) = Ledger::default().request(&terms, &[item]);
        let (api, body) = (self.api(), serde_json::to_string(&request).unwrap());
        self.requests.push(tokio::spawn(async move {
            http::post(api, "/commitments/v1/change-commitments", body.as_bytes()).await;
        }));
    }

    async fn push_quota(&self, project: &str, zones: &[(&str, u64)]) {
        let per_zone: BTreeMap<_, _> = zones.iter().map(|(zone, quota)| (*zone, json!({ "quota": quota }))).collect();
        let sum: u64 = zones.iter().map(|(_, quota)| quota).sum();
        let body = json!({ "resources": { format!("hw_version_{GROUP}_ram"): { "quota": sum, "perAZ": per_zone } } });
        let (path, body) = (format!("/commitments/v1/projects/{project}/quota"), body.to_string());
        // What is answered depends on the rights.
        let _ = http::send(self.api(), "PUT", &path, body.len(), body.as_bytes()).await;
    }

    /// Somebody takes away what a slot reports.
    async fn unsettle_slot(&self) {
        let nothing = json!({ "status": { "conditions": null } });
        self.objects().edit_status::<Reservation>(&slot_name("kept-1", 0), nothing).await;
    }

    async fn ask(&self, vm: &str) {
        post(self.api(), &of_another_project(wants(vm, &["node1"]))).await;
    }

    /// Somebody changes what Limes is told.
    async fn change_info(&self) {
        let change = json!({ "data": { "changed": Timestamp::now().to_string() } }).to_string();
        let patch = ["patch", "configmap", INFO, "--namespace", NAMESPACE, "--type=merge", "--patch", &change];
        // It comes back a while after it was deleted.
        until(async || self.place.try_kubectl(&patch).await).await.unwrap();
    }

    /// A caller that was not seen before is answered with this status.
    async fn scraped(&self, status: u16) -> Result<(), String> {
        let token = self.place.kubectl(&["create", "token", READER, "--namespace", NAMESPACE]).await;
        let shown = format!("Bearer {}", token.trim());
        let answer = get_secure(self.elector.metrics_address(), "/metrics", Some(&shown)).await;
        so(answer.as_ref().is_some_and(|(found, _)| *found == status), || format!("not {status}: {answer:?}"))
    }
}

/// Lets somebody who does not run hold the Lease for an hour.
async fn hold_lease(world: &World) {
    let leases: Api<Lease> = Api::namespaced(world.client().await, NAMESPACE);
    let spec = json!({ "holderIdentity": "somebody", "leaseDurationSeconds": 3600, "renewTime": Timestamp::now().to_string(),
                       "acquireTime": Timestamp::now().to_string(), "leaseTransitions": 1 });
    let _ = leases.delete(LEASE, &DeleteParams::default()).await;
    let lease = json!({ "metadata": { "name": LEASE }, "spec": spec });
    let lease: Lease = serde_json::from_value(lease).unwrap();
    leases.create(&kube::api::PostParams::default(), &lease).await.unwrap();
}
