//! A second control plane beside that of [`World`]: the cluster of [`OTHER_ZONE`], in which the operator has the same
//! identity as at home. Tests see both clusters, and the invariants are checked over both together.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use berth_control_plane::ControlPlane;
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, names};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::time::sleep;

use super::cloud::Cloud;
use super::host_checker::HostChecker;
use super::invariants;
use super::objects::OTHER_ZONE;
use super::operator::Operator;
use super::seen::{Seen, ready};
use super::waiting::{none, so, until};
use super::world::{GRACE, QUIET, STAGES, World, apply, client, keys};

/// The user agent of the operator for both API servers.
const NAME: &str = "berth";

/// The folder with the rights in another cluster than that of the operator.
const RIGHTS: &str = "rbac/remote";

/// Kinds whose objects are in the cluster of their zone.
const OF_ZONES: [&str; 4] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "kvm.cloud.sap/v1/Hypervisor",
];

/// One for each home cluster, whose account it trusts.
static REMOTES: [OnceCell<Mutex<ControlPlane>>; STAGES] = [const { OnceCell::const_new() }; STAGES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The cluster of the operator, of the flavor groups, and of every zone but one.
    Home,
    Remote,
}

pub const SIDES: [Side; 2] = [Side::Home, Side::Remote];

/// The fixture of one test. It reads and writes at home as [`World`] does.
pub struct TwoClusters {
    home: World,
    cloud: Cloud,
    /// The checker of the remote's hosts; `home` has its own.
    _host_checker: HostChecker,
    remote: MutexGuard<'static, ControlPlane>,
    config: PathBuf,
}

impl Deref for TwoClusters {
    type Target = World;

    fn deref(&self) -> &World {
        &self.home
    }
}

impl TwoClusters {
    /// Two empty clouds, and the operator, which has synced both.
    pub async fn begin() -> Self {
        let mut two = Self::without_operator().await;
        two.start().await;
        two.remote_is(1).await;
        two
    }

    /// Two empty clouds, without an operator.
    pub async fn without_operator() -> Self {
        let home = World::without_operator().await;
        let remote = REMOTES[home.stage()].get_or_init(async || Mutex::new(second(&home).await));
        let mut remote = remote.await.lock().await;
        let cloud = Cloud::new(client(&remote).await);
        if cloud.see().await.is_err() {
            // A test of an outage may have failed in the middle of it.
            remote.restart_api_server().await.unwrap();
        }
        apply(&remote, RIGHTS).await;
        cloud.clear().await;
        let host_checker = HostChecker::begin(&remote, &cloud).await;
        let config = remote.kubeconfig().with_file_name("two.json");
        let two = Self { home, cloud, _host_checker: host_checker, remote, config };
        two.configure(&[]);
        two
    }

    /// Writes the configuration, with more remotes that have these addresses and zones.
    pub fn configure(&self, more: &[(&str, &str)]) {
        let remote = |url: &str, zone: &str, certificate: Option<String>| json!({ "host": url, "caCert": certificate, "labels": { "availabilityZone": zone }, "gvks": OF_ZONES });
        let real = remote(self.remote.url(), OTHER_ZONE, self.remote.root_certificate().ok());
        let more = more.iter().map(|(url, zone)| remote(url, zone, None));
        let home: Vec<_> = OF_ZONES.into_iter().chain(["cortex.cloud/v1alpha1/Knowledge"]).collect();
        let mut config = keys(NAME, GRACE);
        let remotes: Vec<Value> = [real].into_iter().chain(more).collect();
        config["apiservers"] = json!({ "home": { "gvks": home }, "remotes": remotes });
        fs::write(&self.config, config.to_string()).unwrap();
    }

    /// Starts the operator and waits until it is ready, which is independent of the remote.
    pub async fn start(&mut self) {
        let account = self.home.account().to_owned();
        let operator = Operator::start(self.home.control_plane(), &account, &self.config).await;
        self.home.adopt(operator);
        self.until("the operator is ready", async |two| match two.operator().probe("/readyz").await {
            Some((200, _)) => Ok(()),
            other => Err(format!("/readyz answers {other:?}")),
        })
        .await;
    }

    pub async fn stop(&mut self) {
        self.home.stop().await;
    }

    /// Kills the API server of the remote.
    pub async fn remote_goes(&mut self) {
        self.remote.stop_api_server().await.unwrap();
    }

    pub async fn remote_comes(&mut self) {
        self.remote.restart_api_server().await.unwrap();
    }

    /// Waits until the operator watches all kinds of the remote (1), or none (0).
    pub async fn remote_is(&self, complete: u64) {
        let wanted = OF_ZONES.len() as u64 * complete;
        self.until(&format!("{wanted} stores watch the remote"), async |two| {
            let cluster = format!("cluster=\"{OTHER_ZONE}\"");
            let sum = two.counted("berth_store_complete", &[&cluster]).await;
            so(sum == wanted, || format!("{sum} do"))
        })
        .await;
    }

