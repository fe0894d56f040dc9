//! The errors of a call, and their meaning for the caller.

use berth_scheduler::{Options, Request, SchedulerError};
use thiserror::Error;

/// A call without a usable answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Failure {
    #[error("failed to marshal external scheduler request: {0}")]
    Marshal(String),
    #[error("failed to create HTTP request: {0}")]
    Create(String),
    #[error("failed to send external scheduler request: {0}")]
    Send(String),
    #[error("external scheduler returned status {code}{}", .body.as_ref().map(|body| format!(": {body}")).unwrap_or_default())]
    Status {
        code: u16,
        /// Its beginning; `None` when it could not be read.
        body: Option<String>,
    },
    #[error("failed to decode external scheduler response: {0}")]
    Decode(String),
}

impl Failure {
    /// The error of the scheduler in this process that the server has met, if it is one that a caller can mend.
    pub(super) fn into_error(self, request: &Request) -> SchedulerError {
        let reported = match &self {
            Self::Status { body: Some(body), .. } => body.as_str(),
            _ => "",
        };
        let known = mendable(request).find(|error| reported.ends_with(&error.to_string()));
        known.unwrap_or_else(|| SchedulerError::External(self.to_string()))
    }
}

/// The errors that are caused by the request. Servers use the same texts for them, with different codes.
fn mendable(request: &Request) -> impl Iterator<Item = SchedulerError> {
    let pipeline = request.pipeline_name().ok().map(|name| SchedulerError::Pipeline(name.to_owned()));
    let inference = ["hypervisor", "flavor"].map(SchedulerError::Inference);
    pipeline.into_iter().chain(inference).chain(contradictions())
}

fn contradictions() -> impl Iterator<Item = SchedulerError> {
    let one = Options { read_only: true, ..Options::default() };
    let two = Options { skip_history: true, ..one.clone() };
    let three = Options { skip_inflight: true, ..two.clone() };
    [one, two, three].into_iter().filter_map(|options| options.validate().err())
}

#[cfg(test)]
mod tests {
    use berth_core::flavor::Flavor;

    use super::*;

    fn error(code: u16, body: Option<&str>) -> SchedulerError {
        let flavor = Flavor { name: "f".into(), vcpus: 1, memory_mib: 1, disk_gib: 0, extra_specs: [].into() };
        let request = Request { pipeline: "nope".to_owned(), ..Request::new("vm", flavor) };
        Failure::Status { code, body: body.map(str::to_owned) }.into_error(&request)
    }

    #[test]
    fn errors_that_a_caller_can_mend_are_the_same_as_in_this_process() {
        let reported = |cause: &str| format!("failed to process scheduling decision: {cause}");
        let options = |text| Options { read_only: true, skip_history: text, ..Options::default() }.validate();
        for (code, body, expected) in [
            (404, reported("pipeline not found or not ready: \"nope\""), SchedulerError::Pipeline("nope".to_owned())),
            (500, reported("pipeline not found or not ready: \"nope\""), SchedulerError::Pipeline("nope".to_owned())),
            (422, reported("read-only runs cannot create inflight reservations"), options(true).unwrap_err()),
            (
                422,
                reported("read-only runs must not write scheduling history: set SkipHistory=true"),
                options(false).unwrap_err(),
            ),
            (400, "failed to determine flavor type from request data".to_owned(), SchedulerError::Inference("flavor")),
        ] {
            assert_eq!(error(code, Some(&body)), expected, "{body}");
        }
    }

    #[test]
    fn other_errors_are_reported_as_they_came() {
        for (code, body, text) in [
            (404, Some("no such path"), "external scheduler returned status 404: no such path"),
            (500, Some("boom"), "external scheduler returned status 500: boom"),
            (204, Some(""), "external scheduler returned status 204: "),
            (502, None, "external scheduler returned status 502"),
        ] {
            assert_eq!(error(code, body), SchedulerError::External(text.to_owned()));
        }
    }
}
