//! The control planes that all tests share: each test has one of them for itself, with an empty cloud.

use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::HeaderValue;
use axum::http::header::USER_AGENT;
use berth_control_plane::{ControlPlane, WriteRequest};
use berth_crds::{Hypervisor, Knowledge, names};
use futures::future::select_all;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::sync::{Mutex, MutexGuard, OnceCell};
use tokio::time::sleep;

use super::cloud::Cloud;
use super::controllers::WITHOUT_CAPACITY;
use super::host_checker::HostChecker;
use super::host_states::TESTS;
use super::operator::Operator;
use super::seen::{Seen, ready};
use super::waiting::{none, so, until};
use super::{http, invariants};

/// The world is at rest when nothing happens for this time.
pub const QUIET: Duration = Duration::from_millis(250);

/// The grace of a missing host before its slots move; far less than the minute of production.
pub const GRACE: Duration = Duration::from_secs(2);

/// Metrics that help to understand a failure.
const TELLING: [&str; 6] = [
    "berth_controller_runs_total",
    "berth_controller_backing_off",
    "berth_scheduler",
    "berth_store_complete",
    "berth_watch_failures_total",
    "berth_writes",
];

/// The namespace of those who are not Berth.
const PEOPLE: &str = "people";

/// The number of concurrent tests.
pub const STAGES: usize = 2;

static SHARED: [OnceCell<Mutex<Shared>>; STAGES] = [const { OnceCell::const_new() }; STAGES];

/// The parts that tests share, one after the other. They end with the process.
struct Shared {
    stage: usize,
    control_plane: ControlPlane,
    /// The kubeconfig of the account from the manifests in `config/rbac`.
    account: PathBuf,
    /// That of somebody who has the role for people.
    people: PathBuf,
    config: NamedTempFile,
}

/// The fixture of one test. It reads and writes as [`Cloud`] does.
pub struct World {
    cloud: Cloud,
    /// Checks every state of every host, and fails the test when it is dropped.
    host_checker: HostChecker,
    operator: Option<Operator>,
    /// The kubeconfig that the operator is started with.
    kubeconfig: PathBuf,
    /// Its configuration, unless it is the usual one.
    config: Option<NamedTempFile>,
    /// What is in the configuration besides the usual.
    more: Value,
    shared: MutexGuard<'static, Shared>,
}

impl Deref for World {
    type Target = Cloud;

    fn deref(&self) -> &Cloud {
        &self.cloud
    }
}

impl World {
    /// An empty cloud with flavor groups, and the operator, ready.
    pub async fn begin() -> Self {
        let mut world = Self::without_operator().await;
        world.start().await;
        world
    }

    /// A cloud with these hosts, which the operator knows from the start. Later objects reach it kind by kind, so it
    /// may see a commitment before an older host, and reject the commitment.
    pub async fn with_hosts(hosts: &[Hypervisor]) -> Self {
        let mut world = Self::without_operator().await;
        for host in hosts {
            world.create(host).await;
        }
        world.start().await;
        world
    }

    /// An empty cloud with flavor groups, without an operator.
    pub async fn without_operator() -> Self {
        let mut shared = Shared::free().await;
        let cloud = Cloud::new(client(&shared.control_plane).await);
        if cloud.see().await.is_err() {
            // A test of an outage may have failed in the middle of it.
            shared.control_plane.restart_api_server().await.unwrap();
        }
        cloud.clear().await;
        let host_checker = HostChecker::begin(&shared.control_plane, &cloud).await;
        cloud.publish_usual_flavor_groups().await;
        Self {
            cloud,
            host_checker,
            operator: None,
            kubeconfig: shared.account.clone(),
            config: None,
            more: json!({}),
            shared,
        }
    }

    /// Which of the control planes this is, below [`STAGES`].
    pub fn stage(&self) -> usize {
        self.shared.stage
    }

    pub async fn launch(&mut self) {
        let (shared, config) = (&self.shared, self.config.as_ref().unwrap_or(&self.shared.config));
        let operator = Operator::start(&shared.control_plane, &self.kubeconfig, config.path()).await;
        self.operator = Some(operator);
    }

    /// Starts the operator and waits until it is ready.
    pub async fn start(&mut self) {
        self.launch().await;
        self.until_ready().await;
    }

    async fn until_ready(&self) {
        self.until_reported("the operator is ready", async |world, _| match world.operator().probe("/readyz").await {
            Some((200, _)) => Ok(()),
            other => Err(format!("/readyz answers {other:?}")),
        })
        .await;
    }

