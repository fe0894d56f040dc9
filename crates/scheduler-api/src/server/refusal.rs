//! Everything but hosts that a caller can be answered: status, text, and the class under which it is counted. Nothing
//! that a request holds is answered with 500.

use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use berth_core::text::escape_line;
use berth_http::answer;
use berth_scheduler::SchedulerError;

use super::NOT_DECIDED;
use super::showing::SCHEMES;
use crate::wire::Malformed;

/// Characters of a text that is sent: as many bytes as clients keep of it.
const LONGEST: usize = 1000;
const PROCESS: &str = "failed to process scheduling decision";

/// Why a request gets no hosts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    Method,
    UnknownClient,
    NotReady(String),
    TooLarge,
    Unreadable,
    Slow,
    InvalidRequest(Malformed),
    /// Too many requests, or too much of them, at the same time.
    Overloaded,
    Deadline,
    /// The leader must decide, and no leader is known.
    NoLeader,
    /// Another replica took this process for the leader.
    Forwarded,
    /// The scheduler does not take the request, or a step could not do its work.
    Scheduler(SchedulerError),
}

impl From<SchedulerError> for Refusal {
    fn from(error: SchedulerError) -> Self {
        Self::Scheduler(error)
    }
}

impl From<Malformed> for Refusal {
    fn from(invalid: Malformed) -> Self {
        Self::InvalidRequest(invalid)
    }
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnknownClient => StatusCode::UNAUTHORIZED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Unreadable | Self::InvalidRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotReady(_) | Self::Overloaded | Self::Deadline | Self::NoLeader | Self::Forwarded => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Scheduler(error) => scheduler_status(error),
        }
    }

    /// The label `error` of the metric: one of a few fixed texts.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Method => "invalid request method",
            Self::UnknownClient => "missing or wrong bearer token",
            Self::NotReady(_) => "not ready",
            Self::TooLarge => "request body too large",
            Self::Unreadable | Self::Slow => "failed to read request body",
            Self::InvalidRequest(Malformed::Body(_)) => "failed to decode request body",
            Self::InvalidRequest(Malformed::NoWeight(_)) => "missing weight for host",
            Self::InvalidRequest(Malformed::NoHost(_)) => "weight assigned to unknown host",
            Self::Overloaded => "overloaded",
            Self::Deadline => "deadline exceeded",
            Self::NoLeader | Self::Forwarded => "no leader",
            Self::Scheduler(SchedulerError::Inference("flavor")) => "failed to determine flavor type from request data",
            Self::Scheduler(SchedulerError::Inference(_)) => "failed to determine hypervisor type from request data",
            Self::Scheduler(_) => PROCESS,
        }
    }

    /// There was a run, which has been logged with its properties.
    pub(super) fn is_of_a_run(&self) -> bool {
        matches!(self, Self::Scheduler(error) if !matches!(error, SchedulerError::Inference(_)))
    }

    pub(super) fn line(&self) -> String {
        escape_line(&self.text(), LONGEST)
    }

    fn text(&self) -> String {
        match self {
            Self::NotReady(reason) => format!("not ready: {reason}; try again"),
            Self::InvalidRequest(invalid) => invalid.to_string(),
            Self::Slow => "failed to read request body: it took too long to arrive".to_owned(),
            Self::Overloaded => "too many requests at the same time; try again".to_owned(),
            Self::Deadline => "no answer in time; try again".to_owned(),
            Self::NoLeader => "no replica leads at the moment; try again".to_owned(),
            Self::Forwarded => "this replica has lost the leadership; try again".to_owned(),
            Self::Scheduler(error @ SchedulerError::Inference(_)) => error.to_string(),
            Self::Scheduler(error) => format!("{PROCESS}: {error}"),
            Self::Method | Self::UnknownClient | Self::TooLarge | Self::Unreadable => self.class().to_owned(),
        }
    }

    pub(super) fn answer(&self) -> Response {
        let status = self.status();
        let mut response = answer::text(status, self.line());
        let headers = response.headers_mut();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if matches!(self, Self::NotReady(_) | Self::NoLeader | Self::Forwarded) {
            headers.insert(NOT_DECIDED, HeaderValue::from_static("1"));
        }
        if *self == Self::Method {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        if *self == Self::UnknownClient {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(SCHEMES));
        }
        response
    }
}

fn scheduler_status(error: &SchedulerError) -> StatusCode {
    match error {
        SchedulerError::Options(_) => StatusCode::UNPROCESSABLE_ENTITY,
        SchedulerError::Pipeline(_) | SchedulerError::Parameters(_) => StatusCode::NOT_FOUND,
        SchedulerError::Inference(_)
        | SchedulerError::NoHypervisorType(_)
        | SchedulerError::UnknownHypervisorType(_)
        | SchedulerError::Step { .. }
        | SchedulerError::Hint(_) => StatusCode::BAD_REQUEST,
        SchedulerError::InDoubt { .. }
        | SchedulerError::Promised { .. }
        | SchedulerError::DomainName { .. }
        | SchedulerError::External(_)
        | SchedulerError::Unfit { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}
