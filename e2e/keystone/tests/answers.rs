//! The answers of the double of `berth-testkit` have the status of those of a real Keystone, and only members that these have,
//! with values of the same types.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use berth_keystone::{Answer, Api, Keystone, Login, Scope, seed};
use berth_testkit::keystone::Keystone as KeystoneDouble;
use reqwest::Method;
use serde_json::{Value, json};

const SCOPE: Scope<'_> = Scope::Project { name: seed::PROJECT, domain: seed::DOMAIN };
const BERTH: Login<'_> = Login { user: seed::BERTH, user_domain: seed::DOMAIN, password: seed::PASSWORD, scope: SCOPE };

/// The first place at which an answer has something that the real one lacks.
fn invented(double: &Value, real: &Value, place: &str) -> Option<String> {
    match (double, real) {
        (Value::Object(double), Value::Object(real)) => double.iter().find_map(|(name, value)| {
            let place = format!("{place}/{name}");
            real.get(name).map_or(Some(place.clone()), |known| invented(value, known, &place))
        }),
        (Value::Array(double), Value::Array(real)) => {
            let first = real.first().unwrap_or(&Value::Null);
            double.iter().find_map(|value| invented(value, first, &format!("{place}[]")))
        }
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, _) => None,
        _ => Some(place.to_owned()),
    }
}

/// Both Keystones with what is in them.
struct Both {
    real: std::sync::Arc<Keystone>,
    double: KeystoneDouble,
    apis: [Api; 2],
    /// The tokens of Berth's user.
    tokens: [String; 2],
}

impl Both {
    async fn start() -> Self {
        let real = Keystone::shared().await.unwrap();
        let double = KeystoneDouble::start(seed::PASSWORD).await.unwrap();
        double.add_domain("default", seed::DOMAIN);
        let apis = [Api::new(&real.url()).unwrap(), Api::new(&double.url()).unwrap()];
        let tokens = [apis[0].log_in(&BERTH).await.unwrap(), apis[1].log_in(&BERTH).await.unwrap()];
        Self { real, double, apis, tokens }
    }

    /// Sends a request to both, with headers that depend on their tokens; returns the answer of the real one.
    async fn send(
        &self,
        method: &Method,
        path: &str,
        headers: impl Fn(&str) -> Vec<(&'static str, String)>,
        body: Option<&Value>,
    ) -> Answer {
        let mut answers = Vec::new();
        for (api, token) in self.apis.iter().zip(&self.tokens) {
            let headers = headers(token);
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            answers.push(api.send(method, path, &headers, body).await.unwrap());
        }
        let (double, real) = (answers.pop().unwrap(), answers.pop().unwrap());
        assert_eq!(double.status, real.status, "{method} {path}: {} and {}", double.body, real.body);
        assert_eq!(double.token.is_some(), real.token.is_some(), "{method} {path}: the header with the token");
        let invented = invented(&double.body, &real.body, "");
        assert_eq!(invented, None, "{method} {path}: {} and {}", double.body, real.body);
        real
    }

    async fn log_in(&self, body: &Value) -> Answer {
        self.send(&Method::POST, "/auth/tokens", |_| Vec::new(), Some(body)).await
    }
}

#[tokio::test]
async fn logins() {
    let both = Both::start().await;
    assert_eq!(both.log_in(&BERTH.body()).await.status, 201);
    assert_eq!(both.log_in(&Login { scope: Scope::None, ..BERTH }.body()).await.status, 201);
    for wrong in [
        Login { password: "wrong", ..BERTH },
        Login { user: "unknown", ..BERTH },
        Login { user_domain: "unknown", ..BERTH },
        Login { scope: Scope::Project { name: "unknown", domain: seed::DOMAIN }, ..BERTH },
        Login { scope: Scope::Project { name: seed::PROJECT, domain: "unknown" }, ..BERTH },
        Login { scope: Scope::Domain(seed::CUSTOMER_DOMAIN), ..BERTH },
    ] {
        let answer = both.log_in(&wrong.body()).await;
        let message = "The request you have made requires authentication.";
        assert_eq!((answer.status, &answer.body["error"]["message"]), (401, &json!(message)), "{wrong:?}");
    }
}

#[tokio::test]
async fn domains() {
    let both = Both::start().await;
    let with = |token: &str| vec![("x-auth-token", token.to_owned())];
    let shown = both.send(&Method::GET, "/domains/default", with, None).await;
    assert_eq!(shown.body["domain"]["name"], seed::DOMAIN);
    assert_eq!(both.send(&Method::GET, "/domains/unknown", with, None).await.status, 404);
    assert_eq!(both.send(&Method::GET, "/domains/default", |_| Vec::new(), None).await.status, 401);
    let wrong = |_: &str| vec![("x-auth-token", "wrong".to_owned())];
    assert_eq!(both.send(&Method::GET, "/domains/default", wrong, None).await.status, 401);
}

#[tokio::test]
async fn validations() {
    let both = Both::start().await;
    let path = "/auth/tokens";
    let of = |subject: Option<&'static str>| {
        move |token: &str| {
            let subject = subject.unwrap_or(token).to_owned();
            vec![("x-auth-token", token.to_owned()), ("x-subject-token", subject)]
        }
    };
    let own = both.send(&Method::GET, path, of(None), None).await;
    assert_eq!((own.status, &own.body["token"]["user"]["name"]), (200, &json!(seed::BERTH)));
    assert_eq!(both.send(&Method::GET, path, of(Some("made-up")), None).await.status, 404);
    let wrong = |token: &str| vec![("x-auth-token", "wrong".to_owned()), ("x-subject-token", token.to_owned())];
    assert_eq!(both.send(&Method::GET, path, wrong, None).await.status, 401);
}