    /// Starts an operator that competes with others for the lease. Its name is also its user agent.
    pub async fn launch_replica(&self, name: &'static str) -> Operator {
        let control_plane = &self.shared.control_plane;
        let config = control_plane.kubeconfig().with_file_name(format!("{name}.json"));
        let mut all = keys(name, GRACE);
        merge(&mut all, &self.more);
        fs::write(&config, all.to_string()).unwrap();
        Operator::start_as(name, control_plane, &self.shared.account, &config, &["--leader-elect"]).await
    }

    /// Makes an operator that the caller has started the operator of this world.
    pub fn adopt(&mut self, operator: Operator) {
        self.operator = Some(operator);
    }

    pub fn host_checker(&mut self) -> &mut HostChecker {
        &mut self.host_checker
    }

    /// A client with the rights of an administrator.
    pub async fn client(&self) -> Client {
        client(&self.shared.control_plane).await
    }

    /// All writes to this control plane so far.
    pub fn audit_log(&self) -> Vec<WriteRequest> {
        self.shared.control_plane.write_requests().unwrap()
    }

    pub fn operator(&self) -> &Operator {
        self.operator.as_ref().unwrap()
    }

    pub async fn stop(&mut self) -> Duration {
        self.operator.take().unwrap().stop().await
    }

