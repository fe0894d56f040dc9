//! The APIs over TLS: replicas forward to each other, new files are taken into use while they run, and files that cannot be used
//! are not. Runs the real binary on a real API server.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use reqwest::{Certificate, Client};
use serde_json::{Value, json};

use crate::support::http;
use crate::support::nova::{hosts, of_project, wants};
use crate::support::objects::host;
use crate::support::operator::{Operator, SECURE_METRICS};
use crate::support::replicas::{LEASE, Replicas, TWO};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const ADDRESS: &str = "reservations.cortex.cloud/api-address";
const PATH: &str = "/scheduler/nova/external";
const RUNS: &str = "cortex_filter_weigher_pipeline_requests_total";
const EXPIRY: &str = "berth_tls_certificate_expiry_timestamp_seconds";

/// A new certificate that is valid until this year, with its key.
pub fn write_pair(folder: &Path, year: i32) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["berth.example.org".to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    fs::write(folder.join("tls.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
}

pub fn keys(folder: &Path) -> Value {
    json!({ "tls": { "certFile": folder.join("tls.crt"), "keyFile": folder.join("tls.key") } })
}

/// Until the first of January of a year, in seconds since 1970.
fn expiry(year: i32) -> u64 {
    format!("{year}-01-01T00:00:00Z").parse::<Timestamp>().unwrap().as_second().try_into().unwrap()
}

fn client() -> Client {
    berth_http::client::build(|| Client::builder().tls_danger_accept_invalid_certs(true)).unwrap()
}

/// The hosts that a replica offers to a VM, over TLS.
async fn ask(client: &Client, api: SocketAddr, vm: &str) -> Result<Vec<String>, String> {
    let request = of_project(wants(vm, &["node1"]), vm).to_string();
    let sent = client.post(format!("https://{api}{PATH}")).body(request).send();
    let answer = sent.await.map_err(|error| format!("{error:?}"))?;
    let (status, body) = (answer.status(), answer.text().await.map_err(|error| error.to_string())?);
    if status == 200 { Ok(hosts(&body)) } else { Err(format!("{status}: {body}")) }
}

async fn shows(operator: &Operator, metric: &str, value: u64) -> Result<(), String> {
    let metrics = operator.metrics().await;
    so(http::sum(&metrics, metric, &[]) == value, || format!("{metric} is not {value}"))
}

async fn runs(replicas: &Replicas) -> [u64; 2] {
    let [leader, follower] = TWO.map(|name| replicas.get(name));
    [http::sum(&leader.metrics().await, RUNS, &[]), http::sum(&follower.metrics().await, RUNS, &[])]
}

#[tokio::test]
async fn replicas_forward_over_tls_and_use_new_certificates_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    write_pair(folder.path(), 2090);
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.use_keys(&keys(folder.path()));
    let replicas = Replicas::two(world).await;
    let [leader, follower] = TWO;
    let (client, api) = (client(), replicas.get(follower).api());

    let lease = replicas.leases.get(LEASE).await.unwrap();
    let published = lease.metadata.annotations.unwrap_or_default().remove(ADDRESS);
    assert_eq!(published, Some(format!("https://{}", replicas.get(leader).api())));
    let knows = async |_: &Replicas| {
        let offered = ask(&client, api, "vm-0").await?;
        so(offered == ["node1"], || format!("{offered:?}"))
    };
    replicas.until("both know the host", knows).await;
    let [before, _] = runs(&replicas).await;
    assert_eq!(ask(&client, api, "vm-1").await.unwrap(), ["node1"]);
    assert_eq!(runs(&replicas).await, [before + 1, 0], "the leader decides");
    let (status, body) = http::get(api, "/commitments/v1/info").await.unwrap();
    assert_eq!((status, &*body), (400, "this is served over HTTPS; begin the URL with https://\n"));

    write_pair(folder.path(), 2091);
    for name in TWO {
        let renewed = async |replicas: &Replicas| shows(replicas.get(name), EXPIRY, expiry(2091)).await;
        replicas.until("the new certificate is in use", renewed).await;
    }
    assert_eq!(ask(&client, api, "vm-2").await.unwrap(), ["node1"]);

    fs::write(folder.path().join("tls.key"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let reported = async |replicas: &Replicas| shows(replicas.get(follower), "berth_tls_files_unusable", 1).await;
    replicas.until("the key is reported", reported).await;
    let log = replicas.get(follower).log();
    let lines = log.lines().filter(|line| line.contains("the former certificate stays in use")).count();
    assert_eq!(lines, 1, "{log}");
    assert_eq!(ask(&client, api, "vm-3").await.unwrap(), ["node1"]);

    // With a key of another certificate it would not start again.
    write_pair(folder.path(), 2092);
    replicas.end(leader).await;
}

#[tokio::test]
async fn metrics_have_the_certificate_of_their_flag_and_the_apis_that_of_the_configuration() {
    let [of_apis, of_metrics] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write_pair(of_apis.path(), 2090);
    write_pair(of_metrics.path(), 2085);
    let mut world = World::without_operator().await;
    world.use_keys(&keys(of_apis.path()));
    let folder = format!("--metrics-cert-path={}", of_metrics.path().display());
    world.start_with(&[SECURE_METRICS, &folder]).await;
    let asks = async |trusted: &Path, address: SocketAddr| {
        let root = Certificate::from_pem(&fs::read(trusted.join("tls.crt")).unwrap()).unwrap();
        let (name, roots) = ("berth.example.org", [root]);
        let client =
            berth_http::client::build(|| Client::builder().tls_certs_only(roots.clone()).resolve(name, address));
        let sent = client.unwrap().get(format!("https://{name}:{}/metrics", address.port())).send().await;
        sent.map(|answer| answer.status().as_u16()).ok()
    };
    let (apis, metrics) = (world.operator().api(), world.operator().metrics_address());
    let served = until(async || {
        let found = [asks(of_metrics.path(), metrics).await, asks(of_apis.path(), apis).await];
        // Nobody is authenticated at the metrics, and the APIs have no such path.
        so(found == [Some(401), Some(404)], || format!("{found:?}"))
    });
    served.await.unwrap();
    assert_eq!([asks(of_apis.path(), metrics).await, asks(of_metrics.path(), apis).await], [None, None]);
    world.stop().await;
}
