//! Clusters that go and come back: away at the start or later, without the CRD, with another history, with expired
//! credentials or missing rights.

use std::sync::Arc;

use super::super::feeding::LONGEST_QUIET;
use super::*;
use crate::testing::LogCapture;

/// The current state of the API server.
#[derive(Clone)]
enum Mood {
    Away,
    Refused,
    Answers(u16),
    NoWatch,
    /// Everything works, with these objects and this newest version.
    Fine(Vec<Thing>, u64),
    /// Lists are empty and older than this version, unless they are asked for it; watches have to list.
    Outdated(u64),
}

/// An API server whose state changes; open watches break when it does.
#[derive(Clone)]
struct Server {
    mood: Arc<Mutex<Mood>>,
    open: Arc<Mutex<Vec<mpsc::UnboundedSender<Value>>>>,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn new(mood: Mood) -> Self {
        Self { mood: Arc::new(Mutex::new(mood)), open: Arc::default(), asked: Arc::default() }
    }

    fn becomes(&self, mood: Mood) {
        *self.mood.lock() = mood;
        self.open.lock().clear();
    }

    fn cluster(&self, name: &str) -> Cluster {
        let server = self.clone();
        Cluster { name: name.into(), ..scripted(move |request| server.answer(request)) }
    }

    fn answer(&self, request: &Request) -> Reply {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let from = request.query.get("resourceVersion").and_then(|version| version.parse::<u64>().ok());
        match self.mood.lock().clone() {
            Mood::Away => Reply::Cut,
            Mood::Refused => Reply::Refused,
            Mood::Answers(code) => Reply::error(code, "", "the server could not find the requested resource"),
            Mood::NoWatch if is_watch(request) => Reply::error(403, "Forbidden", "may not watch"),
            Mood::NoWatch => list(10, "", &[thing("a", "a", 3)]),
            // Like a real server: a watch from a future version waits silently.
            Mood::Fine(_, newest) if is_watch(request) && from >= Some(newest) => watch(&[], &self.open),
            Mood::Fine(..) | Mood::Outdated(_) if is_watch(request) => {
                Reply::error(410, "Expired", "too old resource version")
            }
            Mood::Fine(_, newest) if from > Some(newest) => too_large(),
            Mood::Fine(things, newest) => list(newest, "", &things),
            Mood::Outdated(newest) if from == Some(newest) => list(newest, "", &[]),
            Mood::Outdated(newest) => list(newest - 3, "", &[]),
        }
    }
}

/// A store that is fed from these clusters.
struct Fed {
    store: Store<Thing>,
    registry: berth_telemetry::metrics::Metrics,
    log: LogCapture,
}

fn fed(clusters: impl IntoIterator<Item = Cluster>) -> Fed {
    let (registry, all) = metrics();
    let (store, log) = (Store::new(&[]), LogCapture::listen());
    for cluster in clusters {
        tokio::spawn(feed(store.clone(), cluster, CancellationToken::new(), all.stores.clone()));
    }
    Fed { store, registry, log }
}

impl Fed {
    fn objects(&self) -> Vec<(String, String)> {
        let object = |entry: crate::Entry<Thing>| {
            (entry.key.to_string(), entry.object.metadata.resource_version.clone().unwrap_or_default())
        };
        self.store.all().into_iter().map(object).collect()
    }

    fn names(&self) -> Vec<String> {
        self.objects().into_iter().map(|(name, _)| name).collect()
    }

    fn is_complete(&self, cluster: &str) -> bool {
        self.store.completeness(&cluster.into()) == Completeness::Complete
    }

    fn why_partial(&self, cluster: &str) -> String {
        match self.store.completeness(&cluster.into()) {
            Completeness::Complete => String::new(),
            Completeness::Partial { why } => why,
        }
    }

    fn shows(&self, line: &str) -> bool {
        self.registry.render().lines().any(|one| one == line)
    }
}

fn fine(things: &[Thing], newest: u64) -> Mood {
    Mood::Fine(things.to_vec(), newest)
}