    /// Waits until `/readyz` is 200 and reports this about a remote; without words, that all remotes are healthy.
    pub async fn ready_but(&self, words: &[&str]) {
        self.until(&format!("/readyz names {words:?}"), async |two| match two.operator().probe("/readyz").await {
            Some((200, text)) => {
                let good =
                    if words.is_empty() { text.trim() == "ok" } else { words.iter().all(|word| text.contains(word)) };
                so(good, || text)
            }
            other => Err(format!("/readyz answers {other:?}")),
        })
        .await;
    }

    /// The sum of the samples of a metric of the operator whose line has all these words.
    pub async fn counted(&self, metric: &str, words: &[&str]) -> u64 {
        super::http::sum(&self.operator().metrics().await, metric, words)
    }

    /// Removes a verb on a resource from the rights of the account in the remote.
    pub async fn deny(&self, resource: &str, verb: &str) {
        let api: Api<ClusterRole> = Api::all(client(&self.remote).await);
        let mut role = api.get(NAME).await.unwrap();
        let rules = role.rules.iter_mut().flatten();
        for rule in rules.filter(|rule| rule.resources.iter().flatten().any(|one| one == resource)) {
            rule.verbs.retain(|one| one != verb);
        }
        api.replace(NAME, &PostParams::default(), &role).await.unwrap();
    }

    /// Takes all rights in the remote from the account.
    pub async fn deny_all(&self) {
        let (client, nothing) = (client(&self.remote).await, Patch::Merge(json!({ "rules": [] })));
        let roles: Api<ClusterRole> = Api::all(client.clone());
        roles.patch(NAME, &PatchParams::default(), &nothing).await.unwrap();
        let of_events: Api<Role> = Api::namespaced(client, "default");
        of_events.patch("berth-events", &PatchParams::default(), &nothing).await.unwrap();
    }

    /// Gives the account all its rights in the remote.
    pub async fn grant(&self) {
        apply(&self.remote, RIGHTS).await;
    }

    pub fn home(&mut self) -> &mut World {
        &mut self.home
    }

    /// A client of somebody who may do everything in the remote.
    pub async fn client_of_remote(&self) -> Client {
        client(&self.remote).await
    }

    /// Writes a kubeconfig with the address of the remote and the credentials that the operator shows it.
    pub fn account_in_remote(&self) -> PathBuf {
        let mut account = Kubeconfig::read_from(self.home.account()).unwrap();
        let remote = Kubeconfig::read_from(self.remote.kubeconfig()).unwrap();
        account.clusters[0].cluster.clone_from(&remote.clusters[0].cluster);
        let path = self.config.with_file_name("account-of-operator.json");
        fs::write(&path, serde_json::to_string(&account).unwrap()).unwrap();
        path
    }

    /// The file with the configuration.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// A cluster as every client but the operator uses it.
    pub fn at(&self, side: Side) -> &Cloud {
        match side {
            Side::Home => &self.home,
            Side::Remote => &self.cloud,
        }
    }

    pub async fn seen(&self, side: Side) -> Seen {
        self.at(side).see().await.unwrap()
    }

    pub async fn both(&self) -> Result<[Seen; 2], String> {
        let see = async |side| self.at(side).see().await.map_err(|error| format!("{side:?}: {error}"));
        Ok([see(Side::Home).await?, see(Side::Remote).await?])
    }

    /// The reasons of the events about a commitment in one cluster, in order.
    pub async fn events(&self, side: Side, uuid: &str) -> Vec<String> {
        let control_plane = match side {
            Side::Home => None,
            Side::Remote => Some(&*self.remote),
        };
        let client = match control_plane {
            None => self.home.client().await,
            Some(control_plane) => client(control_plane).await,
        };
        let about = ListParams::default().fields(&format!("regarding.name={}", names::commitment(uuid)));
        let mut events = Api::<Event>::namespaced(client, "default").list(&about).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        events.into_iter().filter_map(|event| event.reason).collect()
    }

    /// Waits until the check succeeds; a failure shows both clusters and the operator.
    pub async fn until<T>(&self, what: &str, reconcile: impl AsyncFn(&Self) -> Result<T, String>) -> T {
        match until(async || reconcile(self).await).await {
            Ok(good) => good,
            Err(bad) => panic!("{what}: {bad}\n{}", self.report().await),
        }
    }

    async fn report(&self) -> String {
        let remote = self.cloud.see().await.map_or_else(|error| error.to_string(), |seen| seen.to_string());
        format!("The objects of the remote:\n{remote}\nHome. {}", self.home.report().await)
    }

    /// Waits until one cluster passes `checker`.
    pub async fn sees<T>(&self, side: Side, what: &str, checker: impl Fn(&Seen) -> Result<T, String>) -> T {
        let reconcile = async |two: &Self| checker(&two.at(side).see().await.map_err(|error| error.to_string())?);
        self.until(&format!("{side:?}: {what}"), reconcile).await
    }

