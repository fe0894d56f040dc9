//! What the answers to reviews mean: a caller is allowed only by answers that say so.

use k8s_openapi::api::authentication::v1::{TokenReviewStatus, UserInfo};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;

/// Whether the bearer of a token may read a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessVerdict {
    Allowed,
    /// The caller is known and may not.
    Forbidden,
    /// The token is nobody's.
    Unauthenticated,
    /// The API server has not said, for this reason.
    Unknown(String),
}

/// The user to whom a token belongs.
pub(super) fn identity(status: Option<TokenReviewStatus>) -> Result<UserInfo, AccessVerdict> {
    let status = status.ok_or_else(|| lacks_an_answer("TokenReview"))?;
    // Its `error` does not tell: a token that nobody knows has one too.
    if status.authenticated != Some(true) {
        return Err(AccessVerdict::Unauthenticated);
    }
    let has_name = |user: &UserInfo| user.username.as_ref().is_some_and(|name| !name.is_empty());
    status.user.filter(has_name).ok_or_else(|| lacks_an_answer("TokenReview"))
}

/// Whether the user may.
pub(super) fn permission(status: Option<&SubjectAccessReviewStatus>) -> AccessVerdict {
    match status {
        None => lacks_an_answer("SubjectAccessReview"),
        Some(status) if status.allowed && status.denied != Some(true) => AccessVerdict::Allowed,
        Some(_) => AccessVerdict::Forbidden,
    }
}

fn lacks_an_answer(review: &str) -> AccessVerdict {
    AccessVerdict::Unknown(format!("the API server has answered a {review} without a verdict"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> UserInfo {
        UserInfo { username: Some(name.to_owned()), ..UserInfo::default() }
    }

    fn identified(authenticated: Option<bool>, user: Option<UserInfo>) -> Result<UserInfo, AccessVerdict> {
        let error = Some("invalid bearer token".to_owned()).filter(|_| authenticated != Some(true));
        identity(Some(TokenReviewStatus { authenticated, user, error, audiences: None }))
    }

    #[test]
    fn only_a_token_that_the_api_server_knows_has_a_user() {
        assert_eq!(identified(Some(true), Some(known("prometheus"))).unwrap().username.as_deref(), Some("prometheus"));
        for authenticated in [None, Some(false)] {
            assert_eq!(identified(authenticated, Some(known("prometheus"))), Err(AccessVerdict::Unauthenticated));
        }
    }

    #[test]
    fn answers_that_lack_something_allow_nothing() {
        let without_user = identified(Some(true), None);
        for unknown in [identity(None), without_user, identified(Some(true), Some(known("")))] {
            assert!(matches!(unknown, Err(AccessVerdict::Unknown(_))), "{unknown:?}");
        }
        assert!(matches!(permission(None), AccessVerdict::Unknown(_)));
    }

    #[test]
    fn a_user_is_allowed_what_is_allowed_and_not_denied() {
        let of = |allowed, denied, error: Option<&str>| {
            let evaluation_error = error.map(str::to_owned);
            permission(Some(&SubjectAccessReviewStatus { allowed, denied, evaluation_error, reason: None }))
        };
        assert_eq!(of(true, None, None), AccessVerdict::Allowed);
        assert_eq!(of(true, Some(false), Some("a role is missing")), AccessVerdict::Allowed);
        for (allowed, denied) in [(false, None), (false, Some(false)), (false, Some(true)), (true, Some(true))] {
            assert_eq!(of(allowed, denied, None), AccessVerdict::Forbidden, "{allowed} {denied:?}");
        }
    }
}
