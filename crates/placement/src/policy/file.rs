//! Reads a policy file. It decides what a file that cannot be used is told, and that unknown names are only warned of: other
//! rules may refer to them.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{check::Check, parse::parse, rules};

/// Why a policy file cannot be used.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// It is neither YAML nor JSON, or no map of texts.
    #[error("the policy file is no map of rule names to rules in YAML or JSON: {0}")]
    Form(String),
    /// A rule cannot be read.
    #[error("rule {name:?} of the policy file cannot be read: {cause}")]
    Rule {
        /// Its name.
        name: String,
        /// What is wrong.
        cause: String,
    },
    /// Rules refer to each other.
    #[error("rule {0:?} of the policy file refers to itself, maybe through others; break the circle")]
    Circle(String),
}

/// The rules of a file.
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
        tracing::warn!(rule = name, "the policy file has a rule that nothing asks for");
    }
    Ok(read)
}

/// Names that neither Placement nor another rule of the file uses.
fn unknown(read: &BTreeMap<String, Check>) -> Vec<&str> {
    let used: Vec<&str> = read.values().flat_map(references).collect();
    let known = |name: &str| rules::DEFAULTS.iter().any(|default| default.name == name) || used.contains(&name);
    read.keys().map(String::as_str).filter(|name| !known(name)).collect()
}

/// Rules that this one refers to.
fn references(check: &Check) -> Vec<&str> {
    match check {
        Check::Rule(name) => vec![name],
        Check::All(checks) | Check::Any(checks) => checks.iter().flat_map(references).collect(),
        Check::Not(check) => references(check),
        _ => Vec::new(),
    }
}

/// A rule that refers to itself could not be judged.
pub fn refuse_circles(rules: &BTreeMap<String, Check>) -> Result<(), PolicyError> {
    // A rule is settled once all that it refers to is: what is left over goes round in circles.
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
    use crate::policy::Policies;

    #[test]
    fn files_that_cannot_be_used_say_why() {
        for (text, expected) in [
            ("- a\n- b", "no map of rule names"),
            ("a: [b]", "no map of rule names"),
            ("a: role:x or", "rule \"a\" of the policy file cannot be read: something is missing"),
            ("a: rule:b\nb: rule:c or role:x\nc: not rule:a", "refers to itself"),
            (
                "admin_or_service_api: rule:placement:usages\nplacement:usages: rule:admin_or_service_api",
                "refers to itself",
            ),
        ] {
            let told = Policies::defaults(true).with_file(text).unwrap_err().to_string();
            assert!(told.contains(expected), "{text}: {told}");
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
}
