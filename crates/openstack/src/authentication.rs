//! Identifies the caller of a request.

use futures::future::{BoxFuture, ready};
use http::HeaderMap;
use tokio::time::Instant;

/// The caller of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub user: String,
    /// The ID of the domain of the user, if it is known.
    pub user_domain: Option<String>,
    /// The ID of the project of the token, if it is one of a project.
    pub project: Option<String>,
    /// The ID of the domain of that project, if it is known.
    pub project_domain: Option<String>,
    pub roles: Vec<String>,
    /// Whether the token is for the whole system, so that rules for projects do not apply.
    pub of_system: bool,
}

/// Why the caller is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// No token, or none that is good: 401.
    Unauthorized,
    /// Unknown at the moment: 503 with [`RETRY_AFTER`].
    Unavailable(String),
}

/// Seconds after which callers that are unknown at the moment should try again.
pub const RETRY_AFTER: u16 = 5;

/// A way to find out who calls.
pub trait Authentication: Send + Sync + 'static {
    /// The caller, by `until` at the latest. Implementations that need not wait answer at once.
    fn caller<'a>(&'a self, headers: &'a HeaderMap, until: Instant) -> BoxFuture<'a, Result<Caller, Unknown>>;

    /// The same for a request that changes nothing. What was known of the caller may count while nothing newer can be found
    /// out.
    fn reader<'a>(&'a self, headers: &'a HeaderMap, until: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        self.caller(headers, until)
    }

    /// Whether callers prove who they are. A part of the connections is reserved for addresses of such callers.
    fn proves_callers(&self) -> bool {
        true
    }
}

/// All callers have all rights.
#[derive(Debug, Clone, Copy, Default)]
pub struct Off;

impl Authentication for Off {
    fn caller<'a>(&'a self, _: &'a HeaderMap, _: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        let roles = ["admin", "service", "reader"].map(str::to_owned).to_vec();
        Box::pin(ready(Ok(Caller { roles, ..Caller::default() })))
    }

    fn proves_callers(&self) -> bool {
        false
    }
}

/// Clients state their identity themselves, as in tests of Placement.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAuth2;

impl Authentication for NoAuth2 {
    fn caller<'a>(&'a self, headers: &'a HeaderMap, _: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        Box::pin(ready(claimed(headers).ok_or(Unknown::Unauthorized)))
    }

    fn proves_callers(&self) -> bool {
        false
    }
}

fn claimed(headers: &HeaderMap) -> Option<Caller> {
    let header = |name: &str| {
        let text = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        text.filter(|text| !text.is_empty())
    };
    let token = header("x-auth-token")?;
    let (user, project) = token.split_once(':').unwrap_or((&token, ""));
    let project = if project.is_empty() { user } else { project };
    let roles = match headers.get("x-roles") {
        Some(_) => header("x-roles").unwrap_or_default().split(',').map(|role| role.trim().to_owned()).collect(),
        None if user == "admin" => vec!["admin".to_owned()],
        None => Vec::new(),
    };
    let of_system = header("openstack-system-scope").is_some();
    let own = Some(project.to_owned()).filter(|_| !of_system);
    let project = header("x-project-id").or(own);
    Some(Caller { user: user.to_owned(), project, roles, of_system, ..Caller::default() })
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn caller(headers: &[(&'static str, &'static str)]) -> Option<Caller> {
        let header = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        claimed(&headers.iter().copied().map(header).collect())
    }

    #[test]
    fn tokens_name_the_caller() {
        let admin = caller(&[("x-auth-token", "admin")]).unwrap();
        assert_eq!(
            (admin.user.as_str(), admin.project.as_deref(), &admin.roles[..]),
            ("admin", Some("admin"), &["admin".to_owned()][..])
        );
        let user = caller(&[("x-auth-token", "user:p1")]).unwrap();
        assert_eq!((user.project.as_deref(), user.roles.len(), user.of_system), (Some("p1"), 0, false));
        let roles = caller(&[("x-auth-token", "admin"), ("x-roles", "reader,member"), ("x-project-id", "p2")]).unwrap();
        assert_eq!(
            (roles.project.as_deref(), roles.roles),
            (Some("p2"), vec!["reader".to_owned(), "member".to_owned()])
        );
        let system = caller(&[("x-auth-token", "u"), ("openstack-system-scope", "all")]).unwrap();
        assert_eq!((system.project, system.of_system), (None, true));
        assert_eq!(caller(&[]).or(caller(&[("x-auth-token", "")])), None);
    }

    #[test]
    fn off_grants_every_role() {
        let caller = futures::executor::block_on(Off.caller(&HeaderMap::new(), Instant::now())).unwrap();
        assert_eq!(caller.roles, ["admin", "service", "reader"]);
    }
}