/// The answer to a request for a version that is not reached yet.
fn too_large() -> Reply {
    let causes = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 504, "reason": "Timeout",
        "message": "Timeout: Too large resource version", "details": { "causes": causes },
    });
    Reply::Json(504, status)
}

async fn a_while() {
    sleep(LONGEST_PAUSE + LONGEST_QUIET * 2 + READ_DEADLINE).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_away_at_the_start_stops_nothing_and_comes_later() {
    let (home, remote) = (Server::new(fine(&[thing("a", "a", 3)], 10)), Server::new(Mood::Away));
    let fed = fed([remote.cluster("az-b"), home.cluster("home")]);
    fed.store.synced(&super::home()).await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!((fed.names(), fed.is_complete("home")), (vec!["home/a".to_owned()], true));
    assert_eq!(fed.why_partial("az-b"), "its watch fails: the API server does not answer: connection reset");
    assert!(fed.shows(r#"berth_store_complete{cluster="az-b",kind="Thing"} 0"#));
    let asked = remote.asked.load(Ordering::Relaxed);
    assert!((20..30).contains(&asked), "{asked} requests in ten minutes");
    let log = fed.log.take();
    assert_eq!(log.len(), 1, "{log:#?}");

    remote.becomes(fine(&[thing("b", "b", 4)], 20));
    a_while().await;
    assert_eq!((fed.names(), fed.is_complete("az-b")), (vec!["az-b/b".to_owned(), "home/a".to_owned()], true));
    assert!(fed.shows(r#"berth_store_complete{cluster="az-b",kind="Thing"} 1"#));
    assert_eq!(fed.log.take(), [r#"INFO watch works again kind="Thing" cluster=az-b"#]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_goes_away_stays_known_and_is_complete_again_when_it_is_back() {
    let remote = Server::new(fine(&[thing("a", "a", 3), thing("b", "b", 4)], 10));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(Mood::Away);
    sleep(Duration::from_secs(3600)).await;
    assert_eq!((fed.names().len(), fed.is_complete("az-b")), (2, false), "known objects stay, as partial");
    assert_eq!(fed.log.take().len(), 1);
    remote.becomes(fine(&[thing("b", "b", 12), thing("c", "c", 11)], 12));
    a_while().await;
    assert_eq!((fed.names(), fed.is_complete("az-b")), (vec!["az-b/b".to_owned(), "az-b/c".to_owned()], true));
    assert_eq!(fed.log.take().len(), 1);
}

/// The CRD is removed with all objects; later it is installed again.
#[tokio::test(start_paused = true)]
async fn a_crd_that_was_removed_and_installed_again_is_listed_anew() {
    let remote = Server::new(fine(&[thing("a", "a", 3), thing("b", "b", 4)], 10));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(Mood::Answers(404));
    a_while().await;
    let install =
        "its watch fails: the API server does not know the kind (404): install its CRD (berth crds prints ours)";
    assert_eq!(fed.why_partial("az-b"), install);
    assert_eq!(fed.names().len(), 2, "a kind that is not served says nothing about its objects");
    remote.becomes(fine(&[thing("b", "b2", 31)], 40));
    a_while().await;
    assert_eq!((fed.objects(), fed.is_complete("az-b")), (vec![("az-b/b".to_owned(), "31".to_owned())], true));
    assert_eq!(fed.log.take().len(), 2);
}

/// Restored from a backup, or set up again at the same address.
#[tokio::test(start_paused = true)]
async fn a_server_that_has_lost_its_past_is_believed() {
    let remote = Server::new(fine(&[thing("a", "a", 300), thing("b", "b", 400)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    let changes: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = changes.clone();
    fed.store.on_state(move |change| {
        let size = |thing: &Option<Arc<Thing>>| thing.as_ref().and_then(|one| one.metadata.uid.clone());
        log.lock().push(format!("{} {:?} {:?}", change.key, size(&change.old), size(&change.new)));
    });
    fed.store.synced(&"az-b".into()).await;
    changes.lock().clear();
    remote.becomes(Mood::Away);
    sleep(Duration::from_secs(60)).await;
    remote.becomes(fine(&[thing("b", "b2", 5), thing("c", "c", 6)], 7));
    a_while().await;
    let expected = [("az-b/b".to_owned(), "5".to_owned()), ("az-b/c".to_owned(), "6".to_owned())];
    assert_eq!((fed.objects(), fed.is_complete("az-b")), (expected.to_vec(), true));
    let reported = [r#"az-b/b Some("b") Some("b2")"#, r#"az-b/c None Some("c")"#, r#"az-b/a Some("a") None"#];
    assert_eq!(*changes.lock(), reported);
    let log = fed.log.take();
    assert!(log[1].starts_with("WARN API server shows an older state than before"), "{log:#?}");
    assert_eq!(log.len(), 3, "{log:#?}");
}

/// The watch ends, and the API server that is asked next has an earlier state: nothing has failed.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_and_is_there_at_once_is_believed() {
    let remote = Server::new(fine(&[thing("a", "a", 300), thing("b", "b", 900)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(fine(&[thing("a", "a", 200), thing("c", "c", 600)], 790));
    sleep(Duration::from_secs(1)).await;
    let expected = [("az-b/a".to_owned(), "200".to_owned()), ("az-b/c".to_owned(), "600".to_owned())];
    assert_eq!((fed.objects(), fed.is_complete("az-b")), (expected.to_vec(), true));
}

/// As after a restart of the API server: the connection is lost, then rights and storage are not loaded yet.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_and_refuses_while_it_starts_is_believed() {
    let remote = Server::new(fine(&[thing("a", "a", 300)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    for mood in [Mood::Away, Mood::Answers(403), Mood::Answers(429)] {
        remote.becomes(mood);
        sleep(Duration::from_secs(1)).await;
    }
    remote.becomes(fine(&[thing("a", "a", 200)], 790));
    a_while().await;
    assert_eq!((fed.objects(), fed.is_complete("az-b")), (vec![("az-b/a".to_owned(), "200".to_owned())], true));
}

/// Objects that an outdated list lacks must not be taken as deleted: their capacity would be sold twice.
#[tokio::test(start_paused = true)]
async fn an_outdated_list_of_a_server_that_has_its_past_is_not_believed() {
    let remote = Server::new(fine(&[thing("a", "a", 999)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(Mood::Outdated(1000));
    a_while().await;
    assert_eq!(fed.names(), ["az-b/a"]);
    let why = "the API server lists an outdated state (version 997, 1000 was seen); it is asked again";
    assert_eq!(fed.why_partial("az-b"), format!("its watch fails: {why}"));
    remote.becomes(fine(&[thing("a", "a", 999), thing("b", "b", 1001)], 1001));
    a_while().await;
    assert_eq!((fed.names(), fed.is_complete("az-b")), (vec!["az-b/a".to_owned(), "az-b/b".to_owned()], true));
}

/// All objects are older than the earlier state; the watch had come further all the same.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_is_noticed_by_the_watch_of_a_kind_that_hardly_changes() {
    let remote = Server::new(fine(&[thing("a", "a", 3)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(fine(&[thing("a", "a", 3), thing("b", "b", 2)], 790));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(fed.names(), ["az-b/a", "az-b/b"]);
    remote.becomes(fine(&[thing("a", "a", 3), thing("b", "b", 2), thing("c", "c", 800)], 800));
    a_while().await;
    assert_eq!(fed.names(), ["az-b/a", "az-b/b", "az-b/c"], "it is followed");
}

/// Restored with `--bump-revision` and `--mark-compacted`: the watch is too old, and no version falls.
#[tokio::test(start_paused = true)]
async fn a_server_that_was_set_back_and_goes_on_with_higher_versions_is_believed() {
    let remote = Server::new(fine(&[thing("a", "a", 300), thing("b", "b", 900)], 1000));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(fine(&[thing("a", "a", 200), thing("c", "c", 600)], 1_000_000));
    a_while().await;
    let expected = [("az-b/a".to_owned(), "200".to_owned()), ("az-b/c".to_owned(), "600".to_owned())];
    assert_eq!((fed.objects(), fed.is_complete("az-b")), (expected.to_vec(), true));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_connections_is_tried_every_5_s() {
    let remote = Server::new(Mood::Refused);
    let _fed = fed([remote.cluster("az-b")]);
    sleep(Duration::from_secs(600)).await;
    let asked = remote.asked.load(Ordering::Relaxed);
    assert!((115..130).contains(&asked), "{asked} requests in ten minutes");
}

/// The two watches of a cluster are retried 10 s apart, about every 30 s.
#[tokio::test(start_paused = true)]
async fn the_first_watch_that_works_again_makes_the_others_of_its_cluster_connect() {
    let (first, second) = (Server::new(Mood::Away), Server::new(Mood::Away));
    let (_, all) = metrics();
    for (server, late) in [(&first, 10), (&second, 0)] {
        let (store, cluster, stores) = (Store::<Thing>::new(&[]), server.cluster("az-b"), all.stores.clone());
        tokio::spawn(async move {
            sleep(Duration::from_secs(late)).await;
            feed(store, cluster, CancellationToken::new(), stores).await;
        });
    }
    sleep(Duration::from_secs(125)).await;
    let asked = second.asked.load(Ordering::Relaxed);
    first.becomes(fine(&[], 10));
    sleep(Duration::from_secs(10)).await;
    assert!(second.asked.load(Ordering::Relaxed) > asked, "the other one has tried to connect");
    // It has a trouble of its own, so it backs off, whatever the first one does.
    let asked = second.asked.load(Ordering::Relaxed);
    for _ in 0..200 {
        first.becomes(fine(&[], 10));
        sleep(Duration::from_secs(2)).await;
    }
    let asked = second.asked.load(Ordering::Relaxed) - asked;
    assert!(asked < 25, "{asked} requests in 400 s");
}

#[tokio::test(start_paused = true)]
async fn expired_credentials_are_reported_once_and_new_ones_are_enough() {
    let remote = Server::new(fine(&[thing("a", "a", 3)], 10));
    let fed = fed([remote.cluster("az-b")]);
    fed.store.synced(&"az-b".into()).await;
    remote.becomes(Mood::Answers(401));
    sleep(Duration::from_secs(600)).await;
    let log = fed.log.take();
    assert_eq!(log.len(), 1, "{log:#?}");
    assert!(log[0].contains("does not accept our credentials (401): renew the token"), "{log:#?}");
    remote.becomes(fine(&[thing("a", "a", 3)], 10));
    a_while().await;
    assert!(fed.is_complete("az-b"));
    let again = ["INFO credentials accepted again cluster=az-b", r#"INFO watch works again kind="Thing" cluster=az-b"#];
    assert_eq!(fed.log.take(), again);
}

/// A list that succeeds proves nothing about the watch.
#[tokio::test(start_paused = true)]
async fn a_right_to_watch_that_is_missing_floods_neither_the_log_nor_the_server() {
    let remote = Server::new(Mood::NoWatch);
    let fed = fed([remote.cluster("az-b")]);
    sleep(Duration::from_secs(600)).await;
    assert_eq!((fed.names().len(), fed.is_complete("az-b")), (1, false));
    let asked = remote.asked.load(Ordering::Relaxed);
    assert!(asked < 60, "{asked} requests in ten minutes");
    assert_eq!(fed.log.take().len(), 1);
}

/// Every second connection breaks at once, as behind a load balancer with one broken server.
#[tokio::test(start_paused = true)]
async fn a_server_that_works_now_and_then_does_not_flood_the_log() {
    let remote = Server::new(fine(&[thing("a", "a", 3)], 10));
    let fed = fed([remote.cluster("az-b")]);
    for _ in 0..300 {
        remote.becomes(Mood::Away);
        sleep(Duration::from_secs(2)).await;
        remote.becomes(fine(&[thing("a", "a", 3)], 10));
        sleep(Duration::from_secs(2)).await;
    }
    let log = fed.log.take().len();
    assert!(log < 100, "{log} lines in twenty minutes");
}
