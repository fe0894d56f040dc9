//! Who may read metrics and ask what only the leader knows: the real API server decides about callers of the real binary.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::process::{Child, Command};

use crate::support::desk::Desk;
use crate::support::free_ports::free_addresses;
use crate::support::http::{get, get_as, get_secure};
use crate::support::objects::{host, non_rejectable, slot_name};
use crate::support::operator::SECURE_METRICS;
use crate::support::waiting::{so, until};
use crate::support::world::{World, apply};

const NAMESPACE: &str = "berth-system";
const METRICS: &str = "/metrics";
const EXPLAIN: &str = "/v1/explain/hosts/node1";
const SCHEDULER_TOKEN: &str = "s3cret-of-the-scheduler";

/// A new account that is bound to this role, if any: its kubeconfig and the header that it shows.
async fn account(world: &mut World, name: &str, role: Option<&str>) -> (PathBuf, String) {
    let kubeconfig = world.control_plane().service_account(NAMESPACE, name).await.unwrap();
    if let Some(role) = role {
        let (role, account) = (format!("--clusterrole={role}"), format!("--serviceaccount={NAMESPACE}:{name}"));
        world.kubectl(&["create", "clusterrolebinding", name, &role, &account]).await;
    }
    let shown = bearer(world, name).await;
    (kubeconfig, shown)
}

/// A new token of an account, as it is shown.
async fn bearer(world: &World, name: &str) -> String {
    let token = world.kubectl(&["create", "token", name, "--namespace", NAMESPACE]).await;
    format!("Bearer {}", token.trim())
}

async fn answers(address: SocketAddr, shown: &str, status: u16) -> String {
    let answered = until(async || match get_secure(address, METRICS, Some(shown)).await {
        Some((found, text)) if found == status => Ok(text),
        other => Err(format!("{other:?}")),
    });
    answered.await.unwrap_or_else(|bad| panic!("not {status}: {bad}"))
}

#[tokio::test]
async fn metrics_are_for_callers_that_the_api_server_allows_to_read_them() {
    let mut world = World::without_operator().await;
    let (_, prometheus) = account(&mut world, "prometheus", Some("berth-metrics")).await;
    let (_, visitor) = account(&mut world, "visitor", None).await;
    let second = bearer(&world, "prometheus").await;
    world.start_with(&[SECURE_METRICS]).await;
    let address = world.operator().metrics_address();

    assert!(answers(address, &prometheus, 200).await.contains("\nberth_leader 1\n"));
    for (shown, status) in [(None, 401), (Some("Bearer guessed"), 401), (Some(&*visitor), 403)] {
        let (found, text) = get_secure(address, METRICS, shown).await.unwrap();
        assert!(found == status && !text.contains("berth_"), "{found}: {text}");
    }
    let (found, text) = get(address, METRICS).await.unwrap();
    assert_eq!((found, text.trim_end()), (400, "this is served over HTTPS, to callers with a token"));
    assert_eq!(get_as(address, METRICS, Some(&prometheus)).await.unwrap().0, 400, "without TLS");

    world.kubectl(&["delete", "clusterrolebinding", "prometheus"]).await;
    answers(address, &prometheus, 403).await;
    let (role, subject) = ("--clusterrole=berth-metrics", format!("--serviceaccount={NAMESPACE}:prometheus"));
    world.kubectl(&["create", "clusterrolebinding", "prometheus", role, &subject]).await;
    answers(address, &prometheus, 200).await;

    world.control_plane().stop_api_server().await.unwrap();
    answers(address, &second, 503).await;
    assert_eq!(get_secure(address, METRICS, None).await.unwrap().0, 401);
    assert_eq!(world.operator().probe("/healthz").await.map(|(status, _)| status), Some(200));
    world.control_plane().restart_api_server().await.unwrap();
    answers(address, &second, 200).await;
    world.stop().await;
}

