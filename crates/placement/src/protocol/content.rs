//! Checks the content type of a request.

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};

use super::api_error::ApiError;

/// Length and type must make sense, whatever the route.
pub fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    let lengths = headers.get_all(CONTENT_LENGTH).iter();
    let lengths = lengths.map(|value| integer(value.as_bytes())).collect::<Option<Vec<_>>>();
    let Some(lengths) = lengths else {
        return Err(ApiError::invalid("content-length header must be an integer"));
    };
    if lengths.iter().any(|&length| length > 0) && media_type(headers).is_none() {
        return Err(ApiError::invalid("content-type header required when content-length > 0"));
    }
    Ok(())
}

/// The body must be called JSON.
pub fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = media_type(headers);
    if given.as_deref() == Some("application/json") {
        return Ok(());
    }
    let given = given.as_deref().unwrap_or("None");
    let text = format!("The media type {given} is not supported, use application/json");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

/// An integer; more digits than fit are one as well.
fn integer(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = !digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit());
    number.then(|| if text.starts_with('-') { 0 } else { digits.parse().unwrap_or(u64::MAX) })
}

/// The media type without parameters; `None` if it is empty.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    let kind = text.split(';').next().unwrap_or_default().trim();
    Some(kind.to_owned()).filter(|kind| !kind.is_empty())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(length: Option<&str>, kind: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [(CONTENT_LENGTH, length), (CONTENT_TYPE, kind)] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        headers
    }

    #[test]
    fn content_types_are_checked_before_bodies() {
        let reported = |length, kind| check(&headers(length, kind)).err().map(|error| error.text);
        assert_eq!(reported(None, None), None);
        assert_eq!(reported(Some("0"), None), None);
        assert_eq!(reported(Some("2"), Some("x")), None);
        assert_eq!(reported(Some("2"), None).unwrap(), "content-type header required when content-length > 0");
        assert_eq!(reported(Some("2"), Some("")).unwrap(), "content-type header required when content-length > 0");
        for bad in ["hi mom", "", "1.5", "0x1", "1 1"] {
            assert_eq!(reported(Some(bad), Some("x")).unwrap(), "content-length header must be an integer", "{bad}");
        }
    }

    #[test]
    fn media_types_are_read_from_their_header() {
        let reported = |kind| require_json(&headers(None, kind)).err().map(|error| error.text);
        assert_eq!(reported(Some("application/json; charset=utf-8")), None);
        assert_eq!(
            reported(Some("text/plain")).unwrap(),
            "The media type text/plain is not supported, use application/json"
        );
        assert_eq!(reported(None).unwrap(), "The media type None is not supported, use application/json");
    }
}
