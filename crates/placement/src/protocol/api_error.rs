//! Errors on the wire: JSON, HTML or plain text by `Accept`.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use berth_http::LogReason;
use berth_placement_model::refusal::{Code, Kind};
use berth_placement_model::{Refusal, Version};
use serde::Serialize;

use super::accept::{self, Form};
use super::names::RequestId;
use crate::ledger::RequestError;

/// Why a request is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: StatusCode,
    /// Clients match on the code from 1.23.
    pub code: Code,
    pub text: String,
    /// The methods of the path, for 405 of the router.
    pub allow: Option<String>,
    pub versions: bool,
    /// Seconds, for 503.
    pub retry_after: u16,
}

impl ApiError {
    /// A problem with the code that most have.
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, code: Code::Undefined, text: text.into(), allow: None, versions: false, retry_after: 1 }
    }

    /// 400.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// 404.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// 503: the same request may succeed a little later.
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    /// The same, to be tried again so many seconds later.
    #[must_use]
    pub fn with_retry_after(self, seconds: u16) -> Self {
        Self { retry_after: seconds, ..self }
    }
}

impl From<Refusal> for ApiError {
    fn from(Refusal { kind, code, text }: Refusal) -> Self {
        let status = match kind {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Conflict => StatusCode::CONFLICT,
        };
        Self { code, ..Self::new(status, text) }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(refusal) => refusal.into(),
            other => Self::unavailable(other.to_string()),
        }
    }
}

/// The request that the error responds to.
pub struct ErrorContext<'a> {
    pub id: &'a RequestId,
    pub headers: &'a HeaderMap,
    pub method: &'a str,
    /// The microversion; `None` while it is not known.
    pub version: Option<Version>,
}