/// Starts a server of the Placement API whose metrics are for known callers, with this kubeconfig, if any.
fn placement(folder: &Path, metrics: SocketAddr, kubeconfig: Option<&Path>) -> Child {
    let [api] = free_addresses();
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(["placement", "--metrics-secure", &format!("--listen={api}"), &format!("--metrics-listen={metrics}")]);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", folder);
    command.envs(kubeconfig.map(|path| ("KUBECONFIG", path)));
    command.current_dir(folder).kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn metrics_of_placement_are_for_the_same_callers_and_its_probes_for_everyone() {
    let mut world = World::without_operator().await;
    let (_, prometheus) = account(&mut world, "scraper", Some("berth-metrics")).await;
    let (_, visitor) = account(&mut world, "guest", None).await;
    apply(world.control_plane(), "rbac/placement").await;
    let (kubeconfig, _) = account(&mut world, "berth-placement", None).await;
    let (folder, [address]) = (tempfile::tempdir().unwrap(), free_addresses());
    let _server = placement(folder.path(), address, Some(&kubeconfig));
    let ready = until(async || {
        let answer = get(address, "/readyz").await;
        so(answer.as_ref().is_some_and(|(status, _)| *status == 200), || format!("{answer:?}"))
    });
    ready.await.unwrap();
    assert!(answers(address, &prometheus, 200).await.contains("berth_placement_model_providers"));
    for (path, shown, status) in [
        (METRICS, None, 401),
        (METRICS, Some(&*visitor), 403),
        ("/check", None, 401),
        ("/check", Some(&*prometheus), 403),
    ] {
        assert_eq!(get_secure(address, path, shown).await.unwrap().0, status, "{path} {shown:?}");
    }
    assert_eq!(get(address, METRICS).await.unwrap().0, 400);
    assert_eq!(get(address, "/check").await.unwrap().0, 200, "for `berth placement check`, which is local");
    for rule in 0..2 {
        // Whom it cannot ask about, it does not let in; the answers to tokens are remembered for a while.
        let remove = format!("[{{\"op\":\"remove\",\"path\":\"/rules/{rule}\"}}]");
        world.kubectl(&["patch", "clusterrole", "berth-placement", "--type=json", "--patch", &remove]).await;
        let missed = until(async || {
            let shown = bearer(&world, "scraper").await;
            let answer = get_secure(address, METRICS, Some(&shown)).await;
            so(answer.as_ref().is_some_and(|(status, _)| *status == 503), || format!("{rule}: {answer:?}"))
        });
        missed.await.unwrap();
        apply(world.control_plane(), "rbac/placement").await;
    }
}

#[tokio::test]
async fn placement_without_an_api_server_to_ask_does_not_start_with_metrics_for_known_callers() {
    let (folder, [address]) = (tempfile::tempdir().unwrap(), free_addresses());
    let ended = placement(folder.path(), address, None).wait_with_output().await.unwrap();
    let errors = String::from_utf8(ended.stderr).unwrap();
    let last = errors.lines().last().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{errors}");
    let line = "berth: the metrics are for callers that the API server knows (--metrics-secure), and there is none to ask; set \
                KUBECONFIG, run in a pod with a service account, or pass --metrics-secure=false: ";
    assert!(last.starts_with(line), "{errors}");
}

/// An address of this machine that is not loopback, and a free port.
pub fn outside() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    // Nothing is sent.
    socket.connect("192.0.2.1:9").expect("this test needs a network interface besides loopback");
    let own: IpAddr = socket.local_addr().unwrap().ip();
    let [free] = free_addresses();
    SocketAddr::new(own, free.port())
}

#[tokio::test]
async fn the_token_of_the_scheduler_does_not_tell_what_others_have() {
    let mut world = World::without_operator().await;
    let (explainer, reader) = account(&mut world, "explainer", Some("berth-explain")).await;
    let (_, visitor) = account(&mut world, "passer-by", None).await;
    world.use_keys(&json!({ "scheduler": { "token": SCHEDULER_TOKEN } }));
    world.create(&host("node1", 2)).await;
    let api = outside();
    world.start_at(api).await;
    let url = format!("http://{api}");

    let status = async |shown: Option<&str>| get_as(api, EXPLAIN, shown).await.unwrap();
    // `berth:s3cret-of-the-scheduler`, as Nova shows it.
    let basic = "Basic YmVydGg6czNjcmV0LW9mLXRoZS1zY2hlZHVsZXI=";
    for shown in [None, Some(&*format!("Bearer {SCHEDULER_TOKEN}")), Some(basic), Some("Bearer guessed")] {
        let (found, text) = status(shown).await;
        assert!(found == 401 && !text.contains("leader"), "{shown:?}: {found} {text}");
    }
    assert_eq!(status(Some(&visitor)).await.0, 403);
    let allowed = until(async || so(status(Some(&reader)).await.0 == 200, || "not allowed yet".to_owned()));
    allowed.await.unwrap();

    world.create(&non_rejectable("story-1", 1)).await;
    world.accepted("story-1").await;
    let (desk, operator) = (Desk::of(&explainer), format!("--operator={url}"));
    let slot = slot_name("story-1", 0);
    for subject in [["host", "node1"], ["commitment", "story-1"], ["slot", &slot]] {
        let text = desk.shown(&["explain", subject[0], subject[1], &operator]).await;
        assert!(text.contains("was asked for what only it knows."), "{text}");
        // The right to read the Lease, which this operator does not have.
        let text = desk.shown(&["explain", subject[0], subject[1]]).await;
        assert!(text.contains("no process holds the Lease berth") && !text.contains("forbidden"), "{text}");
    }
    let flavor = berth_crds::testing::FLAVOR;
    desk.shown(&["schedule", "--flavor", flavor]).await;
    let text = Desk::of(world.account()).berth(&["explain", "host", "node1", &operator], "").await.stdout;
    assert!(text.contains(" answered with 403 (the bearer of this token may not get this path; "), "{text}");
    world.end().await;
}

#[tokio::test]
async fn the_role_for_checks_of_stored_objects_is_enough() {
    let mut world = World::without_operator().await;
    let (checker, _) = account(&mut world, "checker", Some("berth-crds-check")).await;
    world.create(&host("node1", 1)).await;
    world.create(&non_rejectable("story-1", 1)).await;
    let desk = Desk::of(&checker);
    let done = until(async || {
        let ended = desk.berth(&["crds", "check"], "").await;
        so(ended.status == 0, || format!("{ended:#?}"))
    });
    done.await.unwrap();
    let ended = desk.berth(&["crds", "--check-only"], "").await;
    assert!(!ended.stdout.contains("forbidden") && !ended.stderr.contains("forbidden"), "{ended:#?}");
}
