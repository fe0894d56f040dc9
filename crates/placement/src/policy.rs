//! Authorization: the rules of Placement with their defaults, changed by a policy file of oslo.policy.

mod check;
pub mod rules;

use std::collections::BTreeMap;

use thiserror::Error;

use crate::protocol::authentication::Caller;
use check::Check;

pub use check::Target;

/// All parsed rules.
#[derive(Debug, Clone)]
pub struct Policies {
    rules: BTreeMap<String, Check>,
}

/// Why a caller may not; 403 with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("Policy does not allow {0} to be performed.")]
    Rule(&'static str),
    /// The rule is not for tokens of the whole system.
    #[error("{0}")]
    Scope(&'static str),
}

impl Policies {
    /// The defaults. Without `enforce_new_defaults` the role admin satisfies every rule, as it always did.
    pub fn defaults(enforce_new_defaults: bool) -> Self {
        let rules =
            rules::DEFAULTS.iter().map(|default| (default.name.to_owned(), default.check(enforce_new_defaults)));
        Self { rules: rules.collect() }
    }

    /// The same with the rules of a policy file in place of the defaults.
    pub fn with_file(mut self, text: &str) -> Result<Self, PolicyError> {
        self.rules.extend(read(text)?);
        refuse_circles(&self.rules)?;
        Ok(self)
    }

    /// Whether the caller may, with regard to `target`.
    pub fn authorize(&self, rule: &'static str, caller: &Caller, target: &Target<'_>) -> Result<(), Forbidden> {
        if caller.of_system {
            return Err(Forbidden::Scope(rule));
        }
        if check::holds(&Check::Rule(rule.to_owned()), &self.rules, caller, target) {
            Ok(())
        } else {
            Err(Forbidden::Rule(rule))
        }
    }
}

// Reads a policy file and reports why it is invalid. Unknown names only cause warnings, because other rules may refer
// to them.

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

pub fn read(text: &str) -> Result<BTreeMap<String, Check>, PolicyError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(BTreeMap::new());
    }
    let texts: BTreeMap<String, String> =
        serde_saphyr::from_str(text).map_err(|error| PolicyError::Form(error.to_string()))?;
    let rule = |(name, text): (String, String)| match parse(&text) {
        Ok(check) => Ok((name, check)),
        Err(cause) => Err(PolicyError::Rule { name, cause }),
    };
    let read: BTreeMap<String, Check> = texts.into_iter().map(rule).collect::<Result<_, _>>()?;
    for name in unknown(&read) {
        tracing::warn!(rule = name, "policy file has an unknown rule");
    }
    Ok(read)
}

/// Names that neither Placement nor another rule of the file uses.
fn unknown(read: &BTreeMap<String, Check>) -> Vec<&str> {
    let used: Vec<&str> = read.values().flat_map(references).collect();
    let known = |name: &str| rules::DEFAULTS.iter().any(|default| default.name == name) || used.contains(&name);
    read.keys().map(String::as_str).filter(|name| !known(name)).collect()
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
pub fn refuse_circles(rules: &BTreeMap<String, Check>) -> Result<(), PolicyError> {
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

// Reads one rule of oslo.policy: `role:`, `rule:`, comparisons, `and`, `or`, `not`, parentheses, `@` and `!`. It decides that
// `not` binds before `and`, and `and` before `or`.

const MOST_NESTED: usize = 32;

/// Why a rule cannot be read.
#[derive(Debug, Error)]
pub enum RuleError {
    /// There is another word after the end of the rule.
    #[error("{0:?} is not expected here")]
    Unexpected(String),
    #[error("more than {MOST_NESTED} parentheses in each other")]
    TooDeep,
    #[error("a closing parenthesis is missing")]
    Open,
    #[error("something is missing at the end")]
    Cut,
    #[error("{0:?} is not a check; write role:, rule:, project_id:%(project_id)s, @ or !")]
    NoCheck(String),
}

/// The parsed rule, or its error.
pub fn parse(text: &str) -> Result<Check, RuleError> {
    let words = split_words(text);
    if words.is_empty() {
        return Ok(Check::Always);
    }
    let mut reader = Reader { words: &words, at: 0, depth: 0 };
    let check = reader.any()?;
    match reader.words.get(reader.at) {
        None => Ok(check),
        Some(word) => Err(RuleError::Unexpected((*word).to_owned())),
    }
}

/// Parentheses are only at the edges of words: `%(project_id)s` is one word.
fn split_words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        let inner = word.trim_start_matches('(');
        out.extend((inner.len()..word.len()).map(|_| "("));
        let bare = inner.trim_end_matches(')');
        out.extend(Some(bare).filter(|bare| !bare.is_empty()));
        out.extend((bare.len()..inner.len()).map(|_| ")"));
    }
    out
}