    pub fn kill(&mut self) {
        self.operator.take().unwrap().kill();
    }

    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        self.shared.control_plane.run_kubectl(arguments, None).await.unwrap()
    }

    pub async fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        self.shared.control_plane.run_kubectl(arguments, None).await.map_err(|error| error.to_string())
    }

    pub fn control_plane(&mut self) -> &mut ControlPlane {
        &mut self.shared.control_plane
    }

    pub fn account(&self) -> &Path {
        &self.shared.account
    }

    /// The kubeconfig of somebody who may ask about what the operator does.
    pub fn people(&self) -> &Path {
        &self.shared.people
    }

    /// Starts the operator with this kubeconfig from the next start on.
    pub fn use_kubeconfig(&mut self, path: &Path) {
        path.clone_into(&mut self.kubeconfig);
    }

    /// Sets the grace of a missing host from the next start on.
    pub fn use_grace(&mut self, grace: Duration) {
        self.config = Some(configuration(&keys("berth", grace)));
    }

    /// Adds this to the configuration of the operator from the next start on.
    pub fn use_keys(&mut self, more: &Value) {
        let mut all = keys("berth", GRACE);
        merge(&mut all, more);
        self.config = Some(configuration(&all));
        self.more = more.clone();
    }

    /// Starts the operator with its APIs at this address and waits until it is ready.
    pub async fn start_at(&mut self, api: SocketAddr) {
        self.start_with(&[&format!("--api-bind-address={api}")]).await;
    }

    /// Starts the operator with more arguments and waits until it is ready.
    pub async fn start_with(&mut self, arguments: &[&str]) {
        let (shared, config) = (&self.shared, self.config.as_ref().unwrap_or(&self.shared.config));
        let (control_plane, account) = (&shared.control_plane, &self.kubeconfig);
        let operator = Operator::start_as("berth", control_plane, account, config.path(), arguments).await;
        self.operator = Some(operator);
        self.until_ready().await;
    }

    /// Breaks the connections of all clients, and with them their watches, which are authorized only when they start.
    pub async fn cut_watches(&mut self) {
        self.shared.control_plane.restart_api_server().await.unwrap();
    }

    pub async fn now(&self) -> Seen {
        self.cloud.see().await.unwrap()
    }

    /// Waits until the objects pass `checker`.
    pub async fn until<T>(&self, what: &str, checker: impl Fn(&Seen) -> Result<T, String>) -> T {
        self.until_reported(what, async |_, seen| checker(&seen)).await
    }

    /// Waits until a metric of the operator, or the sum of the samples whose lines have all these words, has this
    /// value. It does not read any objects.
    pub async fn until_metric(&self, metric: &str, words: &[&str], value: u64) {
        let shown = until(async || {
            let metrics = self.operator().metrics().await;
            let sum = http::sum(&metrics, metric, words);
            so(!metrics.is_empty() && sum == value, || format!("{sum}"))
        });
        if let Err(bad) = shown.await {
            panic!("{metric} {words:?} is not {value} but {bad}\n{}", self.report().await);
        }
    }

    /// Waits for an event with this reason and note.
    pub async fn event_says(&self, reason: &str, note: &str) {
        let about = format!("--field-selector=reason={reason}");
        let list = ["get", "events.v1.events.k8s.io", "-n", "default", &about, "-o", "jsonpath={.items[*].note}"];
        let notes = until(async || {
            let notes = self.kubectl(&list).await;
            if notes.contains(note) { Ok(()) } else { Err(notes) }
        })
        .await;
        assert_eq!(notes, Ok(()), "no event {reason} has {note}");
    }

    /// Waits as [`World::until`] does, with an asynchronous check.
    pub async fn until_reported<T>(&self, what: &str, checker: impl AsyncFn(&Self, Seen) -> Result<T, String>) -> T {
        let reconcile = async || match self.cloud.see().await {
            Ok(seen) => checker(self, seen).await,
            Err(error) => Err(format!("the API server does not answer: {error}")),
        };
        match until(reconcile).await {
            Ok(good) => good,
            Err(bad) => panic!("{what}: {bad}\n{}", self.report().await),
        }
    }

    /// The objects and the last log lines of the operator, for the text of a failure.
    pub async fn report(&self) -> String {
        let seen = self.cloud.see().await.map_or_else(|error| error.to_string(), |seen| seen.to_string());
        let Some(operator) = &self.operator else { return format!("The objects:\n{seen}") };
        let (metrics, log) = (operator.metrics().await, operator.end_of_log());
        let metrics: Vec<_> =
            metrics.lines().filter(|line| TELLING.iter().any(|name| line.starts_with(name))).collect();
        let metrics = metrics.join("\n");
        format!("The objects:\n{seen}The metrics:\n{metrics}\nThe end of the log of the operator:\n{log}")
    }

    /// The writes to our kinds that the API server has counted, by any client, including those without a change.
    pub async fn writes(&self) -> u64 {
        let text = self.shared.control_plane.run_kubectl(&["get", "--raw", "/metrics"], None).await.unwrap();
        let count = |resource: &str, verb: &str| {
            let words = [format!("resource=\"{resource}\""), format!("verb=\"{verb}\"")];
            http::sum(&text, "apiserver_request_total", &words.each_ref().map(String::as_str))
        };
        let resources = ["committedresources", "reservations"];
        resources.iter().flat_map(|resource| ["POST", "PUT", "PATCH", "DELETE"].map(|verb| count(resource, verb))).sum()
    }

    /// Waits until a commitment has this ready condition for its current generation.
    pub async fn reported(&self, uuid: &str, reason: &str, message: &str) -> Seen {
        self.object_says(&names::commitment(uuid), reason, message).await
    }

    /// Like `reported`, for an object that need not have the canonical name.
    pub async fn object_says(&self, name: &str, reason: &str, message: &str) -> Seen {
        let what = format!("{name} has {reason}: {message}");
        self.until(&what, |seen| {
            let commitment = seen.named(name).ok_or("it is not there")?;
            let ready = ready(commitment).ok_or("it has no condition")?;
            so(ready.observed_generation == commitment.metadata.generation, || {
                "it is of an old generation".to_owned()
            })?;
            so(ready.reason == reason && ready.message.starts_with(message), || {
                format!("it has {}: {}", ready.reason, ready.message)
            })?;
            Ok(seen.clone())
        })
        .await
    }

    /// Waits until a commitment is accepted with its current spec.
    pub async fn accepted(&self, uuid: &str) -> Seen {
        self.reported(uuid, "Accepted", "commitment successfully reserved").await
    }

    /// Waits until nothing happens any more and all invariants hold.
    pub async fn rest(&self) -> Seen {
        self.until_reported("the world is at rest and all invariants hold", async |world, seen| {
            none(&invariants::broken_at_rest(&seen))?;
            let reconciliations = world.operator().reconciliations().await;
            sleep(QUIET).await;
            let later = world.see().await.map_err(|error| error.to_string())?;
            so(seen.versions() == later.versions(), || "objects still change".to_owned())?;
            let more = world.operator().reconciliations().await - reconciliations;
            so(more == 0, || format!("{more} reconciliations within {QUIET:?}"))?;
            Ok(later)
        })
        .await
    }

    /// Makes the operator reconcile every commitment and every waiting slot, without a reason to change anything.
    pub async fn enqueue_all(&self) {
        let stamp = self.now().await.versions().len().to_string();
        let reconciliations = self.operator().reconciliations().await;
        let change = json!({ "metadata": { "annotations": { "test/woken": format!("{stamp}/{reconciliations}") } } });
        self.edit::<Knowledge>(names::FLAVOR_GROUPS, change).await;
        self.until_reported("the operator reconciles again", async |world, seen| {
            let (after, wanted) =
                (world.operator().reconciliations().await, reconciliations + seen.commitments.len() as u64);
            so(after >= wanted, || format!("{after} reconciliations, {wanted} wanted"))
        })
        .await;
    }

    /// The invariants hold, and another plan is empty: in the same process, and in the next one.
    pub async fn holds_invariants(&mut self) -> Seen {
        let before = self.rest().await;
        let writes = self.writes().await;
        self.enqueue_all().await;
        self.nothing_was_written("when it reconciles again", &before, writes).await;
        self.stop().await;
        self.start().await;
        self.nothing_was_written("after a restart", &before, writes).await;
        before
    }

    async fn nothing_was_written(&self, when: &str, before: &Seen, writes: u64) {
        let objects = before.commitments.len() + before.slots().count();
        self.until_reported("all objects were reconciled", async |world, _| {
            let reconciliations = world.operator().reconciliations().await;
            so(reconciliations >= objects as u64, || format!("{reconciliations} reconciliations of {objects} objects"))
        })
        .await;
        let after = self.rest().await;
        let changed: Vec<_> = after
            .versions()
            .into_iter()
            .filter(|(name, version)| before.versions().get(name) != Some(version))
            .map(|(name, _)| name)
            .collect();
        let more = self.writes().await - writes;
        let nothing = changed.is_empty() && more == 0;
        assert!(nothing, "{when}: {more} writes, changed {changed:?}\n{}", self.report().await);
    }

    pub async fn end(mut self) {
        self.holds_invariants().await;
        self.stop().await;
    }
}

