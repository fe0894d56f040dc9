//! Authorization: the default rules of an API, changed by a policy file of oslo.policy.

mod check;
mod parse;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::authentication::Caller;

pub use check::{Check, Target};
pub use parse::{RuleError, parse};

/// What tokens of the whole system may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemTokens {
    /// The rules are for tokens of projects.
    Refused,
    /// They have the roles that they name, like all others.
    Allowed,
}

/// All rules of an API.
#[derive(Clone, Debug)]
pub struct Policies {
    system_tokens: SystemTokens,
    rules: BTreeMap<String, Check>,
}

/// Why a caller may not; 403 with this text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Forbidden {
    #[error("Policy does not allow {0} to be performed.")]
    Rule(&'static str),
    /// The rule is not for tokens of the whole system.
    #[error("{0}")]
    Scope(&'static str),
}

impl Policies {
    /// The rules that count without a policy file.
    pub fn new(system_tokens: SystemTokens, defaults: impl IntoIterator<Item = (String, Check)>) -> Self {
        Self { system_tokens, rules: defaults.into_iter().collect() }
    }

    /// The same with the rules of a policy file in place of the defaults.
    pub fn with_file(mut self, text: &str) -> Result<Self, PolicyError> {
        self.rules.extend(read(text)?);
        refuse_circles(&self.rules)?;
        Ok(self)
    }

    /// Whether the caller may, with regard to `target`.
    pub fn authorize(&self, rule: &'static str, caller: &Caller, target: &Target<'_>) -> Result<(), Forbidden> {
        if caller.of_system && self.system_tokens == SystemTokens::Refused {
            return Err(Forbidden::Scope(rule));
        }
        if check::holds(&Check::Rule(rule.to_owned()), &self.rules, caller, target) {
            Ok(())
        } else {
            Err(Forbidden::Rule(rule))
        }
    }

    /// Names of rules of a policy file that neither this API nor another rule of the file uses. Another API that shares the
    /// file may.
    pub fn unknown_rules(&self, text: &str) -> Result<BTreeSet<String>, PolicyError> {
        let file = read(text)?;
        let used: Vec<&str> = file.values().flat_map(references).collect();
        let is_known = |name: &str| self.rules.contains_key(name) || used.contains(&name);
        Ok(file.keys().filter(|name| !is_known(name)).cloned().collect())
    }
}

// Reads a policy file and reports why it is invalid.

/// Why a policy file cannot be used.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// It is neither YAML nor JSON, or no map of texts.
    #[error("the policy file is not a map of rule names to rules in YAML or JSON: {0}")]
    Form(String),
    #[error("rule {name:?} of the policy file cannot be read: {cause}")]
    Rule { name: String, cause: RuleError },
    #[error("rule {0:?} of the policy file refers to itself, maybe through others; break the circle")]
    Circle(String),
}

fn read(text: &str) -> Result<BTreeMap<String, Check>, PolicyError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(BTreeMap::new());
    }
    let texts: BTreeMap<String, String> =
        serde_saphyr::from_str(text).map_err(|error| PolicyError::Form(error.to_string()))?;
    let rule = |(name, text): (String, String)| match parse(&text) {
        Ok(check) => Ok((name, check)),
        Err(cause) => Err(PolicyError::Rule { name, cause }),
    };
    texts.into_iter().map(rule).collect()
}

fn references(check: &Check) -> Vec<&str> {
    match check {
        Check::Rule(name) => vec![name],
        Check::All(checks) | Check::Any(checks) => checks.iter().flat_map(references).collect(),
        Check::Not(check) => references(check),
        _ => Vec::new(),
    }
}

