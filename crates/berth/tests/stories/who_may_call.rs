//! Which callers may call which route of the LIQUID API and of `berth placement`, with tokens of a real Keystone: the tables of
//! docs/security.md, and what holds while Keystone is away.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use berth_keystone::{Keystone, Login, Scope, Settings, seed};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::placement::Placement;
use crate::support::objects::{GROUP, SLOT_GIB, host};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const PAGE: &str = include_str!("../../../../docs/security.md");
const UUID: &str = "7b1d0f7e-6c3c-4d0c-9b55-3d1c1a5e2b4f";
const SERVICE: Scope<'_> = Scope::Project { name: seed::PROJECT, domain: seed::DOMAIN };

/// The columns of both tables.
const COLUMNS: [Column; 11] = [
    Column { head: "none", caller: Caller::None },
    Column { head: "unknown", caller: Caller::Unknown },
    Column { head: "`reader`", caller: Caller::Role("reader") },
    Column { head: "`member`", caller: Caller::Role("member") },
    Column { head: "`manager`", caller: Caller::Role("manager") },
    Column { head: "`service`", caller: Caller::Role("service") },
    Column { head: "`admin`", caller: Caller::Role("admin") },
    Column { head: "`cloud_resource_admin`", caller: Caller::Role("cloud_resource_admin") },
    Column { head: "`cloud_resource_viewer`", caller: Caller::Role("cloud_resource_viewer") },
    Column { head: "`admin` of the system", caller: Caller::System },
    Column { head: "customer", caller: Caller::Customer },
];

/// What each column gets from a kind of routes.
struct Row {
    routes: &'static str,
    outcomes: [Outcome; COLUMNS.len()],
}

struct Column {
    head: &'static str,
    caller: Caller,
}

