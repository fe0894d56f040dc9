use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use berth_telemetry::config::Remote;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

async fn error(content: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    if let Some(content) = content {
        fs::write(&path, content).unwrap();
    }
    let error = Cluster::connect(Some(&path), "berth/test").await.unwrap_err();
    error.to_string().replace(&path.display().to_string(), "<path>")
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: '{server}'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
    )
}

#[tokio::test]
async fn a_missing_file_is_named() {
    assert_eq!(error(None).await, "the kubeconfig <path> does not exist; give the path of an existing one");
}

#[tokio::test]
async fn a_file_that_is_no_kubeconfig_is_named() {
    let text = error(Some("clusters: 3")).await;
    assert!(text.starts_with("the kubeconfig <path> cannot be used: "), "{text}");
    let text = error(Some("apiVersion: v1\nkind: Config\n")).await;
    assert!(text.starts_with("the kubeconfig <path> cannot be used: "), "{text}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    // No server listens on port 1 of this machine.
    let text = error(Some(&kubeconfig("http://127.0.0.1:1"))).await;
    assert!(text.starts_with("the API server http://127.0.0.1:1/ does not answer: "), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

/// An API server that only knows its version; returns its URL and the heads of its requests.
async fn greeter() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut head = vec![0; 8192];
            let length = connection.read(&mut head).await.unwrap();
            log.lock().push(String::from_utf8_lossy(&head[..length]).to_lowercase());
            let body = json!({
                "major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "",
                "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
            });
            let (body, kind) = (body.to_string(), "Content-Type: application/json");
            let answer = format!(
                "HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, heads)
}

fn remote(host: &str, ca_cert: Option<&str>) -> Remote {
    Remote {
        host: host.to_owned(),
        ca_cert: ca_cert.map(str::to_owned),
        insecure_skip_tls_verify: false,
        kinds: BTreeSet::new(),
        labels: BTreeMap::new(),
    }
}

async fn all(home: &str, remotes: Vec<Remote>) -> Result<Clusters, ConnectError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    fs::write(&path, kubeconfig(home)).unwrap();
    Cluster::connect_all(Some(&path), "berth/test", &ApiServers { home: None, remotes }, None).await
}

#[tokio::test]
async fn remotes_get_the_credentials_of_home_and_are_not_greeted() {
    let (home, _) = greeter().await;
    let (url, heads) = greeter().await;
    let clusters = all(&home, vec![remote("http://127.0.0.1:1", None), remote(&url, None)]).await.unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let names: Vec<_> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    assert_eq!(names, ["127.0.0.1:1", address, "home"], "a remote that is away does not matter");
    assert_eq!(clusters.home().name, ClusterName::home());
    assert!(heads.lock().is_empty(), "there was no request to the remotes");

    clusters.get(&address.into()).unwrap().client.apiserver_version().await.unwrap();
    let heads = heads.lock();
    assert!(heads[0].contains("authorization: bearer t") && heads[0].contains("user-agent: berth/test"), "{heads:?}");
}

#[tokio::test]
async fn a_remote_that_cannot_be_right_is_named() {
    let (home, _) = greeter().await;
    let good = || remote("http://127.0.0.1:1", None);
    let cases = [
        (remote("https://two words", None), "apiservers.remotes[1].host (https://two words): is not a URL: "),
        (remote("https://r", Some("text")), "apiservers.remotes[1].caCert (https://r): holds no certificate; "),
        (
            remote("https://r", Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")),
            "apiservers.remotes[1].caCert (https://r): ",
        ),
    ];
    for (wrong, expected) in cases {
        let text = all(&home, vec![good(), wrong]).await.unwrap_err().to_string();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn without_home_there_is_nothing() {
    let (url, _) = greeter().await;
    let text = all("http://127.0.0.1:1", vec![remote(&url, None)]).await.unwrap_err().to_string();
    assert!(text.starts_with("the API server http://127.0.0.1:1/ does not answer: "), "{text}");
}
