//! Reads one rule of oslo.policy: `role:`, `rule:`, comparisons, `and`, `or`, `not`, parentheses, `@` and `!`. It decides that
//! `not` binds before `and`, and `and` before `or`.

use thiserror::Error;

use super::check::Check;

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
