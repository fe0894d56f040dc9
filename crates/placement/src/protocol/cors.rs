//! CORS headers for the origins that are configured.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;

const METHODS: [&str; 6] = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE"];
/// Headers that every page may send.
const SIMPLE: [&str; 6] = ["accept", "accept-language", "content-language", "content-type", "cache-control", "expires"];
const EXPOSED: &str = "openstack-api-version, x-openstack-request-id, location, last-modified";
const MAX_AGE: &str = "3600";

/// Which sites may use the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    origins: Vec<String>,
    headers: Vec<String>,
}

impl Cors {
    /// The rules for these origins, `*` for all, and request headers; `None` without origins.
    pub fn new(origins: Vec<String>, headers: &[String]) -> Option<Self> {
        let headers = headers.iter().map(|header| header.to_ascii_lowercase()).collect();
        (!origins.is_empty()).then_some(Self { origins, headers })
    }

    /// The answer to a preflight: 200, without a handler.
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        if method != Method::OPTIONS {
            return None;
        }
        let mut response = Response::default();
        if self.allows(headers) {
            self.add_headers(headers, &mut response);
            let out = response.headers_mut();
            out.remove(ACCESS_CONTROL_EXPOSE_HEADERS);
            out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
            copy(headers, &ACCESS_CONTROL_REQUEST_METHOD, out, ACCESS_CONTROL_ALLOW_METHODS);
            copy(headers, &ACCESS_CONTROL_REQUEST_HEADERS, out, ACCESS_CONTROL_ALLOW_HEADERS);
        }
        Some(response)
    }

    /// Tells the browser that its page may see this answer, if it may.
    pub fn add_headers(&self, headers: &HeaderMap, response: &mut Response) {
        let Some(origin) = self.origin(headers) else { return };
        let out = response.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        out.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        out.append(VARY, HeaderValue::from_static("Origin"));
    }

    /// The origin of the page, if it is one of ours.
    fn origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.origins.iter().any(|known| known == "*" || known.as_bytes() == origin.as_bytes()).then_some(origin)
    }

    fn allows(&self, headers: &HeaderMap) -> bool {
        let method = headers.get(ACCESS_CONTROL_REQUEST_METHOD).and_then(|value| value.to_str().ok());
        let wanted = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).map_or(Some(""), |value| value.to_str().ok());
        let mut wanted = wanted.unwrap_or("\0").split(',').map(|name| name.trim().to_ascii_lowercase());
        let known = |name: String| name.is_empty() || SIMPLE.contains(&name.as_str()) || self.headers.contains(&name);
        self.origin(headers).is_some() && method.is_some_and(|method| METHODS.contains(&method)) && wanted.all(known)
    }
}

fn copy(from: &HeaderMap, name: &axum::http::HeaderName, to: &mut HeaderMap, other: axum::http::HeaderName) {
    if let Some(value) = from.get(name) {
        to.insert(other, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(origin: &'static str, wanted: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_static(origin));
        headers.insert(ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("GET"));
        headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static(wanted));
        headers
    }

    #[test]
    fn cors_preflights_and_simple_requests() {
        let cors =
            Cors::new(vec!["http://valid.example.com".to_owned()], &["OpenStack-API-Version".to_owned()]).unwrap();
        let good = asked("http://valid.example.com", "openstack-api-version");
        let answer = cors.preflight(&Method::OPTIONS, &good).unwrap();
        assert_eq!(answer.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "http://valid.example.com");
        assert_eq!(answer.headers()[ACCESS_CONTROL_ALLOW_HEADERS], "openstack-api-version");
        for bad in [asked("http://invalid.example.com", ""), asked("http://valid.example.com", "x-other")] {
            let answer = cors.preflight(&Method::OPTIONS, &bad).unwrap();
            assert_eq!((answer.status().as_u16(), answer.headers().len()), (200, 0));
        }
        assert!(cors.preflight(&Method::GET, &good).is_none());
        let mut simple = Response::default();
        cors.add_headers(&good, &mut simple);
        assert_eq!(simple.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "http://valid.example.com");
        let mut other = Response::default();
        cors.add_headers(&asked("http://invalid.example.com", ""), &mut other);
        assert!(other.headers().is_empty());
    }

    #[test]
    fn without_origins_there_is_no_cors() {
        assert_eq!(Cors::new(Vec::new(), &[]), None);
    }
}
