//! Everything but a result that a caller can be answered: status and text.

use axum::http::header::{ALLOW, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use berth_core::text::escape_line;
use berth_http::{LogReason, answer};

/// Characters of a text that is sent.
const LONGEST: usize = 1000;
/// Seconds after which a caller should try again.
const SOON: HeaderValue = HeaderValue::from_static("5");

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    UnknownPath,
    Method(Method),
    NoAuthentication,
    /// No token, or none that is valid.
    Unauthorized,
    /// Who calls cannot be found out at the moment.
    UnknownCaller(String),
    /// The rule that the caller does not satisfy.
    Forbidden {
        rule: &'static str,
        user: String,
        project: Option<String>,
    },
    /// The API that is switched off.
    Disabled(&'static str),
    /// What is wrong with the path, and the path.
    InvalidPath(&'static str, String),
    /// What is wrong with the body.
    InvalidBody(String),
    TooLarge,
    /// The body broke off or took too long.
    Unreadable,
    Slow,
    Overloaded,
    NothingPublished(String),
    /// The report, and why it cannot be made now.
    NoReport(&'static str, String),
    /// Why the capacity cannot be reported now.
    NoCapacity(String),
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::InvalidPath(..) | Self::InvalidBody(_) | Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::NoAuthentication
            | Self::UnknownCaller(_)
            | Self::Disabled(_)
            | Self::Overloaded
            | Self::NothingPublished(_)
            | Self::NoReport(..)
            | Self::NoCapacity(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::UnknownPath => "Not found".to_owned(),
            Self::Method(_) => "Method not allowed".to_owned(),
            Self::NoAuthentication => "no authentication is configured for this API".to_owned(),
            Self::Unauthorized => "Unauthorized".to_owned(),
            Self::UnknownCaller(why) => why.clone(),
            Self::Forbidden { .. } => "Forbidden".to_owned(),
            Self::Disabled(api) => format!("{api} API is disabled"),
            Self::InvalidPath(what, path) => format!("Invalid URL path: {what}: {path}"),
            Self::InvalidBody(error) => format!("Invalid request body: {error}"),
            Self::TooLarge => "request body too large".to_owned(),
            Self::Unreadable | Self::Slow => "failed to read request body".to_owned(),
            Self::Overloaded => "too many requests at the same time, please retry later".to_owned(),
            Self::NothingPublished(reason) => format!("Service temporarily unavailable: {reason}"),
            Self::NoReport(report, reason) => format!("Failed to generate {report} report: {reason}"),
            Self::NoCapacity(reason) => format!("Failed to calculate capacity: {reason}"),
        }
    }

    /// What the log says; the caller need not know which rule it is.
    fn reason(&self) -> String {
        match self {
            Self::Forbidden { rule, user, project } => {
                format!("user {user:?} of project {:?} may not {rule}", project.as_deref().unwrap_or_default())
            }
            other => other.text(),
        }
    }

    pub(super) fn answer(&self) -> Response {
        let mut response = answer::text(self.status(), escape_line(&self.text(), LONGEST));
        let headers = response.headers_mut();
        match self {
            Self::Method(allowed) => drop(HeaderValue::from_str(allowed.as_str()).map(|it| headers.insert(ALLOW, it))),
            Self::Overloaded | Self::UnknownCaller(_) | Self::NoReport(..) | Self::NoCapacity(_) => {
                drop(headers.insert(RETRY_AFTER, SOON));
            }
            _ => {}
        }
        response.extensions_mut().insert(LogReason::Text(escape_line(&self.reason(), LONGEST)));
        response
    }
}
