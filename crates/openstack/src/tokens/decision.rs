//! What happens to a request whose token is not decided by the cache, as functions of what is known.

use std::sync::Arc;

use super::cache::Known;
use crate::authentication::Caller;

/// Validations at a time: many more make Keystone slower, not faster.
pub(super) const MOST_UNDER_WAY: usize = 64;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// It reads, so that an outdated answer of Keystone does little harm.
    Read,
    Change,
}

/// How a request with a token goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    Accept(Arc<Caller>),
    Reject,
    /// Wait for the validation of this token that is under way.
    Join,
    Begin,
    /// Too many are under way.
    GiveUp,
}

pub(super) fn decide(known: &Known, is_under_way: bool, under_way: usize) -> NextStep {
    match known {
        Known::Valid(caller) => NextStep::Accept(caller.clone()),
        Known::Unknown => NextStep::Reject,
        Known::Unsure(_) if is_under_way => NextStep::Join,
        Known::Unsure(_) if under_way >= MOST_UNDER_WAY => NextStep::GiveUp,
        Known::Unsure(_) => NextStep::Begin,
    }
}

/// The caller of a request for which Keystone has no answer: the one that the token belonged to, if the request reads.
pub(super) fn without_answer(known: Known, kind: RequestKind) -> Option<Arc<Caller>> {
    match (known, kind) {
        (Known::Unsure(last), RequestKind::Read) => last,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Arc<Caller> {
        Arc::new(Caller { user: "u".to_owned(), ..Caller::default() })
    }

    #[test]
    fn what_the_cache_knows_needs_no_validation() {
        for under_way in [0, MOST_UNDER_WAY] {
            assert_eq!(decide(&Known::Valid(caller()), true, under_way), NextStep::Accept(caller()));
            assert_eq!(decide(&Known::Unknown, true, under_way), NextStep::Reject);
        }
    }

    #[test]
    fn a_validation_is_shared_and_their_number_is_bounded() {
        let unsure = Known::Unsure(None);
        assert_eq!(decide(&unsure, false, MOST_UNDER_WAY - 1), NextStep::Begin);
        assert_eq!(decide(&unsure, false, MOST_UNDER_WAY), NextStep::GiveUp);
        assert_eq!(decide(&unsure, true, MOST_UNDER_WAY), NextStep::Join);
    }

    #[test]
    fn only_reads_go_on_without_an_answer_and_only_with_a_caller_that_was_known() {
        let last = || Known::Unsure(Some(caller()));
        assert_eq!(without_answer(last(), RequestKind::Read), Some(caller()));
        assert_eq!(without_answer(last(), RequestKind::Change), None);
        assert_eq!(without_answer(Known::Unsure(None), RequestKind::Read), None);
        assert_eq!(without_answer(Known::Unknown, RequestKind::Read), None);
    }
}
