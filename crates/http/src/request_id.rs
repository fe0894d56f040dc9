//! The id of a request in logs, answers and created objects: the one that the client sent, if it is usable, or a new
//! one.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header, in requests and in answers.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MOST_CHARACTERS: usize = 128;

/// The name of a request: printable ASCII, at most 128 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    /// The name that the client gave if it is usable, else a random one.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok()).map(str::trim);
        let usable = |id: &&str| !id.is_empty() && id.len() <= MOST_CHARACTERS && id.bytes().all(is_printable);
        given.filter(usable).map_or_else(Self::random, |id| Self(id.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as the value of a header.
    pub(crate) fn to_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// For handlers: the name that the stack has given. Without the stack, as in tests of a router alone, the one in the
/// header or a random one.
impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(value: &[u8]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(value).ok()?);
        Some(RequestId::of(&headers).to_string())
    }

    #[test]
    fn usable_names_are_taken_over_and_others_replaced() {
        for good in ["s-0001", "req-9f31c0de", "with space", &"x".repeat(128)] {
            assert_eq!(of(good.as_bytes()).unwrap(), good);
        }
        for bad in ["", "  ", "caf\u{e9}", "tab\tinside", &"x".repeat(129)] {
            let id = of(bad.as_bytes()).unwrap();
            assert!(id != bad && uuid::Uuid::parse_str(&id).is_ok(), "{bad:?} became {id}");
        }
        assert!(uuid::Uuid::parse_str(RequestId::of(&HeaderMap::new()).as_str()).is_ok());
    }

    proptest! {
        #[test]
        fn every_name_fits_into_a_header_and_a_log_line(value in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(id) = of(&value) {
                prop_assert!(!id.is_empty() && id.len() <= MOST_CHARACTERS && id.bytes().all(is_printable));
            }
        }
    }
}
