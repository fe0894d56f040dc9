//! An API server of version 1.30, as far as the preflight of the operator asks: it knows all kinds and allows
//! everything.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves plain HTTP as long as the test runs.
pub struct OldServer {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl OldServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, log.clone()));
            }
        });
        Self { url, requests }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Method and path of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

/// One request per connection; its head is in the first bytes.
async fn serve(mut connection: TcpStream, log: Arc<Mutex<Vec<String>>>) {
    let mut head = vec![0; 8192];
    let length = connection.read(&mut head).await.unwrap();
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let line = head.lines().next().unwrap_or_default().to_owned();
    let body = answer(line.split(' ').nth(1).unwrap_or_default()).to_string();
    log.lock().push(line);
    let kind = "Content-Type: application/json\r\nConnection: close";
    let answer = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.write_all(answer.as_bytes()).await.unwrap();
}

fn answer(path: &str) -> Value {
    if path == "/version" {
        return json!({ "major": "1", "minor": "30", "gitVersion": "v1.30.4", "gitCommit": "", "gitTreeState": "",
                       "buildDate": "", "goVersion": "", "compiler": "", "platform": "" });
    }
    if path.contains("selfsubjectaccessreviews") {
        return json!({ "metadata": {}, "spec": {}, "status": { "allowed": true } });
    }
    let kinds = [
        "committedresources",
        "reservations",
        "knowledges",
        "flavorgroupcapacities",
        "commitmentchanges",
        "hypervisors",
        "events",
    ];
    let names = kinds.into_iter().flat_map(|kind| [kind.to_owned(), format!("{kind}/status")]);
    let resource =
        |name| json!({ "name": name, "singularName": "", "namespaced": false, "kind": "", "verbs": ["list"] });
    json!({ "kind": "APIResourceList", "groupVersion": "", "resources": names.map(resource).collect::<Vec<_>>() })
}
