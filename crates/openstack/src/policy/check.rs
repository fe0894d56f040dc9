//! One rule as a value, and whether it holds for a caller.

use std::collections::BTreeMap;

use crate::authentication::Caller;

/// The condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    Always,
    Never,
    Role(String),
    /// `rule:x`; a rule that does not exist never holds.
    Rule(String),
    /// `project_id:%(project_id)s`: something of the caller, or a literal in quotes, is something of the target.
    Equal {
        left: String,
        /// A value of the target, in `%(...)s`, or a text.
        right: String,
    },
    All(Vec<Check>),
    Any(Vec<Check>),
    Not(Box<Check>),
}

/// The target of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// The project that it names, else that of the caller.
    pub project: Option<&'a str>,
    pub user: Option<&'a str>,
}

/// Whether the rule holds. Rules do not go round in circles: that is checked when they are read.
pub fn holds(check: &Check, rules: &BTreeMap<String, Check>, caller: &Caller, target: &Target<'_>) -> bool {
    let one = |check: &Check| holds(check, rules, caller, target);
    match check {
        Check::Always => true,
        Check::Never => false,
        Check::Role(role) => caller.roles.iter().any(|has| has.eq_ignore_ascii_case(role)),
        Check::Rule(name) => rules.get(name).is_some_and(one),
        Check::Equal { left, right } => equal(left, right, caller, target),
        Check::All(checks) => checks.iter().all(one),
        Check::Any(checks) => checks.iter().any(one),
        Check::Not(check) => !one(check),
    }
}

fn equal(left: &str, right: &str, caller: &Caller, target: &Target<'_>) -> bool {
    let wanted = match right.strip_prefix("%(").and_then(|rest| rest.strip_suffix(")s")) {
        Some("project_id") => target.project,
        Some("user_id") => target.user,
        Some(_) => None,
        None => Some(right),
    };
    let has = match left {
        "project_id" => caller.project.as_deref(),
        "project_domain_id" => caller.project_domain.as_deref(),
        "user_id" => Some(caller.user.as_str()),
        "user_domain_id" => caller.user_domain.as_deref(),
        "system_scope" => caller.of_system.then_some("all"),
        literal => literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')),
    };
    has.is_some() && has == wanted
}
