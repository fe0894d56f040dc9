//! The request for a token and its answer, as JSON.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::credentials::Method;

/// What a login has led to.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) token: SecretString,
    pub(crate) catalog: Catalog,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    token: Token,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Token {
    catalog: Option<Catalog>,
}

/// The body of the request.
pub(crate) fn encode_request(method: &Method) -> Value {
    match method {
        Method::ApplicationCredential { id, secret } => json!({ "auth": { "identity": {
            "methods": ["application_credential"],
            "application_credential": { "id": id, "secret": secret.expose_secret() },
        } } }),
        Method::Password { user, user_domain, password, project, project_domain } => {
            let user = json!({ "name": user, "password": password.expose_secret(), "domain": { "name": user_domain } });
            let identity = json!({ "methods": ["password"], "password": { "user": user } });
            match scope(project, project_domain) {
                Some(scope) => json!({ "auth": { "identity": identity, "scope": scope } }),
                None => json!({ "auth": { "identity": identity } }),
            }
        }
    }
}

fn scope(project: &str, domain: &str) -> Option<Value> {
    match (project, domain) {
        ("", "") => None,
        ("", domain) => Some(json!({ "domain": { "name": domain } })),
        (project, domain) => Some(json!({ "project": { "name": project, "domain": { "name": domain } } })),
    }
}

/// A token without a scope has no catalog.
pub(crate) fn decode_catalog(body: &[u8]) -> Result<Catalog, serde_json::Error> {
    serde_json::from_slice::<Answer>(body).map(|answer| answer.token.catalog.unwrap_or_default())
}

/// Why Keystone refuses a login, if this answer does. It answers 404 for an application credential that it does not know; a 404
/// of another server is no error of Keystone.
pub(crate) fn refusal(status: u16, answer: &str) -> Option<String> {
    let error: Value = serde_json::from_str(answer).unwrap_or_default();
    let message = error["error"]["message"].as_str();
    match status {
        401 => Some(message.unwrap_or(answer).to_owned()),
        404 => message.map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(project: &str, project_domain: &str) -> Value {
        encode_request(&Method::Password {
            user: "berth".to_owned(),
            user_domain: "Default".to_owned(),
            password: "s3cret".to_owned().into(),
            project: project.to_owned(),
            project_domain: project_domain.to_owned(),
        })
    }

    #[test]
    fn the_scope_is_the_project_or_the_domain_or_none() {
        let expected = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": {
                "name": "berth", "password": "s3cret", "domain": { "name": "Default" } } } },
            "scope": { "project": { "name": "service", "domain": { "name": "ccadmin" } } },
        } });
        assert_eq!(password("service", "ccadmin"), expected);
        assert_eq!(password("", "ccadmin")["auth"]["scope"], json!({ "domain": { "name": "ccadmin" } }));
        assert_eq!(password("", "")["auth"].get("scope"), None);
    }

    #[test]
    fn an_application_credential_has_its_own_scope() {
        let method = Method::ApplicationCredential { id: "ac-1".to_owned(), secret: "s3cret".to_owned().into() };
        let expected = json!({ "auth": { "identity": { "methods": ["application_credential"],
            "application_credential": { "id": "ac-1", "secret": "s3cret" } } } });
        assert_eq!(encode_request(&method), expected);
    }

    #[test]
    fn only_a_refusal_of_keystone_is_one() {
        let answer = json!({ "error": { "message": "no entry" } }).to_string();
        assert_eq!(refusal(401, &answer).as_deref(), Some("no entry"));
        assert_eq!(refusal(401, "<html>").as_deref(), Some("<html>"), "of a proxy");
        assert_eq!(refusal(404, &answer).as_deref(), Some("no entry"));
        assert_eq!((refusal(404, "<html>"), refusal(503, &answer)), (None, None));
    }

    #[test]
    fn an_answer_without_catalog_has_an_empty_one() {
        assert_eq!(decode_catalog(b"{\"token\":{}}").unwrap(), Catalog::default());
        assert!(decode_catalog(b"{\"token\":5}").is_err() && decode_catalog(b"").is_err());
    }
}
