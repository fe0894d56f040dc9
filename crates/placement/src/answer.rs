//! The answers of handlers as values, and how they become responses.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LAST_MODIFIED, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use berth_placement_model::Version;
use jiff::Timestamp;
use serde::Serialize;

/// An answer to a request that is done.
#[derive(Debug)]
pub struct Answer {
    status: StatusCode,
    body: Option<Body>,
    location: Option<String>,
    age: AnswerAge,
}

/// The headers about the age of a response, from 1.15 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerAge {
    NotSent,
    /// It must not be kept.
    Unknown,
    /// It must not be kept, and is as old as this.
    Since(Timestamp),
    /// It must not be kept, and is new.
    New,
}

impl AnswerAge {
    /// The newest of many; `None` among them, or none of them, is now.
    pub fn newest(times: impl IntoIterator<Item = Option<Timestamp>>) -> Self {
        let newest = times.into_iter().try_fold(None, |newest: Option<Timestamp>, time| Some(newest.max(Some(time?))));
        newest.flatten().map_or(Self::New, Self::Since)
    }
}

impl Answer {
    pub fn empty(status: StatusCode) -> Self {
        Self { status, body: None, location: None, age: AnswerAge::NotSent }
    }

    /// 204.
    pub fn nothing() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    /// 200 with JSON.
    pub fn json(value: &impl Serialize, age: AnswerAge) -> Self {
        // Structures of maps with text keys always have a JSON.
        Self::body(serde_json::to_vec(value).unwrap_or_default().into(), age)
    }

    /// 200 with JSON that is written already.
    pub fn body(body: Body, age: AnswerAge) -> Self {
        Self { status: StatusCode::OK, body: Some(body), location: None, age }
    }

    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    #[must_use]
    pub fn at(self, location: String) -> Self {
        Self { location: Some(location), ..self }
    }

    #[must_use]
    pub fn aged(self, age: AnswerAge) -> Self {
        Self { age, ..self }
    }

    /// The response, without headers that every response has.
    pub fn response(self, version: Version, now: Timestamp) -> Response {
        let has_body = self.body.is_some();
        let mut response = Response::new(self.body.unwrap_or_default());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        set(headers, LOCATION, self.location);
        if version.has(Version::LAST_MODIFIED) && self.age != AnswerAge::NotSent {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            set(headers, LAST_MODIFIED, time(self.age, now));
        }
        response
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: Option<String>) {
    if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
        headers.insert(name, value);
    }
}

fn time(age: AnswerAge, now: Timestamp) -> Option<String> {
    let time = match age {
        AnswerAge::NotSent | AnswerAge::Unknown => return None,
        AnswerAge::Since(time) => time,
        AnswerAge::New => now,
    };
    Some(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn ages_are_reported_from_1_15() {
        let reported = |age, minor| {
            let answer = Answer::json(&1, age).response(Version::new(minor).unwrap(), at(784_111_777));
            let header = |name| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            (header(CACHE_CONTROL), header(LAST_MODIFIED))
        };
        let (kept, newest) = (Some("no-cache".to_owned()), Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()));
        assert_eq!(reported(AnswerAge::New, 15), (kept.clone(), newest));
        assert_eq!(
            reported(AnswerAge::Since(at(0)), 39),
            (kept.clone(), Some("Thu, 01 Jan 1970 00:00:00 GMT".to_owned()))
        );
        assert_eq!(reported(AnswerAge::Unknown, 15), (kept, None));
        assert_eq!(reported(AnswerAge::New, 14), (None, None));
        assert_eq!(reported(AnswerAge::NotSent, 39), (None, None));
    }

    #[test]
    fn the_newest_object_counts_and_one_without_a_time_is_new() {
        assert_eq!(AnswerAge::newest([Some(at(3)), Some(at(5)), Some(at(4))]), AnswerAge::Since(at(5)));
        assert_eq!(AnswerAge::newest([Some(at(3)), None]), AnswerAge::New);
        assert_eq!(AnswerAge::newest([]), AnswerAge::New);
    }
}
