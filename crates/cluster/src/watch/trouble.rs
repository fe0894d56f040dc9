//! What is wrong with a watch, and which of it is worth a line. An outage is told once; when it turns out that somebody
//! has to do something about it, that is told as well.

use kube::core::Status;
use kube_runtime::watcher;

use crate::answers::words;
use crate::chain;

/// Why a list or a watch has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) kind: Sort,
    /// What the API server answered, if it did.
    pub(crate) code: Option<u16>,
    /// In words, for conditions as well.
    pub(crate) why: String,
}

/// Who has to do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Whoever renews our credentials.
    Credentials,
    /// Whoever grants rights or installs CRDs.
    Refused,
    /// Nobody, as a rule: no answer, or a server that is busy.
    Passing,
}

impl Trouble {
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
            kube::Error::Service(cause) => {
                Self::passing(format!("the API server does not answer: {}", chain(&**cause)))
            }
            error => Self::passing(chain(error)),
        }
    }

    pub(crate) fn silence(seconds: u64) -> Self {
        Self::passing(format!("no list within {seconds} s"))
    }

    fn answered(status: &Status) -> Self {
        let kind = match status.code {
            401 => Sort::Credentials,
            403 | 404 => Sort::Refused,
            _ => Sort::Passing,
        };
        Self { kind, code: Some(status.code), why: words(status) }
    }

    pub(crate) fn passing(why: String) -> Self {
        Self { kind: Sort::Passing, code: None, why }
    }
}

/// What was told of the outage under way.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    told: Vec<Sort>,
    last: Option<Sort>,
}

impl Telling {
    /// Whether this failure is told: the first one, and then the first of each sort that somebody has to know. A server
    /// that has just started refuses everybody for a moment, so that has to be met twice.
    pub(crate) fn tells(&mut self, kind: Sort) -> bool {
        let again = self.last.replace(kind) == Some(kind);
        let known = self.told.contains(&kind) || kind == Sort::Passing;
        let tells = self.told.is_empty() || (again && !known);
        if tells {
            self.told.push(kind);
        }
        tells
    }

    /// The outage is over.
    pub(crate) fn over(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[Sort]) -> Vec<bool> {
        let mut telling = Telling::default();
        all.iter().map(|one| telling.tells(*one)).collect()
    }

    #[test]
    fn an_outage_is_told_once() {
        assert_eq!(told(&[Sort::Passing; 4]), [true, false, false, false]);
        assert_eq!(told(&[Sort::Refused, Sort::Refused, Sort::Passing, Sort::Refused]), [true, false, false, false]);
    }

    #[test]
    fn what_somebody_has_to_do_is_told_when_it_turns_out() {
        let all = [Sort::Passing, Sort::Refused, Sort::Refused, Sort::Refused];
        assert_eq!(told(&all), [true, false, true, false], "met twice");
        let all = [Sort::Passing, Sort::Refused, Sort::Passing];
        assert_eq!(told(&all), [true, false, false], "a server that has just started");
    }

    #[test]
    fn the_next_outage_is_told_again() {
        let mut telling = Telling::default();
        assert!(telling.tells(Sort::Refused));
        telling.over();
        assert!(telling.tells(Sort::Refused));
    }

    #[test]
    fn troubles_are_sorted_by_who_has_to_do_something() {
        let sort = |code| {
            let status = Status::failure("no", "No").with_code(code);
            Trouble::of(&watcher::Error::WatchStartFailed(kube::Error::Api(Box::new(status)))).kind
        };
        assert_eq!(
            [401, 403, 404, 429, 500].map(sort),
            [Sort::Credentials, Sort::Refused, Sort::Refused, Sort::Passing, Sort::Passing]
        );
    }
}
