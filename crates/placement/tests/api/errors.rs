//! Which error is reported, and how.

use axum::body::Body;
use axum::http::Request;
use berth_placement::ledger::RequestError;
use berth_placement::policy;
use berth_placement::protocol::cors::Cors;

use crate::support::{CONCURRENT, Server, UNDEFINED, uuid};

#[tokio::test]
async fn errors_have_the_form_of_placement() {
    let server = Server::new();
    let nope = server.ask("1.22 GET /nope", "").await;
    nope.is(404, "", "");
    assert_eq!(nope.detail(), "The resource could not be found.\n\n   ");
    server.ask("1.23 GET /nope", "").await.is(404, UNDEFINED, "");
    let version = server.ask("1.77 GET /", "").await;
    version.is(406, "", "Invalid microversion: Unacceptable version header: 1.77");
    assert_eq!(version.json()["errors"][0]["max_version"], "1.39");
    assert_eq!(version.json()["errors"][0]["min_version"], "1.0");
    assert_eq!(version.header("openstack-api-version").or(version.header("vary")), None);
    let untyped = server.ask_with("POST /resource_providers", "{}", &[("content-type", "")]).await;
    untyped.is(400, UNDEFINED, "content-type header required when content-length > 0");
    let method = server.ask("POST /resource_providers/x", "").await;
    assert_eq!((method.status, method.header("allow")), (405, Some("GET, DELETE, PUT")));
    let expected =
        "The method POST is not allowed for this resource. \n\n The method specified is not allowed for this resource.";
    assert_eq!(method.detail(), expected);
    let old = server.ask("1.4 DELETE /resource_providers/abc/inventories", "").await;
    assert_eq!((old.status, old.header("allow")), (405, None));
    assert_eq!(old.detail(), "The method DELETE is not allowed for this resource. \n\n ");
    server.ask("1.29 POST /reshaper", "{}").await.is(404, UNDEFINED, "");
    server.provider("P", None, "").await;
    let aggregates = format!("1.1 PUT /resource_providers/{}/aggregates", uuid("P"));
    let reported = server.ask(&aggregates, r#"["x"]"#).await.detail();
    for part in [
        "JSON does not validate: 'x' is not a 'uuid'",
        "Failed validating 'format' in schema['items']",
        "On instance[0]",
    ] {
        assert!(reported.contains(part), "{reported}");
    }
}

#[tokio::test]
async fn which_fault_is_reported_first() {
    let server = Server::new();
    let anonymous = |line: &'static str, headers: &'static [(&'static str, &'static str)]| {
        let headers: Vec<_> = [("x-auth-token", "")].iter().chain(headers).copied().collect();
        let server = server.clone();
        async move { server.ask_with(line, "", &headers).await.status }
    };
    assert_eq!(anonymous("9.9 GET /nope", &[]).await, 401, "token before version and route");
    assert_eq!(anonymous("GET /", &[]).await, 200, "the root needs no token");
    assert_eq!(
        server.ask_with("9.9 GET /nope", "", &[("content-length", "x")]).await.status,
        406,
        "version before length"
    );
    assert_eq!(server.ask_with("GET /nope", "", &[("content-length", "x")]).await.status, 400, "length before route");
    assert_eq!(server.ask("1.0 PUT /reshaper", "").await.status, 405, "method before gate");
    let plain = [("content-type", "text/plain")];
    assert_eq!(
        server.ask_with("1.0 PUT /resource_providers/x/aggregates", "x", &plain).await.status,
        415,
        "media before gate"
    );
    assert_eq!(
        server.ask_with("1.0 PUT /resource_providers/x/traits", "x", &plain).await.status,
        404,
        "gate before media"
    );
    let user = [("x-auth-token", "user")];
    assert_eq!(
        server.ask_with("PUT /resource_providers/x", "nope", &user).await.status,
        403,
        "policy before path object"
    );
    assert_eq!(server.ask("PUT /resource_providers/x", "nope").await.status, 404, "path object before body");
    assert_eq!(server.ask("PUT /resource_providers/x/traits", "nope").await.status, 400, "body before path object");
    assert_eq!(
        server.ask("PUT /allocations/x", "nope").await.detail().matches("Malformed consumer_uuid: x").count(),
        1
    );
    let given = [("x-openstack-request-id", "req-6b1e5f3a-0000-4000-8000-00000000abcd")];
    let named = server.ask_with("GET /nope", "", &given).await;
    let id = named.header("x-openstack-request-id").unwrap();
    assert!(id.starts_with("req-") && id != given[0].1, "{id}");
    assert_eq!(named.json()["errors"][0]["request_id"], id);
}

#[tokio::test]
async fn headers_of_every_answer() {
    let server = Server::new();
    for line in ["GET /", "GET /nope", "GET /resource_providers/x", "PUT /", "GET /traits/x"] {
        let answer = server.ask(line, "").await;
        assert_eq!(answer.header("openstack-api-version"), Some("placement 1.39"), "{line}");
        assert_eq!(answer.header("vary"), Some("openstack-api-version"), "{line}");
    }
    let root = server.ask("1.15 GET /", "").await;
    assert_eq!(root.header("cache-control"), Some("no-cache"));
    assert!(root.header("last-modified").unwrap().ends_with(" GMT"));
    assert_eq!(server.ask("1.14 GET /", "").await.header("cache-control"), None);
    let anonymous = server.ask_with("GET /usages", "", &[("x-auth-token", "")]).await;
    anonymous.is(401, "", "could not verify");
    assert_eq!(anonymous.header("openstack-api-version"), None);
    let html = server.ask_with("GET /nope", "", &[("accept", "text/html")]).await;
    assert!(html.header("content-type").unwrap().starts_with("text/html"), "{html:?}");
    let plain = server.ask_with("GET /resource_providers", "", &[("accept", "text/plain")]).await;
    assert_eq!(plain.status, 406);
    assert!(
        plain.text.starts_with("406 Not Acceptable\n\n") && plain.text.ends_with("Only application/json is provided")
    );
    let missing = server.ask("PUT /resource_providers/x", "").await;
    missing.is(415, UNDEFINED, "The media type None is not supported, use application/json");
}

#[tokio::test]
async fn a_ledger_in_trouble_is_reported_with_when_to_try_again() {
    let server = Server::new();
    for error in [RequestError::Unavailable("no database".to_owned()), RequestError::Unknown("lost".to_owned())] {
        *server.ledger.error.lock() = Some(error.clone());
        let answer = server.ask("POST /resource_providers", r#"{"name": "a"}"#).await;
        answer.is(503, UNDEFINED, &error.to_string());
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn cors_headers_are_sent_to_allowed_origins() {
    let cors = Cors::new(vec!["http://valid.example.com".to_owned()], &["openstack-api-version".to_owned()]);
    let server = Server::with(|api| api.with_cors(cors), policy::defaults(false));
    let asked = |origin: &str| {
        let request = Request::builder().method("OPTIONS").uri("/resource_providers").header("origin", origin);
        let request = request.header("access-control-request-method", "GET");
        request.header("access-control-request-headers", "openstack-api-version").body(Body::empty()).unwrap()
    };
    let valid = server.send(asked("http://valid.example.com")).await;
    assert_eq!((valid.status, valid.header("access-control-allow-headers")), (200, Some("openstack-api-version")));
    let invalid = server.send(asked("http://invalid.example.com")).await;
    assert_eq!((invalid.status, invalid.header("access-control-allow-origin")), (200, None));
    let simple = server.ask_with("GET /", "", &[("origin", "http://valid.example.com")]).await;
    assert_eq!(simple.header("access-control-allow-origin"), Some("http://valid.example.com"));
    let without = Server::new();
    assert_eq!(without.send(asked("http://valid.example.com")).await.status, 401);
    let options = without.ask_with("OPTIONS /", "", &[("origin", "http://valid.example.com")]).await;
    assert_eq!((options.status, options.header("access-control-allow-origin")), (405, None));
}

#[tokio::test]
async fn generations_that_moved_are_reported() {
    let server = Server::new();
    server.provider("P", None, r#"{"VCPU": {"total": 4}}"#).await;
    let body = r#"{"resource_provider_generation": 0, "inventories": {}}"#;
    let conflict = server.ask(&format!("PUT /resource_providers/{}/inventories", uuid("P")), body).await;
    conflict.is(409, CONCURRENT, "resource provider generation conflict");
}