impl ApiError {
    /// The answer, without headers that every answer has.
    pub fn answer(&self, reported: &ErrorContext<'_>) -> Response {
        let (kind, body) = match accept::form(reported.headers) {
            Form::Json => ("application/json", self.json(reported)),
            Form::Html => ("text/html; charset=UTF-8", self.html(reported)),
            Form::Plain => ("text/plain; charset=UTF-8", self.plain(reported)),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        response.extensions_mut().insert(LogReason::Text(self.text.clone()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(allow) = self.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            headers.insert(ALLOW, allow);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        response
    }

    fn json(&self, reported: &ErrorContext<'_>) -> String {
        let versions = self.versions.then(|| (Version::NEWEST.to_string(), Version::OLDEST.to_string()));
        let error = ErrorBody {
            status: self.status.as_u16(),
            title: self.title(),
            detail: self.detail(reported),
            code: reported.version.filter(|version| version.has(Version::ERROR_CODES)).map(|_| self.code.as_str()),
            request_id: reported.id.as_str(),
            max_version: versions.as_ref().map(|(newest, _)| newest.as_str()),
            min_version: versions.as_ref().map(|(_, oldest)| oldest.as_str()),
        };
        // A structure of strings and numbers always has a JSON.
        serde_json::to_string(&Errors { errors: [error] }).unwrap_or_default()
    }

    fn html(&self, reported: &ErrorContext<'_>) -> String {
        let line = self.line();
        let detail = escaped(&self.detail(reported)).replace("\n\n", "<br /><br />\n");
        format!(
            "<html>\n <head>\n  <title>{line}</title>\n </head>\n <body>\n  <h1>{line}</h1>\n  {detail}\n </body>\n</html>"
        )
    }

    fn plain(&self, reported: &ErrorContext<'_>) -> String {
        format!("{}\n\n{}", self.line(), self.detail(reported))
    }

    fn line(&self) -> String {
        format!("{} {}", self.status.as_u16(), self.title())
    }

    fn title(&self) -> &'static str {
        match self.status {
            StatusCode::PAYLOAD_TOO_LARGE => "Request Entity Too Large",
            StatusCode::URI_TOO_LONG => "Request-URI Too Long",
            other => other.canonical_reason().unwrap_or("Error"),
        }
    }

    fn detail(&self, reported: &ErrorContext<'_>) -> String {
        let message = on_one_line(&self.text);
        let header = |name: &str| {
            let value = reported.headers.get(name);
            value.map_or("None".into(), |value| on_one_line(&String::from_utf8_lossy(value.as_bytes())))
        };
        match self.status.as_u16() {
            405 => format!("The method {} is not allowed for this resource. \n\n {message}", reported.method),
            406 => {
                let kind = header("accept");
                format!(
                    "The resource could not be generated that was acceptable to your browser (content of type {kind}. \n\n {message}"
                )
            }
            415 => format!(
                "The request media type {} is not supported by this server. \n\n {message}",
                header("content-type")
            ),
            _ => format!("{}\n\n {message}  ", self.sentence()),
        }
    }

    fn sentence(&self) -> &'static str {
        match self.status.as_u16() {
            400 => "The server could not comply with the request since it is either malformed or otherwise incorrect.",
            401 => "This server could not verify that you are authorized to access the document you requested.",
            403 => "Access was denied to this resource.",
            404 => "The resource could not be found.",
            409 => "There was a conflict when trying to complete your request.",
            413 => "The body of your request was too large for this server.",
            414 => "The request URI was too long for this server.",
            503 => "The server is currently unavailable. Please try again at a later time.",
            _ => "The server has either erred or is incapable of performing the requested operation.",
        }
    }
}

#[derive(Serialize)]
struct Errors<'a> {
    errors: [ErrorBody<'a>; 1],
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    status: u16,
    title: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_version: Option<&'a str>,
}

fn on_one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        let Some((_, after)) = tag.split_once('>') else {
            rest = &rest[before.len()..];
            break;
        };
        rest = after;
    }
    out.push_str(rest);
    out.replace(['\n', '\r'], " ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(error: &ApiError, accept: Option<&'static str>, version: Option<u8>) -> (HeaderMap, String) {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert("accept", HeaderValue::from_static(accept));
        }
        let id = RequestId::random();
        let reported = ErrorContext {
            id: &id,
            headers: &headers,
            method: "POST",
            version: version.map(|minor| Version::new(minor).unwrap()),
        };
        let (parts, body) = error.answer(&reported).into_parts();
        let body = futures::executor::block_on(axum::body::to_bytes(body, 10_000)).unwrap();
        (parts.headers, String::from_utf8(body.to_vec()).unwrap().replace(id.as_str(), "req-x"))
    }

    #[test]
    fn code_only_from_1_23() {
        let error = ApiError::not_found("");
        let expected = r#"{"errors":[{"status":404,"title":"Not Found","detail":"The resource could not be found.\n\n   ","request_id":"req-x"}]}"#;
        assert_eq!(reported(&error, None, Some(22)).1, expected);
        let with = expected.replace(r#""request_id""#, r#""code":"placement.undefined_code","request_id""#);
        assert_eq!(reported(&error, None, Some(23)).1, with);
    }

    #[test]
    fn methods_are_listed() {
        let error = ApiError {
            allow: Some("GET, DELETE, PUT".to_owned()),
            ..ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "The method specified is not allowed for this resource.")
        };
        let (headers, body) = reported(&error, Some("text/plain"), Some(0));
        assert_eq!(headers["allow"], "GET, DELETE, PUT");
        let detail = "The method POST is not allowed for this resource. \n\n The method specified is not allowed for this resource.";
        assert_eq!(body, format!("405 Method Not Allowed\n\n{detail}"));
    }

    #[test]
    fn versions_are_listed() {
        let error = ApiError { versions: true, ..ApiError::new(StatusCode::NOT_ACCEPTABLE, "m") };
        let body = reported(&error, None, None).1;
        assert!(body.ends_with(r#","request_id":"req-x","max_version":"1.39","min_version":"1.0"}]}"#), "{body}");
    }

    #[test]
    fn html_for_those_who_want_it_and_tags_never() {
        let (headers, body) = reported(&ApiError::invalid("a <b>c</b>\nd < e & f"), Some("text/html"), None);
        assert_eq!(headers["content-type"], "text/html; charset=UTF-8");
        assert!(body.contains("otherwise incorrect.<br /><br />\n a c d &lt; e &amp; f"), "{body}");
    }

    #[test]
    fn who_is_reported_to_try_again_is_reported_when() {
        let (headers, _) = reported(&RequestError::Unavailable("x".to_owned()).into(), None, None);
        assert_eq!(headers["retry-after"], "1");
        assert_eq!(ApiError::from(RequestError::Refused(Refusal::conflict("x"))).status, StatusCode::CONFLICT);
    }
}
