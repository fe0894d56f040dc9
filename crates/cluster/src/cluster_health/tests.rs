//! The reports about a cluster that changes, and how often it is checked.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::Verb;
use crate::testing::{LogCapture, Reply, Request, Thing, metrics, scripted};

/// The current state of the API server.
#[derive(Clone, Copy, Default, PartialEq)]
enum Server {
    #[default]
    Away,
    Hangs,
    Old,
    Bare,
    Fit,
}

struct Scene {
    cluster_health: ClusterHealth,
    server: Arc<Mutex<Server>>,
    asked: Arc<AtomicUsize>,
    log: LogCapture,
    registry: berth_telemetry::metrics::Metrics,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn scene() -> Scene {
    let (registry, all) = metrics();
    let (server, asked) = (Arc::new(Mutex::new(Server::Away)), Arc::new(AtomicUsize::new(0)));
    let (now, count) = (server.clone(), asked.clone());
    let mut cluster = scripted(move |request| answer(request, *now.lock(), &count));
    cluster.name = "az-a".into();
    let (cluster_health, stop, log) =
        (ClusterHealth::new(all.cluster_health), CancellationToken::new(), LogCapture::listen());
    let needs = vec![Need::kind::<Thing>(&[Verb::Get])];
    let task = tokio::spawn(watch_cluster_health(cluster_health.clone(), cluster, needs, stop.clone()));
    Scene { cluster_health, server, asked, log, registry, stop, task }
}

fn answer(request: &Request, server: Server, asked: &AtomicUsize) -> Reply {
    let minor = if server == Server::Old { "29" } else { "36" };
    match (request.path.as_str(), server) {
        (_, Server::Away) => {
            asked.fetch_add(usize::from(request.path == "/version"), Ordering::Relaxed);
            Reply::Cut
        }
        (_, Server::Hangs) => Reply::Hang,
        ("/version", _) => {
            asked.fetch_add(1, Ordering::Relaxed);
            let version = json!({
                "major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.0"), "gitCommit": "",
                "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
            });
            Reply::Json(200, version)
        }
        ("/apis/test.berth/v1", Server::Bare) => Reply::error(404, "NotFound", "not found"),
        ("/apis/test.berth/v1", _) => {
            let thing = json!({ "name": "things", "singularName": "", "namespaced": false, "kind": "", "verbs": [] });
            Reply::Json(200, json!({ "groupVersion": "", "resources": [thing] }))
        }
        _ => Reply::Json(201, json!({ "metadata": {}, "spec": {}, "status": { "allowed": true } })),
    }
}

impl Scene {
    async fn becomes(&self, server: Server) {
        *self.server.lock() = server;
        sleep(LONGEST_PAUSE + crate::deadlines::READ_DEADLINE * 2).await;
    }

    fn gauge(&self) -> Value {
        let text = self.registry.render();
        let line = text.lines().find(|line| line.starts_with(r#"berth_cluster_healthy{cluster="az-a"}"#));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_remote_is_reported_about_once_and_again_when_its_problem_changes_or_ends() {
    let scene = scene();
    assert_eq!(scene.gauge(), 0, "unhealthy until it has answered");
    scene.becomes(Server::Away).await;
    let log = scene.log.take();
    assert_eq!(log.len(), 1, "{log:#?}");
    assert!(log[0].starts_with("WARN cluster az-a: the API server does not answer: "), "{log:#?}");
    scene.becomes(Server::Hangs).await;
    assert_eq!(scene.log.take(), Vec::<String>::new(), "it still does not answer");
    assert!(scene.cluster_health.problems()[0].contains("no answer within 10 s"), "the details are up to date");
    scene.becomes(Server::Old).await;
    let log = scene.log.take();
    assert_eq!(log.len(), 1, "{log:#?}");
    assert!(log[0].starts_with("WARN cluster az-a: the API server has version v1.29.0; upgrade it"), "{log:#?}");
    scene.becomes(Server::Bare).await;
    assert_eq!(scene.cluster_health.problems().len(), 1);
    assert!(scene.log.take()[0].contains("things of test.berth/v1 is not served; install its CRD"));
    assert_eq!(scene.gauge(), 0);
    scene.becomes(Server::Fit).await;
    assert_eq!(scene.log.take(), ["INFO cluster healthy again cluster=az-a"]);
    assert_eq!((scene.gauge(), scene.cluster_health.problems()), (json!(1), Vec::new()));
    scene.stop.cancel();
    scene.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_remote_that_is_away_is_asked_with_growing_distance_and_a_fit_one_rarely() {
    let scene = scene();
    sleep(Duration::from_secs(600)).await;
    let away = scene.asked.swap(0, Ordering::Relaxed);
    assert!((12..20).contains(&away), "{away} checks in ten minutes");
    *scene.server.lock() = Server::Fit;
    sleep(LONGEST_PAUSE).await;
    scene.asked.store(0, Ordering::Relaxed);
    sleep(AGAIN * 10).await;
    let healthy = scene.asked.load(Ordering::Relaxed);
    assert!((9..=10).contains(&healthy), "{healthy} checks in fifty minutes");
}

#[tokio::test(start_paused = true)]
async fn what_goes_while_we_run_is_found() {
    let scene = scene();
    scene.becomes(Server::Fit).await;
    scene.log.take();
    *scene.server.lock() = Server::Bare;
    sleep(AGAIN * 2).await;
    assert_eq!(scene.cluster_health.problems().len(), 1);
    assert_eq!(scene.log.take().len(), 1);
}
