//! The operator's set of stores over a scripted API server.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_crds::conditions::{Status, condition};
use berth_crds::testing::{at_version, commitment_change};
use berth_telemetry::config::{self, ApiServers};
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;
use crate::ObjectKey;
use crate::testing::{Reply, Request, applied, failing, metrics, scripted, sync};

fn home() -> ClusterName {
    ClusterName::home()
}

/// `reservations`, of `/apis/cortex.cloud/v1alpha1/reservations`.
fn plural(request: &Request) -> String {
    request.path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn empty() -> Reply {
    Reply::Json(200, json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": [] }))
}

/// An API server without objects, and how often each kind was listed. Kinds that are named in `hanging` do not answer.
#[derive(Clone, Default)]
struct Served {
    lists: Arc<Mutex<BTreeMap<String, usize>>>,
    hanging: Arc<Mutex<Vec<&'static str>>>,
    open: Arc<Mutex<Vec<mpsc::UnboundedSender<serde_json::Value>>>>,
}

impl Served {
    fn answer(&self, request: &Request) -> Reply {
        if request.query.contains_key("watch") {
            let (sender, lines) = mpsc::unbounded_channel();
            self.open.lock().push(sender);
            return Reply::Watch(lines);
        }
        *self.lists.lock().entry(plural(request)).or_default() += 1;
        if self.hanging.lock().iter().any(|kind| *kind == plural(request)) { Reply::Hang } else { empty() }
    }

    fn listed(&self) -> Vec<String> {
        let lists = std::mem::take(&mut *self.lists.lock());
        lists.into_keys().collect()
    }
}

const ALL: [&str; 9] = [
    "commitmentchanges",
    "committedresources",
    "datasources",
    "flavorgroupcapacities",
    "hypervisors",
    "knowledges",
    "pipelines",
    "projectquotas",
    "reservations",
];

async fn watched() -> (Stores, Served) {
    let (stores, served) = (Stores::default(), Served::default());
    let answering = served.clone();
    let clusters: Clusters = scripted(move |request| answering.answer(request)).into();
    let (_, metrics) = metrics();
    let routes = Routes::home_only();
    let stop = CancellationToken::new();
    let feeding =
        Feeding { clusters: &clusters, routes: &routes, metrics: &metrics, watches_installed: true, stop: &stop };
    for (_, watch) in stores.feed(&feeding).unwrap() {
        tokio::spawn(watch);
    }
    stores.synced(&home()).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(served.listed(), ALL);
    (stores, served)
}

#[tokio::test(start_paused = true)]
async fn a_take_over_reads_every_kind_anew() {
    let (stores, served) = watched().await;
    assert_eq!(stores.relist(Duration::from_secs(10)).await, BTreeSet::new());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(served.listed(), ALL);
}

#[tokio::test(start_paused = true)]
async fn a_take_over_does_not_wait_for_a_kind_that_need_not_be_installed() {
    let (stores, served) = watched().await;
    *served.hanging.lock() = vec!["pipelines"];
    let started_at = tokio::time::Instant::now();
    assert_eq!(stores.relist(Duration::from_secs(10)).await, BTreeSet::new());
    assert!(started_at.elapsed() < Duration::from_secs(1));
    *served.hanging.lock() = vec!["hypervisors"];
    assert_eq!(stores.relist(Duration::from_secs(10)).await, [home()].into());
    assert_eq!(started_at.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_synced_is_named_in_the_order_of_the_set() {
    let stores = Stores::default();
    assert_eq!(stores.unsynced(&home()), [], "no watch runs there");
    sync(&stores, &home());
    failing(&stores.commitments, &home(), Some("cut"));
    failing(&stores.hypervisors, &home(), Some("cut"));
    let kinds: Vec<_> = stores.unsynced(&home()).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["Hypervisor", "CommittedResource"]);
    assert_eq!(stores.check_completeness().unwrap_err().kind, "Hypervisor");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_read_as_a_whole_or_not_at_all() {
    let served = Served::default();
    let answering = served.clone();
    let cluster = scripted(move |request| match plural(request).as_str() {
        "flavorgroupcapacities" => Reply::error(403, "Forbidden", "no"),
        "pipelines" => Reply::error(404, "NotFound", "no such kind"),
        _ => answering.answer(request),
    });
    let (stores, routes) = (Stores::default(), Routes::home_only());
    let error = stores.read_once(&cluster, &routes, ReadBy::Controllers).await.map(drop).unwrap_err();
    assert_eq!(error.kind, "FlavorGroupCapacity");
    assert!(stores.hypervisors.require_synced(&home()).is_err(), "the set has no store of the cluster");
    stores.leave_out(&home(), &routes, "no");
    assert_eq!(stores.unsynced(&home()).len(), 7);

    let stores = Stores::default();
    stores.read_once(&cluster, &routes, ReadBy::Scheduler).await.unwrap().fill();
    assert!(stores.hypervisors.require_synced(&home()).is_ok() && stores.reservations.require_synced(&home()).is_ok());
    assert!(stores.commitments.clusters().is_empty(), "only controllers read them");
}

#[tokio::test(start_paused = true)]
async fn the_kind_of_changes_has_to_be_installed_where_controllers_need_it() {
    let served = Served::default();
    let cluster = scripted(move |request| match plural(request).as_str() {
        "commitmentchanges" => Reply::error(404, "NotFound", "no such kind"),
        _ => served.answer(request),
    });
    let (stores, routes) = (Stores::default(), Routes::home_only());
    let error = stores.read_once(&cluster, &routes, ReadBy::Controllers).await.map(drop).unwrap_err();
    assert_eq!((error.kind.as_str(), error.not_served), ("CommitmentChange", true));
    stores.read_once(&cluster, &routes, ReadBy::Scheduler).await.unwrap().fill();
    assert_eq!(stores.changes.clusters(), []);
}

/// The routes of a home cluster that serves only these kinds.
fn serving(kinds: &[&str]) -> Routes {
    let servers = json!({ "apiservers": { "home": { "gvks": kinds } } });
    let serde_json::Value::Object(keys) = servers else { unreachable!() };
    let servers: ApiServers = config::decode(&keys, false).unwrap().configuration.api_servers;
    Routes::new(&servers)
}

#[tokio::test(start_paused = true)]
async fn the_watches_begin_in_the_order_of_the_set_and_a_required_kind_has_to_be_served() {
    let names = |kinds: &[&str]| {
        let clusters: Clusters = scripted(|_| empty()).into();
        let (routes, (_, metrics), stop) = (serving(kinds), metrics(), CancellationToken::new());
        let feeding =
            Feeding { clusters: &clusters, routes: &routes, metrics: &metrics, watches_installed: true, stop: &stop };
        let watches = Stores::default().feed(&feeding).map_err(|error| error.to_string())?;
        Ok::<_, String>(watches.into_iter().map(|(name, _)| name.replace("the watch of ", "")).collect::<Vec<_>>())
    };
    let required = [
        "cortex.cloud/v1alpha1/CommittedResource",
        "cortex.cloud/v1alpha1/Knowledge",
        "cortex.cloud/v1alpha1/Reservation",
        "kvm.cloud.sap/v1/Hypervisor",
    ];
    assert_eq!(
        names(&required).unwrap(),
        ["flavor groups", "hosts", "reservations", "commitments", "changes of commitments"]
    );
    assert!(names(&required[..3]).unwrap_err().contains("Hypervisor"));
}

#[test]
fn a_finished_change_is_kept_without_the_former_state_of_its_commitments() {
    let stores = Stores::default();
    sync(&stores, &home());
    let mut change = at_version(1, commitment_change("one", &["uuid-1", "uuid-2"]));
    applied(&stores.changes, &home(), change.clone());
    let key = ObjectKey::new(home(), "change-one");
    assert_eq!(*stores.changes.get(&key).unwrap(), change, "an open change is needed as a whole");
    let finished = condition("Finished", Status::True, "Accepted", "", None, Timestamp::UNIX_EPOCH);
    change.status.get_or_insert_default().conditions = vec![finished];
    change.metadata.resource_version = Some("2".to_owned());
    applied(&stores.changes, &home(), change);
    let kept = stores.changes.get(&key).unwrap();
    assert!(kept.spec.items.iter().all(|item| item.before.is_none() && item.slots.is_empty() && item.after.is_some()));
    assert_eq!(kept.spec.items.len(), 2);
    assert!(stores.changes.select(&indexes::CHANGE_BY_COMMITMENT, "uuid-1").is_empty());
}