/// Whose token is shown.
#[derive(Clone, Copy)]
enum Caller {
    None,
    Unknown,
    /// The user with this role in the project `service`.
    Role(&'static str),
    System,
    /// A member of a project of its own.
    Customer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Yes,
    Unauthorized,
    Forbidden,
}

use Outcome::{Forbidden as F, Unauthorized as U, Yes as Y};

const LIQUID_READ: Row =
    Row { routes: "info, report-capacity, report-usage", outcomes: [U, U, F, F, F, Y, Y, Y, Y, Y, F] };
const LIQUID_WRITE: Row = Row { routes: "quota, change-commitments", outcomes: [U, U, F, F, F, Y, Y, Y, F, Y, F] };
const OWN_USAGES: Row =
    Row { routes: "`placement:usages` of the project `service`", outcomes: [U, U, Y, Y, Y, Y, Y, F, F, F, F] };
const CUSTOMER_USAGES: Row =
    Row { routes: "`placement:usages` of the customer's project", outcomes: [U, U, F, F, F, Y, Y, F, F, F, Y] };
const RESHAPER: Row = Row { routes: "`placement:reshaper:reshape`", outcomes: [U, U, F, F, F, Y, F, F, F, F, F] };
const RESHAPER_BEFORE: Row = Row {
    routes: "`placement:reshaper:reshape` without `placement.enforceNewDefaults`",
    outcomes: [U, U, F, F, F, Y, Y, F, F, F, F],
};
const PLACEMENT: Row = Row { routes: "every other rule of Placement", outcomes: [U, U, F, F, F, Y, Y, F, F, F, F] };

/// Method and path below `/commitments/v1/`, the status for callers that may, and the row.
const LIQUID: [(&str, &str, u16, &Row); 5] = [
    ("GET", "info", 200, &LIQUID_READ),
    ("POST", "report-capacity", 200, &LIQUID_READ),
    ("POST", "projects/7b1d0f7e-6c3c-4d0c-9b55-3d1c1a5e2b4f/report-usage", 503, &LIQUID_READ),
    ("PUT", "projects/7b1d0f7e-6c3c-4d0c-9b55-3d1c1a5e2b4f/quota", 400, &LIQUID_WRITE),
    ("POST", "change-commitments", 400, &LIQUID_WRITE),
];
/// What such a 503 says, unlike one about a token. No database with VMs is configured here.
const UNRELATED: [&str; 1] = ["vm source not configured"];

/// A rule, and a route that it decides; `{}` is a UUID that is not there.
const PLACEMENT_ROUTES: [(&str, &str, &str); 32] = [
    ("resource_providers:list", "GET", "/resource_providers"),
    ("resource_providers:create", "POST", "/resource_providers"),
    ("resource_providers:show", "GET", "/resource_providers/{}"),
    ("resource_providers:update", "PUT", "/resource_providers/{}"),
    ("resource_providers:delete", "DELETE", "/resource_providers/{}"),
    ("resource_providers:inventories:list", "GET", "/resource_providers/{}/inventories"),
    ("resource_providers:inventories:create", "POST", "/resource_providers/{}/inventories"),
    ("resource_providers:inventories:show", "GET", "/resource_providers/{}/inventories/VCPU"),
    ("resource_providers:inventories:update", "PUT", "/resource_providers/{}/inventories"),
    ("resource_providers:inventories:delete", "DELETE", "/resource_providers/{}/inventories"),
    ("resource_providers:aggregates:list", "GET", "/resource_providers/{}/aggregates"),
    ("resource_providers:aggregates:update", "PUT", "/resource_providers/{}/aggregates"),
    ("resource_providers:traits:list", "GET", "/resource_providers/{}/traits"),
    ("resource_providers:traits:update", "PUT", "/resource_providers/{}/traits"),
    ("resource_providers:traits:delete", "DELETE", "/resource_providers/{}/traits"),
    ("resource_providers:usages", "GET", "/resource_providers/{}/usages"),
    ("resource_providers:allocations:list", "GET", "/resource_providers/{}/allocations"),
    ("resource_classes:list", "GET", "/resource_classes"),
    ("resource_classes:create", "POST", "/resource_classes"),
    ("resource_classes:show", "GET", "/resource_classes/CUSTOM_ONE"),
    ("resource_classes:update", "PUT", "/resource_classes/CUSTOM_ONE"),
    ("resource_classes:delete", "DELETE", "/resource_classes/CUSTOM_ONE"),
    ("traits:list", "GET", "/traits"),
    ("traits:show", "GET", "/traits/CUSTOM_ONE"),
    ("traits:update", "PUT", "/traits/CUSTOM_ONE"),
    ("traits:delete", "DELETE", "/traits/CUSTOM_ONE"),
    ("allocations:manage", "POST", "/allocations"),
    ("allocations:list", "GET", "/allocations/{}"),
    ("allocations:update", "PUT", "/allocations/{}"),
    ("allocations:delete", "DELETE", "/allocations/{}"),
    ("allocation_candidates:list", "GET", "/allocation_candidates"),
    ("reshaper:reshape", "POST", "/reshaper"),
];

impl Row {
    /// As it is in the document.
    fn text(&self) -> String {
        let cells: Vec<&str> = self.outcomes.iter().map(|outcome| outcome.text()).collect();
        format!("| {} | {} |", self.routes, cells.join(" | "))
    }
}

impl Outcome {
    fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Unauthorized => "401",
            Self::Forbidden => "403",
        }
    }

    fn of(status: u16) -> Self {
        match status {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            _ => Self::Yes,
        }
    }
}

impl Caller {
    async fn token(self, keystone: &Keystone) -> Option<String> {
        let in_default = |user, scope| Login { user, user_domain: seed::DOMAIN, password: seed::PASSWORD, scope };
        let customer = Scope::Project { name: seed::CUSTOMER, domain: seed::CUSTOMER_DOMAIN };
        let login = match self {
            Self::None => return None,
            Self::Unknown => return Some("made-up".to_owned()),
            Self::Role(role) => in_default(role, SERVICE),
            Self::System => seed::administrator(),
            Self::Customer => Login { user_domain: seed::CUSTOMER_DOMAIN, ..in_default(seed::CUSTOMER, customer) },
        };
        Some(keystone.token(&login).await.unwrap())
    }
}

async fn tokens(keystone: &Keystone) -> Vec<Option<String>> {
    let mut tokens = Vec::new();
    for column in &COLUMNS {
        tokens.push(column.caller.token(keystone).await);
    }
    tokens
}