struct Reader<'a> {
    words: &'a [&'a str],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn any(&mut self) -> Result<Check, RuleError> {
        let mut checks = vec![self.all()?];
        while self.takes("or") {
            checks.push(self.all()?);
        }
        Ok(combine_checks(checks, Check::Any))
    }

    fn all(&mut self) -> Result<Check, RuleError> {
        let mut checks = vec![self.single()?];
        while self.takes("and") {
            checks.push(self.single()?);
        }
        Ok(combine_checks(checks, Check::All))
    }

    fn single(&mut self) -> Result<Check, RuleError> {
        let mut negated = false;
        while self.takes("not") {
            negated = !negated;
        }
        let check = if self.takes("(") { self.nested()? } else { self.leaf()? };
        Ok(if negated { Check::Not(Box::new(check)) } else { check })
    }

    fn nested(&mut self) -> Result<Check, RuleError> {
        self.depth += 1;
        if self.depth > MOST_NESTED {
            return Err(RuleError::TooDeep);
        }
        let check = self.any()?;
        self.depth -= 1;
        if self.takes(")") { Ok(check) } else { Err(RuleError::Open) }
    }

    fn leaf(&mut self) -> Result<Check, RuleError> {
        let word = *self.words.get(self.at).ok_or(RuleError::Cut)?;
        self.at += 1;
        match (word, word.split_once(':')) {
            ("@", _) => Ok(Check::Always),
            ("!", _) => Ok(Check::Never),
            (_, Some(("role", role))) => Ok(Check::Role(role.to_owned())),
            (_, Some(("rule", rule))) => Ok(Check::Rule(rule.to_owned())),
            (_, Some((left, right))) if !left.is_empty() && left != "http" && left != "https" => {
                Ok(Check::Equal { left: left.to_owned(), right: right.to_owned() })
            }
            _ => Err(RuleError::NoCheck(word.to_owned())),
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let takes = self.words.get(self.at).is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(takes);
        takes
    }
}

