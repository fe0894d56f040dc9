//! What processes listen on and connect to is what `berth network` prints for their flags and configuration, which is what the
//! network policies of the chart allow. Both directions: neither an address nor a row is left over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use berth_control_plane::ControlPlane;
use berth_crds::{Datasource, testing};
use berth_testkit::keystone::{Keystone, Projects};
use berth_testkit::limes::{Limes, commitment};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::command::berth;
use crate::support::free_ports::free_addresses;
use crate::support::http::{get, get_secure, send, sum};
use crate::support::keystone::{create_secret, grant_secret, secret_ref};
use crate::support::nova::{hosts_are_known_at, of_project, post, wants};
use crate::support::objects::{host, rejectable};
use crate::support::operator::Operator;
use crate::support::replicas::{Replicas, TWO};
use crate::support::scheduler_stub::{Manner, SchedulerStub};
use crate::support::sockets::{SocketRecorder, UsedPorts};
use crate::support::vm_table::{self, TABLES};
use crate::support::waiting::{so, until};
use crate::support::world::{World, apply};
use crate::vms;

const PASSWORD: &str = "the-password-of-keystone";

/// Processes of tests are told addresses, not names.
const NOT_HERE: &str = "name-servers";

/// The ports of what a process connects to, by where it finds them.
type Sources = BTreeMap<&'static str, BTreeSet<u16>>;

/// The rows of a process: a peer and its ports.
struct Rows {
    listens: Vec<(String, BTreeSet<u16>)>,
    connects: Vec<(String, BTreeSet<u16>)>,
}

impl Rows {
    async fn of(command: &[String], sources: &Sources) -> Self {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["-o", "json"]).collect();
        let ended = berth(&arguments, "").await;
        assert_eq!(ended.status, 0, "{ended:?}");
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        let all = answer["uses"].as_array().unwrap();
        let rows = |direction: &str| {
            let of_direction = all.iter().filter(|one| one["direction"] == direction && one["peer"] != NOT_HERE);
            of_direction.map(|one| (one["peer"].as_str().unwrap().to_owned(), ports(one, sources))).collect()
        };
        Self { listens: rows("listens"), connects: rows("connects") }
    }
}

fn ports(one: &Value, sources: &Sources) -> BTreeSet<u16> {
    let known = one["ports"].as_array().unwrap().iter().map(|port| u16::try_from(port.as_u64().unwrap()).unwrap());
    let further = one["furtherPorts"].as_str().map(|source| sources[source].clone()).unwrap_or_default();
    known.chain(further).collect()
}

#[track_caller]
fn is_the_same(what: &str, used: &BTreeSet<u16>, rows: &[(String, BTreeSet<u16>)]) {
    let named: BTreeSet<u16> = rows.iter().flat_map(|(_, ports)| ports.iter().copied()).collect();
    let surplus: Vec<_> = used.difference(&named).collect();
    assert!(surplus.is_empty(), "{what} has used {surplus:?}, which no row names: {rows:?}");
    let unused: Vec<_> = rows.iter().filter(|(_, ports)| ports.is_disjoint(used)).collect();
    assert!(unused.is_empty(), "{what} has not used {unused:?}, but {used:?}");
}

fn port_of(url: &str) -> u16 {
    let (_, rest) = url.split_once("://").unwrap();
    rest.split('/').next().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
}

fn api_server_port(control_plane: &ControlPlane) -> u16 {
    let kubeconfig = fs::read_to_string(control_plane.kubeconfig()).unwrap();
    let (_, rest) = kubeconfig.split_once("https://").unwrap();
    let address = rest.split(['"', '\n', '/']).next().unwrap();
    address.rsplit_once(':').unwrap().1.parse().unwrap()
}

async fn prepare_database(world: &mut World) -> u16 {
    let postgres = berth_postgres::shared().await.unwrap();
    postgres.create("story_network").await.unwrap();
    let rows = format!("{TABLES} {}", vm_table::server("vm-1", "p", testing::FLAVOR, "2026-02-01T08:00:00Z"));
    postgres.ask("story_network", &rows).await.unwrap();
    for kind in ["role", "rolebinding"] {
        let _ = world.try_kubectl(&["delete", kind, "vms", "-n", "berth-system"]).await;
    }
    vms::create_secret(world, postgres, "story_network").await;
    vms::grant_secret(world).await;
    let datasource = json!({ "metadata": { "name": "nova-servers" }, "spec": {
        "schedulingDomain": "nova", "type": "openstack",
        "databaseSecretRef": { "name": "vms", "namespace": "berth-system" },
    } });
    world.create_raw::<Datasource>(datasource).await.unwrap();
    port_of(&postgres.url("story_network"))
}

/// Asks the follower until its connection to the leader is seen.
async fn forwards([leader, follower]: [SocketAddr; 2], recorders: &[SocketRecorder]) {
    let is_seen = until(async || {
        let answer = post(follower, &of_project(wants("vm-2", &["node1"]), "p")).await;
        let is_seen = recorders.iter().any(|recorder| recorder.used().connects.contains(&leader.port()));
        so(answer.status == 200 && is_seen, || format!("{answer:?}"))
    });
    is_seen.await.unwrap_or_else(|bad| panic!("no connection to the leader: {bad}"));
}

async fn knows_vms(operator: &Operator) -> Result<(), String> {
    let metrics = operator.metrics().await;
    so(sum(&metrics, "berth_vm_source_vms", &[]) == 1, || "no VMs are known".to_owned())
}

