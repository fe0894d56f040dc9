//! Describes answers of the API server other than success, with what the user can do.

use kube::core::Status;

/// The words for an answer that refuses a call, to be continued by nothing: they end up in conditions and in the log.
pub(crate) fn describe_status(status: &Status) -> String {
    let log = if status.message.is_empty() { &status.reason } else { &status.message };
    match status.code {
        401 => {
            "the API server does not accept our credentials (401): renew the token or the client certificate".to_owned()
        }
        403 if is_about_rights(status) => {
            format!("the API server refuses it (403): {log}; grant it with a ClusterRole and a binding to our account")
        }
        403 => format!("the API server refuses it (403): {log}"),
        404 => "the API server does not know the kind (404): install its CRD (berth crds prints ours)".to_owned(),
        code => format!("the API server answers {code}: {log}"),
    }
}

/// Quotas, policies, and a kind that is just being removed also cause a 403.
pub(crate) fn is_about_rights(status: &Status) -> bool {
    status.message.contains(" cannot ") && status.message.contains(" resource \"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_answer(code: u16, message: &str) -> String {
        describe_status(&Status::failure(message, "Reason").with_code(code))
    }

    #[test]
    fn a_missing_right_is_to_be_granted() {
        let denied = r#"things.test is forbidden: User "u" cannot list resource "things" in API group "test" at the cluster scope"#;
        let text = format_answer(403, denied);
        assert!(text.ends_with("; grant it with a ClusterRole and a binding to our account"), "{text}");
        let removed =
            r#"things.test "a" is forbidden: create not allowed while custom resource definition is terminating"#;
        assert_eq!(format_answer(403, removed), format!("the API server refuses it (403): {removed}"));
    }

    #[test]
    fn other_answers_are_reported_in_the_words_of_the_api_server() {
        let storage = "storage is (re)initializing";
        assert_eq!(format_answer(429, storage), "the API server answers 429: storage is (re)initializing");
        assert_eq!(format_answer(500, ""), "the API server answers 500: Reason");
        assert_eq!(
            format_answer(404, "404 page not found"),
            "the API server does not know the kind (404): install its CRD (berth crds prints ours)"
        );
        let expired = "the API server does not accept our credentials (401): renew the token or the client certificate";
        assert_eq!(format_answer(401, "Unauthorized"), expired);
    }
}