fn combine_checks(mut checks: Vec<Check>, many: fn(Vec<Check>) -> Check) -> Check {
    match checks.pop() {
        Some(only) if checks.is_empty() => only,
        last => many(checks.into_iter().chain(last).collect()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn caller(roles: &str, project: &str) -> Caller {
        let roles = roles.split(',').map(str::to_owned).collect();
        Caller { user: "u".to_owned(), project: Some(project.to_owned()), roles, of_system: false }
    }

    fn may(policies: &Policies, rule: &'static str, roles: &str, of: Option<&str>) -> bool {
        policies.authorize(rule, &caller(roles, "p"), &Target { project: of, user: Some("u") }).is_ok()
    }

    #[test]
    fn the_default_policy_has_reader_and_service_roles() {
        let policies = Policies::defaults(true);
        for (roles, list, reshape, usages) in [
            ("admin,member,reader", true, false, true),
            ("service", true, true, true),
            ("member,reader", false, false, true),
            ("member", false, false, false),
            ("", false, false, false),
        ] {
            assert_eq!(may(&policies, rules::PROVIDERS_LIST, roles, Some("p")), list, "{roles}");
            assert_eq!(may(&policies, rules::RESHAPE, roles, Some("p")), reshape, "{roles}");
            assert_eq!(may(&policies, rules::USAGES, roles, Some("p")), usages, "{roles}");
        }
        assert!(!may(&policies, rules::USAGES, "reader", Some("other")));
        assert!(!may(&policies, rules::USAGES, "reader", None));
    }

    #[test]
    fn old_defaults_let_admin_do_everything() {
        let policies = Policies::defaults(false);
        assert!(rules::ENDPOINT_RULES.iter().all(|rule| may(&policies, rule, "Admin", None)));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "reader", Some("p")));
        assert!(may(&policies, rules::RESHAPE, "service", None));
    }

    #[test]
    fn refusals_name_the_rule() {
        let policies = Policies::defaults(false);
        let target = Target::default();
        let no = policies.authorize(rules::RESHAPE, &caller("reader", "p"), &target).unwrap_err();
        assert_eq!(no.to_string(), "Policy does not allow placement:reshaper:reshape to be performed.");
        let system = Caller { of_system: true, ..caller("admin", "p") };
        let no = policies.authorize(rules::RESHAPE, &system, &target).unwrap_err();
        assert_eq!(no.to_string(), "placement:reshaper:reshape");
    }

    #[test]
    fn a_policy_file_reports_it_anew() {
        let file = "placement:reshaper:reshape: '@'\n'placement:usages': 'user_id:%(user_id)s and not role:bad'\nadmin_or_service_api: rule:mine\nmine: (role:a or role:b) and role:c\n";
        let policies = Policies::defaults(true).with_file(file).unwrap();
        assert!(may(&policies, rules::RESHAPE, "", None));
        assert!(may(&policies, rules::USAGES, "x", None));
        assert!(!may(&policies, rules::USAGES, "bad", None));
        assert!(may(&policies, rules::PROVIDERS_LIST, "b,c", None));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "admin", None));
        let json = Policies::defaults(false).with_file(r#"{"placement:usages": "!"}"#).unwrap();
        assert!(!may(&json, rules::USAGES, "admin", None));
    }

    #[test]
    fn files_that_cannot_be_used_say_why() {
        for (text, expected) in [
            ("- a\n- b", "is not a map of rule names"),
            ("a: [b]", "is not a map of rule names"),
            ("a: role:x or", "rule \"a\" of the policy file cannot be read: something is missing"),
            ("a: rule:b\nb: rule:c or role:x\nc: not rule:a", "refers to itself"),
            (
                "admin_or_service_api: rule:placement:usages\nplacement:usages: rule:admin_or_service_api",
                "refers to itself",
            ),
        ] {
            let reported = Policies::defaults(true).with_file(text).unwrap_err().to_string();
            assert!(reported.contains(expected), "{text}: {reported}");
        }
        for text in ["", "# nothing\n", "{}"] {
            Policies::defaults(true).with_file(text).unwrap();
        }
    }

    #[test]
    fn names_that_nothing_asks_for_are_found() {
        let read = read("placement:usages: rule:mine\nmine: '@'\nplacement:usage: '@'\nadmin_api: '@'\n").unwrap();
        assert_eq!(unknown(&read), ["placement:usage"]);
    }

    fn role(name: &str) -> Check {
        Check::Role(name.to_owned())
    }

    #[test]
    fn rules_are_read_as_oslo_does() {
        let project = Check::Equal { left: "project_id".to_owned(), right: "%(project_id)s".to_owned() };
        for (text, expected) in [
            ("", Check::Always),
            ("@", Check::Always),
            ("!", Check::Never),
            ("role:a or role:b and role:c", Check::Any(vec![role("a"), Check::All(vec![role("b"), role("c")])])),
            ("(role:a or role:b) and role:c", Check::All(vec![Check::Any(vec![role("a"), role("b")]), role("c")])),
            ("not role:a AND (project_id:%(project_id)s)", Check::All(vec![Check::Not(Box::new(role("a"))), project])),
            ("((rule:x))", Check::Rule("x".to_owned())),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_rule_is_reported() {
        for bad in ["role:a or", "(role:a", "role:a)", "and", "admin", "role:a role:b", "http://x/y"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse(&"( ".repeat(1000)).unwrap_err().to_string().contains("more than 32"));
    }

    proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[()@!a-z:% ]{0,60}") {
        let _ = parse(&text);
    }
    }
}