    /// Waits until a commitment of one cluster has this ready condition for its current generation.
    pub async fn reported(&self, side: Side, uuid: &str, reason: &str, message: &str) -> Seen {
        let what = format!("{uuid} has {reason}: {message}");
        self.sees(side, &what, |seen| {
            let commitment = seen.commitment(uuid).ok_or("it is not there")?;
            let ready = ready(commitment).ok_or("it has no condition")?;
            let present = ready.observed_generation == commitment.metadata.generation;
            so(present && ready.reason == reason && ready.message.starts_with(message), || {
                format!("it has {}: {} (of its generation: {present})", ready.reason, ready.message)
            })?;
            Ok(seen.clone())
        })
        .await
    }

    /// Waits until a commitment of one cluster is accepted with its current spec.
    pub async fn accepted(&self, side: Side, uuid: &str) -> Seen {
        self.reported(side, uuid, "Accepted", "commitment successfully reserved").await
    }

    /// Waits until a commitment is not in a cluster any more.
    pub async fn gone(&self, side: Side, uuid: &str) -> Seen {
        let there = |seen: &Seen| so(seen.commitment(uuid).is_none(), || "it is there".to_owned());
        self.sees(side, &format!("{uuid} is gone"), |seen| there(seen).map(|()| seen.clone())).await
    }

    /// The writes of the operator to commitments and slots in both clusters, including those without a change.
    fn written(&self) -> usize {
        let (home, remote) = (self.home.audit_log(), self.remote.write_requests().unwrap());
        let ours = home.into_iter().chain(remote).filter(|write| {
            let kind = write.resource.split('/').next().unwrap_or_default();
            write.user_agent.starts_with(NAME) && ["committedresources", "reservations"].contains(&kind)
        });
        ours.count()
    }

    /// Waits until nothing happens any more and all invariants hold over both clusters.
    pub async fn rest(&self) -> [Seen; 2] {
        self.until("both clusters are at rest and all invariants hold", async |two| {
            let before = two.both().await?;
            let [home, remote] = &before;
            none(&invariants::broken_at_rest_in(&[(ClusterName::home(), home), (OTHER_ZONE.into(), remote)]))?;
            let reconciliations = two.operator().reconciliations().await;
            sleep(QUIET).await;
            let later = two.both().await?;
            so(versions(&before) == versions(&later), || "objects still change".to_owned())?;
            let more = two.operator().reconciliations().await - reconciliations;
            so(more == 0, || format!("{more} reconciliations within {QUIET:?}"))?;
            Ok(later)
        })
        .await
    }

    /// Ends the test: the invariants hold, and another reconciliation or a restart writes nothing.
    pub async fn end(mut self) {
        let before = self.rest().await;
        let written = self.written();
        self.enqueue_all(&before).await;
        self.nothing_was_written("when it reconciles again", &before, written).await;
        self.stop().await;
        self.start().await;
        self.remote_is(1).await;
        self.nothing_was_written("after a restart", &before, written).await;
        self.stop().await;
    }

    async fn enqueue_all(&self, seen: &[Seen; 2]) {
        let (reconciliations, all) = (
            self.operator().reconciliations().await,
            seen.iter().map(|seen| seen.commitments.len() as u64).sum::<u64>(),
        );
        let change = json!({ "metadata": { "annotations": { "test/woken": reconciliations.to_string() } } });
        self.edit::<Knowledge>(names::FLAVOR_GROUPS, change).await;
        self.until("the operator reconciles again", async |two| {
            let after = two.operator().reconciliations().await;
            so(after >= reconciliations + all, || format!("{after} reconciliations, {} wanted", reconciliations + all))
        })
        .await;
    }

    async fn nothing_was_written(&self, when: &str, before: &[Seen; 2], written: usize) {
        let objects: usize = before.iter().map(|seen| seen.commitments.len() + seen.slots().count()).sum();
        self.until("all objects were reconciled", async |two| {
            let reconciliations = two.operator().reconciliations().await;
            so(reconciliations >= objects as u64, || format!("{reconciliations} reconciliations of {objects} objects"))
        })
        .await;
        let after = self.rest().await;
        let more = self.written() - written;
        let same = versions(before) == versions(&after);
        assert!(same && more == 0, "{when}: {more} writes, the same: {same}\n{}", self.report().await);
    }
}

fn versions(both: &[Seen; 2]) -> [BTreeMap<String, String>; 2] {
    both.each_ref().map(Seen::versions)
}

pub fn of_remote(mut commitment: CommittedResource) -> CommittedResource {
    OTHER_ZONE.clone_into(&mut commitment.spec.availability_zone);
    commitment
}

async fn second(home: &World) -> ControlPlane {
    let control_plane = ControlPlane::start_trusting(&[home.account()]).await.unwrap();
    apply(&control_plane, RIGHTS).await;
    Cloud::new(client(&control_plane).await).install_all().await;
    control_plane
}