/// A client of the API of one server.
struct ApiClient {
    http: Client,
    address: SocketAddr,
}

struct Answered {
    status: u16,
    retry_after: Option<String>,
    body: String,
}

impl ApiClient {
    fn new(address: SocketAddr) -> Self {
        Self { http: Client::builder().build().unwrap(), address }
    }

    /// Sends an empty object where a body is expected.
    async fn ask(&self, method: &str, path: &str, token: Option<&str>) -> Answered {
        let method: Method = method.parse().unwrap();
        let has_body = ![Method::GET, Method::DELETE].contains(&method);
        let mut request = self.http.request(method, format!("http://{}{path}", self.address));
        request = request.header("openstack-api-version", "placement 1.39");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        if has_body {
            request = request.header("content-type", "application/json").body("{}");
        }
        let response = request.send().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        Answered { status: response.status().as_u16(), retry_after, body: response.text().await.unwrap() }
    }
}

/// The credentials of Berth in the configuration.
fn credentials(keystone: &Keystone) -> Value {
    json!({
        "keystoneURL": keystone.url(), "osUsername": seed::BERTH, "osPassword": seed::PASSWORD,
        "osProjectName": seed::PROJECT, "osUserDomainName": seed::DOMAIN, "osProjectDomainName": seed::DOMAIN,
    })
}

/// An operator that has published its info, with more keys.
async fn operator(keystone: &Keystone, more: &Value) -> (World, ApiClient) {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    let ram = json!({ "ramUnitGiB": SLOT_GIB, "handlesCommitments": true, "hasCapacity": true });
    let mut keys = credentials(keystone);
    keys["committedResourceAPI"] = json!({ "flavorGroupResourceConfig": { GROUP: { "ram": ram } } });
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.use_keys(&keys);
    world.start().await;
    let client = ApiClient::new(world.operator().api());
    let token = Caller::Role("service").token(keystone).await;
    let published = until(async || {
        let answer = client.ask("GET", "/commitments/v1/info", token.as_deref()).await;
        so(answer.status == 200, || format!("{}: {}", answer.status, answer.body))
    });
    published.await.unwrap_or_else(|bad| panic!("{bad}\n{}", world.operator().end_of_log()));
    (world, client)
}

#[test]
fn the_document_has_the_tables() {
    let heads: Vec<&str> = COLUMNS.iter().map(|column| column.head).collect();
    let head = format!("| | {} |", heads.join(" | "));
    assert_eq!(PAGE.matches(&head).count(), 2, "docs/security.md must have twice the line\n{head}");
    for row in [&LIQUID_READ, &LIQUID_WRITE, &OWN_USAGES, &CUSTOMER_USAGES, &RESHAPER, &RESHAPER_BEFORE, &PLACEMENT] {
        let text = row.text();
        assert!(PAGE.contains(&text), "docs/security.md must have the line\n{text}");
    }
}