#[tokio::test]
async fn replicas_use_the_addresses_that_the_table_names_and_all_of_them() {
    let (keystone, limes) = (Keystone::start(PASSWORD).await.unwrap(), Limes::start().await.unwrap());
    keystone.add_service("resources", &limes.url());
    keystone.set_projects(Projects::new(&[(testing::PROJECT, testing::DOMAIN)]));
    limes.set(testing::PROJECT, vec![commitment("listed-1", testing::GROUP, testing::ZONE, 480)]);
    // It closes the connection after its answer, so that one must be looked at before.
    let stub = SchedulerStub::start(Manner::Slowly("node1", Duration::from_millis(500))).await;
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    create_secret(&world, &keystone, PASSWORD).await;
    grant_secret(&world).await;
    let database = prepare_database(&mut world).await;
    let api_server = api_server_port(world.control_plane());
    world.use_keys(&json!({
        "keystoneSecretRef": secret_ref(),
        "datasourceName": "nova-servers",
        "enabledTasks": ["commitments-sync-task"],
        "committedResourceReservationController": { "schedulerURL": stub.url() },
    }));
    let mut replicas = Replicas::none(world).await;
    let mut recorders = Vec::new();
    for name in TWO {
        replicas.start(name).await;
        recorders.push(SocketRecorder::start(replicas.get(name).pid()));
        replicas.leader_is(TWO[0]).await;
    }
    let [leader, follower] = TWO.map(|name| replicas.get(name).api());
    replicas.world.create(&rejectable("placed-1", 1)).await;
    replicas.world.accepted("placed-1").await;
    replicas.world.accepted("listed-1").await;
    hosts_are_known_at(&replicas.world, follower).await;
    forwards([leader, follower], &recorders).await;
    replicas.until("the follower knows the VMs too", async |replicas| knows_vms(replicas.get(TWO[1])).await).await;

    let sources: Sources = [
        ("kubeconfig", [api_server].into()),
        ("credentials-secret", [port_of(&keystone.url())].into()),
        ("catalog", [port_of(&limes.url()), port_of(&keystone.url())].into()),
        ("datasource-secret", [database].into()),
    ]
    .into();
    let (mut connected, mut rows) = (BTreeSet::new(), Vec::new());
    for (name, recorder) in TWO.into_iter().zip(recorders) {
        let UsedPorts { listens, connects } = recorder.stop();
        let mut command = replicas.get(name).flags().to_vec();
        "network".clone_into(&mut command[0]);
        let of_replica = Rows::of(&command, &sources).await;
        is_the_same(name, &listens, &of_replica.listens);
        assert_eq!(listens.len(), 3, "{listens:?}");
        connected.extend(connects);
        rows = of_replica.connects;
    }
    // The rows of the follower have its own port, which is that of the leader in pods.
    let own = |(peer, ports): &mut (String, BTreeSet<u16>)| {
        if peer == "leader" {
            *ports = [leader.port()].into();
        }
    };
    rows.iter_mut().for_each(own);
    is_the_same("the replicas", &connected, &rows);
    assert_eq!(rows.len(), 6, "{rows:?}");
    replicas.end(TWO[0]).await;
}

#[tokio::test]
async fn placement_uses_the_addresses_that_the_table_names_and_all_of_them() {
    let keystone = Keystone::start(PASSWORD).await.unwrap();
    keystone.issue_token("gAAAAA-nova", "nova", "service", &["service"]);
    let postgres = berth_postgres::shared().await.unwrap();
    postgres.create("story_network_ledger").await.unwrap();
    let mut world = World::without_operator().await;
    create_secret(&world, &keystone, PASSWORD).await;
    apply(world.control_plane(), "rbac/placement").await;
    let kubeconfig = world.control_plane().service_account("berth-system", "berth-placement").await.unwrap();
    let api_server = api_server_port(world.control_plane());
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("conf.json");
    fs::write(&config, json!({ "keystoneSecretRef": secret_ref() }).to_string()).unwrap();
    let [api, side]: [SocketAddr; 2] = free_addresses();
    let database = postgres.url("story_network_ledger");
    let flags = [
        "placement".to_owned(),
        format!("--config={}", config.display()),
        format!("--listen={api}"),
        format!("--metrics-listen={side}"),
        "--metrics-secure=true".to_owned(),
        format!("--database={database}"),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(&flags).env("KUBECONFIG", kubeconfig).current_dir(folder.path());
    let mut server = command.kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let recorder = SocketRecorder::start(server.id().unwrap());
    let ready = until(async || {
        let answer = get(side, "/readyz").await;
        so(answer.as_ref().is_some_and(|(status, _)| *status == 200), || format!("{answer:?}"))
    });
    ready.await.unwrap();
    let listed = "/resource_providers HTTP/1.1\r\nX-Auth-Token: gAAAAA-nova\r\nX-Rest:";
    let answered = send(api, "GET", listed, 0, b"").await.unwrap();
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(get_secure(side, "/metrics", Some("Bearer guessed")).await.unwrap().0, 401);
    let UsedPorts { listens, connects } = recorder.stop();
    server.kill().await.unwrap();

    let sources: Sources =
        [("kubeconfig", [api_server].into()), ("credentials-secret", [port_of(&keystone.url())].into())].into();
    let command = [&flags[..], &["network".to_owned()]].concat();
    let rows = Rows::of(&command, &sources).await;
    is_the_same("Placement", &listens, &rows.listens);
    is_the_same("Placement", &connects, &rows.connects);
    assert_eq!((listens.len(), rows.connects.len()), (2, 3), "{:?}", rows.connects);
}
