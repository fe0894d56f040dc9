//! Reads the microversion that a request asks for.

use std::num::IntErrorKind::{NegOverflow, PosOverflow};

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use berth_placement_model::Version;

use super::api_error::ApiError;

/// The header, in requests and in answers.
pub const OPENSTACK_API_VERSION: HeaderName = HeaderName::from_static("openstack-api-version");

const SERVICE: &str = "placement";

pub fn version(headers: &HeaderMap) -> Result<Version, ApiError> {
    let values = headers.get_all(OPENSTACK_API_VERSION).iter();
    let all: Vec<String> = values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let Some(wanted) = all.iter().flat_map(|value| value.split(',')).filter_map(ours).next_back() else {
        return Ok(Version::OLDEST);
    };
    match wanted {
        "" => Ok(Version::OLDEST),
        "latest" => Ok(Version::NEWEST),
        text => numbered(text),
    }
}

pub fn to_header(version: Version) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{SERVICE} {version}")).ok()
}

/// The version that an element requests from this service, if any.
fn ours(element: &str) -> Option<&str> {
    let element = element.trim();
    let (service, version) = element.split_once(char::is_whitespace).unwrap_or((element, ""));
    service.eq_ignore_ascii_case(SERVICE).then(|| version.trim())
}

fn numbered(text: &str) -> Result<Version, ApiError> {
    let wrong =
        |cause: &str| ApiError::invalid(format!("Invalid microversion: invalid version string: {text}; {cause}"));
    let parts: Vec<&str> = text.split('.').collect();
    let [major, minor] = parts[..] else {
        return Err(wrong("two numbers with a dot between them are expected"));
    };
    // A number is an integer of any size, as in Placement; those beyond 64 bits are shown as they were sent.
    let number = |text: &str| match text.trim().parse::<i64>() {
        Ok(number) => Ok(number.to_string()),
        Err(error) if matches!(error.kind(), PosOverflow | NegOverflow) => Ok(text.trim().to_owned()),
        Err(error) => Err(wrong(&format!("'{text}': {error}"))),
    };
    let (major, minor) = (number(major)?, number(minor)?);
    let served = minor.parse().ok().filter(|_| major == "1").and_then(Version::new);
    served.ok_or_else(|| unacceptable(&major, &minor))
}

fn unacceptable(major: &str, minor: &str) -> ApiError {
    let text = format!("Invalid microversion: Unacceptable version header: {major}.{minor}");
    ApiError { versions: true, ..ApiError::new(StatusCode::NOT_ACCEPTABLE, text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[&str]) -> Result<String, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(OPENSTACK_API_VERSION, HeaderValue::from_str(value).unwrap());
        }
        version(&headers)
            .map(|version| version.to_string())
            .map_err(|error| format!("{} {}", error.status.as_u16(), error.text))
    }

    #[test]
    fn versions_that_are_used() {
        for (values, expected) in [
            (&[][..], "1.0"),
            (&["compute 2.1"], "1.0"),
            (&["placement latest"], "1.39"),
            (&["placement"], "1.0"),
            (&["compute 2.1, placement 1.5"], "1.5"),
            (&["placement 1.5", "Placement 1.7", "compute 2.90"], "1.7"),
            (&["placement 1.01"], "1.1"),
            (&["placement 1.39"], "1.39"),
        ] {
            assert_eq!(of(values).unwrap(), expected, "{values:?}");
        }
    }

    #[test]
    fn versions_that_are_none() {
        assert_eq!(of(&["placement 1.40"]).unwrap_err(), "406 Invalid microversion: Unacceptable version header: 1.40");
        assert_eq!(of(&["placement 0.5"]).unwrap_err(), "406 Invalid microversion: Unacceptable version header: 0.5");
        for large in ["1.99999999999999999999", "99999999999999999999.1", "1.-99999999999999999999"] {
            let expected = format!("406 Invalid microversion: Unacceptable version header: {large}");
            assert_eq!(of(&[&format!("placement {large}")]).unwrap_err(), expected);
        }
        for bad in ["pony.horse", "1.2.3", "1", "1.x"] {
            let reported = of(&[&format!("placement {bad}")]).unwrap_err();
            assert!(
                reported.starts_with(&format!("400 Invalid microversion: invalid version string: {bad}; ")),
                "{reported}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(bytes in proptest::collection::vec(32u8..=255, 0..60)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let _ = version(&HeaderMap::from_iter([(OPENSTACK_API_VERSION, value)]));
            }
        }
    }
}
