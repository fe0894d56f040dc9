//! Credentials that expire while the operator runs: it logs one line, writes nothing, and continues by itself when the
//! token file has a new one. Runs the real binary on a real API server.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::support::http;
use crate::support::objects::{host, non_rejectable};
use crate::support::waiting::so;
use crate::support::world::World;

/// The client reads its token file once a minute.
const REREAD: Duration = Duration::from_secs(100);

/// Long enough to see a flood in the log.
const OUT_FOR: Duration = Duration::from_secs(6);

/// Creates an account with the rights of the operator, and writes its token to `file`.
async fn issue(world: &World, file: &Path) {
    world.kubectl(&["create", "serviceaccount", "short", "--namespace=berth-system"]).await;
    let token = world.kubectl(&["create", "token", "short", "--namespace=berth-system"]).await;
    fs::write(file, token.trim()).unwrap();
}

async fn bind(world: &World) {
    let subject = "--serviceaccount=berth-system:short";
    world.kubectl(&["create", "clusterrolebinding", "short", "--clusterrole=berth", subject]).await;
    let roles = [("default", "berth-events"), ("berth-system", "berth-configmaps")];
    for (number, (namespace, role)) in roles.into_iter().enumerate() {
        let [namespace, role] = [format!("--namespace={namespace}"), format!("--role={role}")];
        let name = format!("short-{number}");
        world.kubectl(&["create", "rolebinding", &name, &namespace, &role, subject]).await;
    }
}

#[tokio::test]
async fn an_expired_token_is_reported_and_a_new_one_in_its_file_is_enough() {
    let mut world = World::without_operator().await;
    let folder = tempfile::tempdir().unwrap();
    let (token, kubeconfig) = (folder.path().join("token"), folder.path().join("kubeconfig"));
    issue(&world, &token).await;
    bind(&world).await;
    let mut content: Value = serde_json::from_str(&fs::read_to_string(world.account()).unwrap()).unwrap();
    content["users"][0]["user"] = serde_json::json!({ "tokenFile": token });
    fs::write(&kubeconfig, content.to_string()).unwrap();
    world.use_kubeconfig(&kubeconfig);
    world.start().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("before-1", 1)).await;
    world.accepted("before-1").await;
    world.rest().await;

    world.kubectl(&["delete", "serviceaccount", "short", "--namespace=berth-system"]).await;
    world.cut_watches().await;
    world.until_metric("berth_store_complete", &[], 0).await;
    world.until_metric("berth_cluster_credentials_accepted", &[], 0).await;
    world.create(&non_rejectable("newest-1", 1)).await;
    world.delete_commitment("before-1").await;
    let writes = async |outcome: &str| {
        let words = [format!("outcome=\"{outcome}\"")];
        http::sum(&world.operator().metrics().await, "berth_writes_total", &words.each_ref().map(String::as_str))
    };
    let (succeeded, refused) = (writes("ok").await, writes("unavailable").await);
    sleep(OUT_FOR).await;
    assert_eq!(writes("ok").await, succeeded);
    assert!(writes("unavailable").await - refused < 10, "{}", world.report().await);
    assert_eq!(world.now().await.slots_of("before-1").len(), 1);
    assert!(world.operator().probe("/readyz").await.is_some_and(|(_, text)| text.contains("cannot be followed")));
    let log = world.operator().log();
    let warnings: Vec<_> = log.lines().filter(|line| line.contains(" WARN ") || line.contains("ERROR")).collect();
    let reported =
        warnings.iter().filter(|line| line.contains("(401): renew the token or the client certificate; until then"));
    assert_eq!(reported.count(), 1, "{log}");
    assert!(warnings.len() <= 13, "{log}");

    issue(&world, &token).await;
    let deadline = Instant::now() + REREAD;
    while http::sum(&world.operator().metrics().await, "berth_store_complete", &[]) < 5 {
        assert!(Instant::now() < deadline, "{}", world.report().await);
        sleep(Duration::from_millis(200)).await;
    }
    world.accepted("newest-1").await;
    world
        .until("the deleted one has gone", |seen| so(seen.commitment("before-1").is_none(), || "not yet".to_owned()))
        .await;
    assert!(world.operator().log().contains("credentials accepted again"), "{}", world.operator().log());
    world.end().await;
}
