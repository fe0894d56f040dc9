//! What Keystone says about a token, as JSON.

use jiff::Timestamp;
use serde::Deserialize;

use crate::authentication::Caller;
use crate::time;

/// Far more than any user has in a project.
const MOST_ROLES: usize = 1000;
/// Bytes of a name or an ID, which is the limit of Keystone.
const LONGEST: usize = 255;

/// A token that is valid, as Keystone describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidToken {
    pub caller: Caller,
    pub expires_at: Timestamp,
}

#[derive(Deserialize)]
struct Answer {
    token: Token,
}

#[derive(Deserialize)]
struct Token {
    user: Owner,
    project: Option<Owner>,
    system: Option<System>,
    roles: Option<Vec<Role>>,
    expires_at: String,
}

/// A user or a project.
#[derive(Deserialize)]
struct Owner {
    id: String,
    domain: Option<Domain>,
}

#[derive(Deserialize)]
struct Domain {
    id: Option<String>,
}

#[derive(Deserialize)]
struct Role {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct System {
    all: bool,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(rename = "error")]
    _error: serde_json::Map<String, serde_json::Value>,
}

impl ValidToken {
    /// Reads the answer to a check of a token. An answer that does not say who calls is an error: a caller that is only
    /// partly known could satisfy rules that it must not.
    pub fn decode(body: &[u8]) -> Result<Self, String> {
        let Answer { token } = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let expires_at = time::parse(&token.expires_at).map_err(|error| format!("expires_at: {error}"))?;
        let roles: Vec<String> = token.roles.into_iter().flatten().map(|role| role.name).collect();
        if roles.len() > MOST_ROLES || !roles.iter().all(|name| is_usable(name)) {
            return Err(format!("roles: more than {MOST_ROLES}, or an unusable name"));
        }
        let of_system = token.system.is_some_and(|system| system.all);
        if of_system && token.project.is_some() {
            return Err("it is for a project and for the whole system".to_owned());
        }
        let (user, user_domain) = token.user.ids("user")?;
        let (project, project_domain) = match token.project {
            Some(project) => project.ids("project").map(|(id, domain)| (Some(id), domain))?,
            None => (None, None),
        };
        Ok(Self { caller: Caller { user, user_domain, project, project_domain, roles, of_system }, expires_at })
    }
}

impl Owner {
    /// Its ID and that of its domain.
    fn ids(self, what: &str) -> Result<(String, Option<String>), String> {
        let domain = self.domain.and_then(|domain| domain.id);
        if is_usable(&self.id) && domain.as_ref().is_none_or(|id| is_usable(id)) {
            Ok((self.id, domain))
        } else {
            Err(format!("{what}: its id or that of its domain is empty or too long"))
        }
    }
}

fn is_usable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
}

/// Whether an error comes from Keystone and not from a proxy before it.
pub(crate) fn is_refusal_of_keystone(body: &[u8]) -> bool {
    serde_json::from_slice::<Refusal>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn token() -> Value {
        json!({
            "methods": ["password"], "audit_ids": ["x"], "is_domain": false, "issued_at": "2026-03-01T10:00:00.000000Z",
            "expires_at": "2026-03-01T12:00:00.000000Z",
            "user": { "id": "u-1", "name": "limes", "domain": { "id": "d-1", "name": "Default" }, "password_expires_at": null },
            "project": { "id": "p-1", "name": "service", "domain": { "id": "d-2", "name": "ccadmin" } },
            "roles": [{ "id": "r-1", "name": "cloud_resource_admin" }, { "id": "r-2", "name": "reader" }],
        })
    }

    fn decode(token: &Value) -> Result<ValidToken, String> {
        ValidToken::decode(json!({ "token": token }).to_string().as_bytes())
    }

    #[test]
    fn a_token_of_a_project_names_its_user_project_domains_and_roles() {
        let text = |text: &str| Some(text.to_owned());
        let expected = Caller {
            user: "u-1".to_owned(),
            user_domain: text("d-1"),
            project: text("p-1"),
            project_domain: text("d-2"),
            roles: ["cloud_resource_admin", "reader"].map(str::to_owned).to_vec(),
            of_system: false,
        };
        let expires_at = "2026-03-01T12:00:00Z".parse().unwrap();
        assert_eq!(decode(&token()).unwrap(), ValidToken { caller: expected, expires_at });
    }

    #[test]
    fn a_token_may_be_for_the_system_or_for_nothing() {
        let mut token = token();
        token.as_object_mut().unwrap().remove("project");
        for (system, of_system) in
            [(json!({ "all": true }), true), (json!({ "all": false }), false), (json!({}), false)]
        {
            token["system"] = system;
            assert_eq!(decode(&token).unwrap().caller.of_system, of_system);
        }
        let bare = json!({ "user": { "id": "u" }, "expires_at": "2026-03-01T12:00:00Z" });
        let caller = decode(&bare).unwrap().caller;
        assert_eq!(caller, Caller { user: "u".to_owned(), ..Caller::default() });
    }

    #[test]
    fn an_answer_that_does_not_say_who_calls_is_an_error() {
        let without = |key: &str| {
            let mut token = token();
            token.as_object_mut().unwrap().remove(key);
            token
        };
        let with = |key: &str, value: Value| {
            let mut token = token();
            token[key] = value;
            token
        };
        let many: Vec<_> = (0..=MOST_ROLES).map(|number| json!({ "name": format!("r{number}") })).collect();
        for (token, expected) in [
            (without("user"), "missing field `user`"),
            (without("expires_at"), "missing field `expires_at`"),
            (with("expires_at", json!("soon")), "expires_at: "),
            (with("user", json!({ "id": "" })), "user: its id"),
            (with("user", json!({ "id": "x".repeat(256) })), "user: its id"),
            (with("project", json!({ "id": "p", "domain": { "id": "" } })), "project: its id"),
            (with("roles", json!([{ "id": "r" }])), "missing field `name`"),
            (with("roles", json!([{ "name": "" }])), "an unusable name"),
            (with("roles", json!(many)), "more than 1000"),
            (with("system", json!({ "all": true })), "for a project and for the whole system"),
        ] {
            let error = decode(&token).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        for body in ["", "[]", "<html>", "{\"token\":null}"] {
            assert!(ValidToken::decode(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn an_error_of_a_proxy_is_none_of_keystone() {
        assert!(is_refusal_of_keystone(
            br#"{"error":{"code":404,"message":"Could not find token","title":"Not Found"}}"#
        ));
        for other in ["", "<html>404</html>", "{}", r#"{"error":"not found"}"#] {
            assert!(!is_refusal_of_keystone(other.as_bytes()), "{other}");
        }
    }
}