/// A rule that refers to itself could not be checked.
fn refuse_circles(rules: &BTreeMap<String, Check>) -> Result<(), PolicyError> {
    // A rule is resolved once all rules that it refers to are; the remaining rules refer to each other in a circle.
    let mut left: BTreeMap<&str, Vec<&str>> =
        rules.iter().map(|(name, check)| (name.as_str(), references(check))).collect();
    loop {
        let settled: Vec<&str> =
            left.iter().filter(|(_, to)| !to.iter().any(|to| left.contains_key(to))).map(|(name, _)| *name).collect();
        if settled.is_empty() {
            return left.keys().next().map_or(Ok(()), |name| Err(PolicyError::Circle((*name).to_owned())));
        }
        left.retain(|name, _| !settled.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{caller, may};

    const READ: &str = "liquid:get_info";
    const WRITE: &str = "liquid:set_quota";

    fn policies(system_tokens: SystemTokens) -> Policies {
        let default = |name: &str| (name.to_owned(), Check::Role("admin".to_owned()));
        Policies::new(system_tokens, [READ, WRITE].map(default))
    }

    #[test]
    fn a_file_replaces_rules_by_their_names() {
        let file = "'liquid:get_info': rule:reads\n'liquid:set_quota': 'project_id:%(project_id)s and not role:bad'\nreads: (role:a or role:b) and role:c\n";
        let policies = policies(SystemTokens::Refused).with_file(file).unwrap();
        assert!(may(&policies, READ, "b,C", None) && !may(&policies, READ, "admin", None));
        assert!(may(&policies, WRITE, "x", Some("p")));
        assert!(!may(&policies, WRITE, "x", Some("q")) && !may(&policies, WRITE, "x", None));
        assert!(!may(&policies, WRITE, "bad", Some("p")));
    }

    #[test]
    fn domains_and_the_scope_of_the_system_can_be_compared() {
        let file = r#"{"liquid:get_info": "user_domain_id:d or project_domain_id:e or system_scope:all", "liquid:set_quota": "'a':a"}"#;
        let policies = policies(SystemTokens::Allowed).with_file(file).unwrap();
        let target = Target::default();
        let allowed = |caller: &Caller| policies.authorize(READ, caller, &target).is_ok();
        let domain = |name: &str| Some(name.to_owned());
        assert!(!allowed(&caller("admin", "p")));
        assert!(allowed(&Caller { user_domain: domain("d"), ..caller("", "p") }));
        assert!(allowed(&Caller { project_domain: domain("e"), ..caller("", "p") }));
        assert!(!allowed(&Caller { user_domain: domain("e"), project_domain: domain("d"), ..caller("", "p") }));
        assert!(allowed(&Caller { of_system: true, ..caller("", "p") }));
        assert!(may(&policies, WRITE, "", None), "texts are compared too");
    }

    #[test]
    fn a_token_of_the_system_is_refused_where_rules_are_for_projects() {
        let system = Caller { of_system: true, ..caller("admin", "p") };
        let target = Target::default();
        assert!(policies(SystemTokens::Allowed).authorize(READ, &system, &target).is_ok());
        let refused = policies(SystemTokens::Refused).authorize(READ, &system, &target).unwrap_err();
        assert_eq!(refused.to_string(), READ);
        let refused = policies(SystemTokens::Refused).authorize(READ, &caller("x", "p"), &target).unwrap_err();
        assert_eq!(refused.to_string(), "Policy does not allow liquid:get_info to be performed.");
    }

    #[test]
    fn files_that_cannot_be_used_say_why() {
        for (text, expected) in [
            ("- a\n- b", "is not a map of rule names"),
            ("a: [b]", "is not a map of rule names"),
            ("a: role:x or", "rule \"a\" of the policy file cannot be read: something is missing"),
            ("a: rule:b\nb: rule:c or role:x\nc: not rule:a", "refers to itself"),
        ] {
            let reported = policies(SystemTokens::Allowed).with_file(text).unwrap_err().to_string();
            assert!(reported.contains(expected), "{text}: {reported}");
        }
        for text in ["", "# nothing\n", "{}"] {
            policies(SystemTokens::Allowed).with_file(text).unwrap();
        }
    }

    #[test]
    fn names_that_the_api_does_not_use_are_found() {
        let text = "liquid:get_info: rule:mine\nmine: '@'\nliquid:get_inf: '@'\nadmin_api: '@'\n";
        let unknown = policies(SystemTokens::Allowed).unknown_rules(text).unwrap();
        assert_eq!(unknown, ["admin_api".to_owned(), "liquid:get_inf".to_owned()].into());
    }
}