impl Shared {
    /// An unused control plane. Starts one when there are fewer than allowed, and waits otherwise.
    async fn free() -> MutexGuard<'static, Self> {
        for (number, stage) in SHARED.iter().enumerate() {
            let Some(started) = stage.get() else {
                return stage.get_or_init(async || Mutex::new(Self::new(number).await)).await.lock().await;
            };
            if let Ok(free) = started.try_lock() {
                return free;
            }
        }
        let started = SHARED.iter().filter_map(OnceCell::get).map(|stage| Box::pin(stage.lock()));
        select_all(started).await.0
    }

    async fn new(stage: usize) -> Self {
        let control_plane = ControlPlane::start().await.unwrap();
        prepare(&control_plane).await;
        let account = control_plane.service_account("berth-system", "berth").await.unwrap();
        let people = bound(&control_plane, "people", "berth-explain").await;
        Self { stage, control_plane, account, people, config: configuration(&keys("berth", GRACE)) }
    }
}

/// Does what an administrator does to a cluster before installing the operator.
pub async fn prepare(control_plane: &ControlPlane) {
    grant(control_plane).await;
    Cloud::new(client(control_plane).await).install_all().await;
}

/// Grants the rights of the manifests in `config/rbac`, whatever was granted before.
pub async fn grant(control_plane: &ControlPlane) {
    apply(control_plane, "rbac").await;
}

/// Applies the manifests of a folder of `config`, whatever is there.
pub async fn apply(control_plane: &ControlPlane, folder: &str) {
    control_plane.run_kubectl(&["apply", "--filename", &shipped(folder)], None).await.unwrap();
}

/// The path of a folder of `config`.
pub fn shipped(folder: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(folder).display().to_string()
}

/// The kubeconfig of an account that is bound to this role and no other.
pub async fn bound(control_plane: &ControlPlane, name: &str, role: &str) -> PathBuf {
    let account = control_plane.service_account(PEOPLE, name).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": PEOPLE }],
    });
    control_plane.run_kubectl(&["apply", "--filename", "-"], Some(&binding.to_string())).await.unwrap();
    account
}

/// The configuration of an operator of this name. It writes nothing at rest: the capacity controller writes in every cycle.
pub fn keys(name: &str, grace: Duration) -> Value {
    let grace = format!("{}s", grace.as_secs());
    json!({
        "userAgent": { "component": name },
        "enabledControllers": WITHOUT_CAPACITY,
        "committedResourceReservationController": { "requeueIntervalGracePeriod": grace },
    })
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            more.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value));
        }
        (into, more) => *into = more.clone(),
    }
}

fn configuration(keys: &Value) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    fs::write(file.path(), keys.to_string()).unwrap();
    file
}

/// A client of a test, with the rights of an administrator.
pub async fn client(control_plane: &ControlPlane) -> Client {
    client_as(TESTS, control_plane).await
}

/// A client with this user agent. Created for each call, because a client lives no longer than the runtime of its test.
pub async fn client_as(user_agent: &'static str, control_plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.headers.push((USER_AGENT, HeaderValue::from_static(user_agent)));
    Client::try_from(config).unwrap()
}
