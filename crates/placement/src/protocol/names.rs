//! Request ids. Ids of clients are logged and never adopted.

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header, in requests and in answers.
pub const X_OPENSTACK_REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

/// `req-<uuid>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub fn random() -> Self {
        Self(format!("req-{}", uuid::Uuid::new_v4()).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as the value of a header.
    pub fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The request id of the client, if it has the form `req-` and a UUID.
pub fn given(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(X_OPENSTACK_REQUEST_ID)?.to_str().ok()?;
    let uuid = given.strip_prefix("req-")?;
    uuid::Uuid::parse_str(uuid).is_ok().then_some(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_new_and_given_ones_are_checked() {
        let (one, other) = (RequestId::random(), RequestId::random());
        assert_ne!(one, other);
        let mut headers = HeaderMap::new();
        headers.insert(X_OPENSTACK_REQUEST_ID, one.to_header().unwrap());
        assert_eq!(given(&headers), Some(one.as_str()));
        headers.insert(X_OPENSTACK_REQUEST_ID, HeaderValue::from_static("req-x"));
        assert_eq!(given(&headers), None);
    }
}
