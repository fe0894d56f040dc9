//! Classifies errors of a watch and decides which are logged: an outage once, and once more when it needs an action of
//! a user.

use std::io;
use std::time::Duration;

use berth_telemetry::chain::is_caused_by;
use kube::core::Status;
use kube_runtime::watcher;

use crate::answers::describe_status;
use crate::chain;

/// Why a list or a watch has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchError {
    pub(crate) kind: Sort,
    /// The status code of the API server, if it responded.
    pub(crate) code: Option<u16>,
    /// Nothing listens at the address.
    pub(crate) is_connection_refused: bool,
    /// The API server has not reached the version that it was asked for.
    pub(crate) is_version_too_large: bool,
    pub(crate) why: String,
}

/// The sort of a failure determines who must act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Credentials,
    Refused,
    /// No action, as a rule: no answer, or a busy server.
    Passing,
}

impl WatchError {
    pub(crate) fn of(error: &watcher::Error) -> Self {
        use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
        match error {
            InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => Self::of_call(error),
            WatchError(status) => Self::answered(status),
            error @ NoResourceVersion => Self::passing(chain(error)),
        }
    }

    /// Without the words of the client library around it.
    pub(crate) fn of_call(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::answered(status),
            kube::Error::Service(cause) => Self {
                is_connection_refused: is_caused_by(&**cause, io::ErrorKind::ConnectionRefused),
                ..Self::passing(format!("the API server does not answer: {}", chain(&**cause)))
            },
            error => Self::passing(chain(error)),
        }
    }

    /// There was no answer to this request within this time.
    pub(crate) fn silence(request: &str, within: Duration) -> Self {
        Self::passing(format!("no {request} within {} s", within.as_secs()))
    }

    pub(super) fn answered(status: &Status) -> Self {
        let kind = match status.code {
            401 => Sort::Credentials,
            403 | 404 => Sort::Refused,
            _ => Sort::Passing,
        };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        let is_version_too_large = causes.any(|cause| cause.reason == "ResourceVersionTooLarge");
        let (code, why) = (Some(status.code), describe_status(status));
        Self { kind, code, is_version_too_large, ..Self::passing(why) }
    }

    pub(crate) fn passing(why: String) -> Self {
        Self { kind: Sort::Passing, code: None, is_connection_refused: false, is_version_too_large: false, why }
    }
}

/// The logged state of the present outage.
#[derive(Debug, Default)]
pub(crate) struct OutageLog {
    reported: Vec<Sort>,
    last: Option<Sort>,
}

impl OutageLog {
    /// Whether this failure is logged: the first one, and then the first of each sort that requires an action. A server
    /// that has just started refuses all clients for a moment, so refusals must occur twice.
    pub(crate) fn should_log(&mut self, kind: Sort) -> bool {
        let again = self.last.replace(kind) == Some(kind);
        let known = self.reported.contains(&kind) || kind == Sort::Passing;
        let tells = self.reported.is_empty() || (again && !known);
        if tells {
            self.reported.push(kind);
        }
        tells
    }

    pub(crate) fn end_outage(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(all: &[Sort]) -> Vec<bool> {
        let mut telling = OutageLog::default();
        all.iter().map(|one| telling.should_log(*one)).collect()
    }

    #[test]
    fn an_outage_is_reported_once() {
        assert_eq!(reported(&[Sort::Passing; 4]), [true, false, false, false]);
        assert_eq!(
            reported(&[Sort::Refused, Sort::Refused, Sort::Passing, Sort::Refused]),
            [true, false, false, false]
        );
    }

    #[test]
    fn what_a_user_has_to_do_is_reported_when_it_turns_out() {
        let all = [Sort::Passing, Sort::Refused, Sort::Refused, Sort::Refused];
        assert_eq!(reported(&all), [true, false, true, false], "met twice");
        let all = [Sort::Passing, Sort::Refused, Sort::Passing];
        assert_eq!(reported(&all), [true, false, false], "a server that has just started");
    }

    #[test]
    fn the_next_outage_is_reported_again() {
        let mut telling = OutageLog::default();
        assert!(telling.should_log(Sort::Refused));
        telling.end_outage();
        assert!(telling.should_log(Sort::Refused));
    }

    #[test]
    fn troubles_are_sorted_by_who_has_to_do_something() {
        let sort = |code| {
            let status = Status::failure("no", "No").with_code(code);
            WatchError::of(&watcher::Error::WatchStartFailed(kube::Error::Api(Box::new(status)))).kind
        };
        assert_eq!(
            [401, 403, 404, 429, 500].map(sort),
            [Sort::Credentials, Sort::Refused, Sort::Refused, Sort::Passing, Sort::Passing]
        );
    }
}
