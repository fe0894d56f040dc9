//! Paths and methods, and the checks before each endpoint: microversion, media type and rule. It answers 404 and 405.

mod endpoints;
mod paths;

use axum::http::{Method, StatusCode};

pub use endpoints::{Action, ENDPOINTS, Endpoint, Media};
pub use paths::{PATHS, Route};

use crate::protocol::api_error::ApiError;
use crate::protocol::target::path_item;

/// Where a request goes: an endpoint and the items of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub endpoint: &'static Endpoint,
    /// The first item in braces, else empty.
    pub key: String,
    /// The second one, else empty.
    pub name: String,
}

/// Finds the endpoint. The method is checked first.
pub fn find(method: &Method, path: &str) -> Result<Destination, ApiError> {
    let found = PATHS.iter().find_map(|(route, pattern)| Some((*route, items(pattern, path)?)));
    let Some((route, items)) = found else { return Err(ApiError::not_found("")) };
    let mut items = items.into_iter();
    let (key, name) = (items.next().unwrap_or_default(), items.next().unwrap_or_default());
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.route == route && method.as_str() == endpoint.method);
    endpoint.map(|endpoint| Destination { endpoint, key, name }).ok_or_else(|| wrong_method(route))
}

fn wrong_method(route: Route) -> ApiError {
    let methods = ENDPOINTS.iter().filter(|endpoint| endpoint.route == route).map(|endpoint| endpoint.method);
    let text = "The method specified is not allowed for this resource.";
    let allow = Some(methods.collect::<Vec<_>>().join(", "));
    ApiError { allow, ..ApiError::new(StatusCode::METHOD_NOT_ALLOWED, text) }
}

/// The items of a path in place of the braces of the pattern, if the path matches.
fn items(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut items = Vec::new();
    let mut raw = if path.is_empty() { "/" } else { path }.split('/');
    for part in pattern.split('/') {
        let item = path_item(raw.next()?)?;
        if part.starts_with('{') && !item.is_empty() {
            items.push(item);
        } else if item != part {
            return None;
        }
    }
    raw.next().is_none().then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(method: &Method, path: &str) -> (u16, Option<String>) {
        find(method, path).map_or_else(|error| (error.status.as_u16(), error.allow), |_| (200, None))
    }

    #[test]
    fn paths_and_methods() {
        for path in ["", "/", "/resource_providers/x/inventories/VCPU", "/traits/a", "/usages", "/allocations/anything"]
        {
            assert_eq!(reported(&Method::GET, path).0, 200, "{path}");
        }
        for path in
            ["/nope", "/resource_providers/", "/resource_providers/x/cows", "/traits/a/b", "//", "/traits/%ff", "*"]
        {
            assert_eq!(reported(&Method::GET, path), (404, None), "{path}");
        }
        for (method, path, allow) in [
            (Method::POST, "/resource_providers/x", "GET, DELETE, PUT"),
            (Method::PUT, "/reshaper", "POST"),
            (Method::HEAD, "/", "GET"),
            (Method::OPTIONS, "/resource_providers", "GET, POST"),
            (Method::PATCH, "/resource_providers/x/inventories", "GET, POST, PUT, DELETE"),
            (Method::DELETE, "/resource_providers/x/aggregates", "GET, PUT"),
            (Method::GET, "/allocations", "POST"),
        ] {
            assert_eq!(reported(&method, path), (405, Some(allow.to_owned())), "{path}");
        }
    }

    #[test]
    fn items_are_decoded() {
        let found = find(&Method::GET, "/resource_providers/a%20b/inventories/VCPU").unwrap();
        assert_eq!((found.key.as_str(), found.name.as_str()), ("a b", "VCPU"));
        assert_eq!(found.endpoint.action, Action::ShowInventory);
    }

    #[test]
    fn every_path_has_an_endpoint_and_every_endpoint_a_path() {
        for (route, path) in PATHS {
            assert!(ENDPOINTS.iter().any(|endpoint| endpoint.route == route), "{path}");
        }
        for endpoint in ENDPOINTS {
            assert!(PATHS.iter().any(|(route, _)| *route == endpoint.route), "{endpoint:?}");
        }
    }
}