#[tokio::test]
async fn liquid_answers_each_caller_as_the_document_says() {
    let keystone = Keystone::shared().await.unwrap();
    let (world, client) = operator(&keystone, &json!({})).await;
    let tokens = tokens(&keystone).await;
    let mut wrong = Vec::new();
    for (method, path, status, row) in LIQUID {
        for ((column, token), expected) in COLUMNS.iter().zip(&tokens).zip(row.outcomes) {
            let answer = client.ask(method, &format!("/commitments/v1/{path}"), token.as_deref()).await;
            let is_allowed =
                answer.status == status && (status != 503 || UNRELATED.iter().any(|text| answer.body.contains(text)));
            let is_expected = if expected == Y { is_allowed } else { Outcome::of(answer.status) == expected };
            if !is_expected {
                wrong.push(format!("{method} {path} by {}: {} {}", column.head, answer.status, answer.body));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    world.end().await;
}

#[tokio::test]
async fn placement_answers_each_caller_as_the_document_says() {
    let keystone = Keystone::shared().await.unwrap();
    for (keys, reshaper) in
        [(json!({}), &RESHAPER), (json!({ "placement": { "enforceNewDefaults": false } }), &RESHAPER_BEFORE)]
    {
        assert_eq!(wrong_answers_of_placement(&keystone, &keys, reshaper).await, Vec::<String>::new(), "{keys}");
    }
}

/// With more keys in the configuration.
async fn wrong_answers_of_placement(keystone: &Keystone, keys: &Value, reshaper: &Row) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let placement = placement(keystone, folder.path(), keys).await;
    let client = ApiClient::new(placement.api);
    let usages = |project| ("usages", "GET", format!("/usages?project_id={}", keystone.project(project).unwrap()));
    let mut routes: Vec<(&str, &str, String, &Row)> = Vec::new();
    for (project, row) in [(seed::PROJECT, &OWN_USAGES), (seed::CUSTOMER, &CUSTOMER_USAGES)] {
        let (rule, method, path) = usages(project);
        routes.push((rule, method, path, row));
    }
    for (rule, method, path) in PLACEMENT_ROUTES {
        let row = if rule == "reshaper:reshape" { reshaper } else { &PLACEMENT };
        routes.push((rule, method, path.replace("{}", UUID), row));
    }
    let tokens = tokens(keystone).await;
    let mut wrong = Vec::new();
    for (rule, method, path, row) in &routes {
        for ((column, token), expected) in COLUMNS.iter().zip(&tokens).zip(row.outcomes) {
            let answer = client.ask(method, path, token.as_deref()).await;
            // A route of another rule would not name this one.
            let is_named = expected != F || answer.body.contains(&format!("placement:{rule}"));
            let is_possible = matches!(answer.status, 200..=299 | 400 | 401 | 403 | 404 | 409);
            if Outcome::of(answer.status) != expected || !is_named || !is_possible {
                wrong.push(format!("{method} {path} by {}: {} {}", column.head, answer.status, answer.body));
            }
        }
    }
    wrong
}

async fn placement(keystone: &Keystone, folder: &Path, more: &Value) -> Placement {
    let (config, mut keys) = (folder.join("conf.json"), credentials(keystone));
    keys.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fs::write(&config, keys.to_string()).unwrap();
    Placement::begin_configured(&config).await
}

#[tokio::test]
async fn while_keystone_is_away_only_known_tokens_read() {
    let mut keystone = Keystone::start(&Settings::default()).await.unwrap();
    let ttl = Duration::from_secs(2);
    let (world, client) = operator(&keystone, &json!({ "auth": { "tokenCacheTTL": "2s" } })).await;
    let folder = tempfile::tempdir().unwrap();
    let placement = placement(&keystone, folder.path(), &json!({})).await;
    let provider = ApiClient::new(placement.api);
    let known = Caller::Role("service").token(&keystone).await;
    let unseen = Caller::Role("admin").token(&keystone).await;
    let info = async |token: &Option<String>| client.ask("GET", "/commitments/v1/info", token.as_deref()).await;
    let change =
        async |token: &Option<String>| client.ask("POST", "/commitments/v1/change-commitments", token.as_deref()).await;
    assert_eq!((info(&known).await.status, change(&known).await.status), (200, 400));

    keystone.kill();
    let refused = provider.ask("GET", "/resource_providers", unseen.as_deref()).await;
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("5")), "{}", refused.body);
    for token in [&unseen, &Caller::Unknown.token(&keystone).await] {
        let refused = info(token).await;
        assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("5")), "{}", refused.body);
    }
    assert_eq!(info(&None).await.status, 401, "no token needs no Keystone");
    sleep(ttl).await;
    assert_eq!(info(&known).await.status, 200, "validated before");
    let refused = change(&known).await;
    assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("5")), "{}", refused.body);

    keystone.restart().await.unwrap();
    let back = until(async || {
        let answer = info(&unseen).await;
        so(answer.status == 200, || format!("{}: {}", answer.status, answer.body))
    });
    back.await.unwrap();
    assert_eq!(change(&known).await.status, 400);
    keystone.api().revoke(known.as_deref().unwrap()).await.unwrap();
    let ended = until(async || {
        let answer = info(&known).await;
        so(answer.status == 401, || format!("{}: {}", answer.status, answer.body))
    });
    ended.await.unwrap();
    world.end().await;
}
