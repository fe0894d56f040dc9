//! The paths of projects: `/commitments/v1/projects/{project_id}/{endpoint}`.

use super::endpoint::Endpoint;
use super::refusal::Refusal;

/// All paths begin with it.
const PREFIX: &str = "/commitments/v1/";

/// Characters of a project id.
const LONGEST_ID: usize = 64;

/// The endpoint that the end of the path names.
pub(super) fn endpoint(path: &str) -> Option<Endpoint> {
    match path.rsplit_once('/')?.1 {
        "report-usage" => Some(Endpoint::Usage),
        "quota" => Some(Endpoint::Quota),
        _ => None,
    }
}

/// The project that the path names, whatever follows.
pub(super) fn id(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)?.strip_prefix("projects/")?.split('/').next().filter(|id| !id.is_empty())
}

/// Checks that the path has exactly one segment for the project, and that it can be an id.
pub(super) fn check(path: &str) -> Result<(), Refusal> {
    let invalid = |what| Err(Refusal::InvalidPath(what, path.to_owned()));
    let segments: Vec<&str> = path.trim_start_matches(PREFIX).split('/').collect();
    let is_id_character = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match segments[..] {
        ["projects", "", _] => invalid("empty project ID in path"),
        ["projects", id, _] if id.len() <= LONGEST_ID && id.bytes().all(is_id_character) => Ok(()),
        [_, _] => invalid("path too short"),
        _ => invalid("unexpected path format"),
    }
}