#[tokio::test]
async fn validations_of_what_others_have() {
    let mut both = Both::start().await;
    let login = |user| Login { user, user_domain: seed::DOMAIN, password: seed::PASSWORD, scope: SCOPE };
    let project = both.real.token(&login("reader")).await.unwrap();
    let system = both.real.token(&seed::administrator()).await.unwrap();
    both.double.issue_token(&project, "reader", seed::PROJECT, &["reader"]);
    both.double.issue_system_token(&system, seed::ADMIN, &["admin"]);
    let (real, double) = (both.apis[0].clone(), both.apis[1].clone());
    for subject in [&project, &system] {
        let headers = |token: &str| vec![("x-auth-token", token.to_owned()), ("x-subject-token", subject.clone())];
        assert_eq!(both.send(&Method::GET, "/auth/tokens", headers, None).await.status, 200);
    }
    real.revoke(&project).await.unwrap();
    both.double.revoke_token(&project);
    let headers = |token: &str| vec![("x-auth-token", token.to_owned()), ("x-subject-token", project.clone())];
    assert_eq!(both.send(&Method::GET, "/auth/tokens", headers, None).await.status, 404, "it is revoked");

    both.tokens = [real.log_in(&login("member")).await.unwrap(), double.log_in(&BERTH).await.unwrap()];
    both.double.let_validate(false);
    let headers = |token: &str| vec![("x-auth-token", token.to_owned()), ("x-subject-token", system.clone())];
    assert_eq!(both.send(&Method::GET, "/auth/tokens", headers, None).await.status, 403, "members may not");
}

#[tokio::test]
async fn the_list_of_versions() {
    let both = Both::start().await;
    let roots = [both.real.root_url(), both.double.root_url()];
    let mut answers = Vec::new();
    for root in &roots {
        answers.push(Api::new(root).unwrap().send(&Method::GET, "/", &[], None).await.unwrap());
    }
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [300, 300]);
    assert_eq!(invented(&answers[1].body, &answers[0].body, ""), None);
    for (answer, root) in answers.iter().zip(&roots) {
        assert_eq!(answer.body["versions"]["values"][0]["links"][0]["href"], json!(format!("{root}v3/")));
    }
}

#[test]
fn members_of_other_types_are_found() {
    let real = json!({ "a": { "b": [{ "c": "text" }] }, "d": 1 });
    assert_eq!(invented(&json!({ "a": { "b": [] }, "d": null }), &real, ""), None);
    assert_eq!(invented(&json!({ "a": { "b": [{ "c": 5 }] } }), &real, "").as_deref(), Some("/a/b[]/c"));
    assert_eq!(invented(&json!({ "e": 1 }), &real, "").as_deref(), Some("/e"));
}
