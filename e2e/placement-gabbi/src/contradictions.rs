//! Tests of the suite that contradict a decision of ours, as `contradictions.txt` lists them.

use std::collections::BTreeMap;

use crate::Error;
use crate::description::Description;

const LISTED: &str = include_str!("../contradictions.txt");

/// Each test by file and name, with the reason why it must fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contradictions(BTreeMap<(String, String), String>);

impl Contradictions {
    /// The listed tests, all of which are in the suite.
    pub fn listed(suite: &Description) -> Result<Self, Error> {
        let listed = Self::parse(LISTED)?;
        let unknown = listed.0.keys().find(|(file, test)| !has(suite, file, test));
        unknown.map_or(Ok(()), |(file, test)| {
            let problem = "the suite has no such test; remove the line";
            Err(Error::Contradiction { line: format!("{file} | {test}"), problem })
        })?;
        Ok(listed)
    }

    /// Why a test must fail, if it must.
    pub fn reason(&self, file: &str, test: &str) -> Option<&str> {
        self.0.get(&(file.to_owned(), test.to_owned())).map(String::as_str)
    }

    fn parse(lines: &str) -> Result<Self, Error> {
        let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut listed = BTreeMap::new();
        for line in lines {
            let failed = |problem| Error::Contradiction { line: line.to_owned(), problem };
            let parts: Vec<&str> = line.splitn(3, " | ").map(str::trim).collect();
            let [file, test, reason] = parts[..] else {
                return Err(failed("write `file | test | reason`"));
            };
            if listed.insert((file.to_owned(), test.to_owned()), reason.to_owned()).is_some() {
                return Err(failed("it is listed twice; remove one line"));
            }
        }
        Ok(Self(listed))
    }
}

fn has(suite: &Description, file: &str, test: &str) -> bool {
    suite.files.iter().any(|known| known.name == file && known.tests.iter().any(|name| name == test))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::description::File;

    pub(crate) fn listed(text: &str) -> Contradictions {
        Contradictions::parse(text).unwrap()
    }

    #[test]
    fn a_line_is_a_file_a_test_and_a_reason() {
        let listed = listed("# why\n\nbasic-http | 200 at home | home is elsewhere | far\n");
        assert_eq!(listed.reason("basic-http", "200 at home"), Some("home is elsewhere | far"));
        assert_eq!(listed.reason("basic-http", "another"), None);
    }

    #[test]
    fn what_cannot_be_read_and_what_is_listed_twice_is_refused() {
        for (text, hint) in [("basic-http | 200 at home", "write `file"), ("a | b | c\na | b | d", "twice")] {
            let text = Contradictions::parse(text).unwrap_err().to_string();
            assert!(text.contains(hint), "{text}");
        }
    }

    #[test]
    fn a_test_that_the_suite_does_not_have_is_no_test() {
        let file = File { name: "one".into(), fixture: String::new(), tests: vec!["first".into()] };
        let suite = Description { files: vec![file], rules: Vec::new() };
        assert!(has(&suite, "one", "first"));
        assert!(!has(&suite, "one", "second") && !has(&suite, "two", "first"));
    }
}
