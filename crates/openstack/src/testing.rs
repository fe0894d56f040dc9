//! Callers, and what they may do, for tests of rules.

use crate::authentication::Caller;
use crate::policy::{Policies, Target};

/// The user `u` of a project, with roles that are separated by commas.
pub fn caller(roles: &str, project: &str) -> Caller {
    let roles = roles.split(',').map(str::to_owned).collect();
    Caller { user: "u".to_owned(), project: Some(project.to_owned()), roles, ..Caller::default() }
}

/// Whether these roles in the project `p` satisfy a rule about the project `of`.
pub fn may(policies: &Policies, rule: &'static str, roles: &str, of: Option<&str>) -> bool {
    policies.authorize(rule, &caller(roles, "p"), &Target { project: of, user: Some("u") }).is_ok()
}
