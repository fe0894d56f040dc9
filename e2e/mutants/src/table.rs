//! The table of docs/testing.md: which tests must notice which mutant. This module parses the table, which exists only
//! there.

use std::fmt;

use crate::Error;

/// The heading of the section with the table.
const HEADING: &str = "## The mutants";

/// A mutant and the tests that must fail with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub mutant: String,
    /// At least one test; each of them must fail.
    pub tests: Vec<Test>,
}

/// A test, written `package binary name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    pub binary: Binary,
    pub name: String,
}

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binary {
    pub package: String,
    /// `lib` for unit tests, otherwise the name of the file in `tests`.
    pub target: String,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.binary, self.name)
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.package, self.target)
    }
}

/// The rows of the table, in its order.
pub fn rows(document: &str) -> Result<Vec<Row>, Error> {
    let part = document.split_once(HEADING).map_or("", |(_, rest)| rest);
    let part = part.split_once("\n## ").map_or(part, |(part, _)| part);
    let lines = part.lines().filter(|line| line.starts_with('|'));
    // The table's head and the line below it.
    lines.skip(2).map(row).collect()
}

fn row(line: &str) -> Result<Row, Error> {
    let wrong = |why| Error::Row { row: line.to_owned(), why };
    let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [name, .., tests] = &cells[..] else { return Err(wrong("a row has several cells")) };
    let quoted = tests.split('`').skip(1).step_by(2);
    let tests = quoted.map(test).collect::<Option<Vec<_>>>().unwrap_or_default();
    if tests.is_empty() {
        return Err(wrong("the last cell has tests, each as `package binary name`"));
    }
    Ok(Row { mutant: name.replace('`', ""), tests })
}

fn test(quoted: &str) -> Option<Test> {
    let words: Vec<_> = quoted.split_whitespace().map(str::to_owned).collect();
    let [package, target, name] = <[String; 3]>::try_from(words).ok()?;
    Some(Test { binary: Binary { package, target }, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
# Testing

| zone ignored | another table | `a b c` |

## The mutants

Words.

| Mutant | What is broken | Tests |
|---|---|---|
| `unit MB` | units | `core lib units::a`, `core lib units::b` |
| zone ignored | zones | `scheduler some_file c` |

## Measuring

| zone ignored | another table | `a b c` |
";

    #[test]
    fn the_table_of_its_part_of_the_document_is_read() {
        let rows = rows(DOCUMENT).unwrap();
        let read: Vec<_> = rows
            .iter()
            .map(|row| (row.mutant.as_str(), row.tests.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")))
            .collect();
        let expected = [
            ("unit MB", "core lib units::a + core lib units::b".to_owned()),
            ("zone ignored", "scheduler some_file c".to_owned()),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_row_that_cannot_be_tried_is_an_error() {
        for (good, bad) in
            [("`core lib units::a`, `core lib units::b`", "later"), ("`scheduler some_file c`", "`scheduler c`")]
        {
            assert!(DOCUMENT.contains(good));
            assert!(rows(&DOCUMENT.replace(good, bad)).is_err(), "{bad}");
        }
    }
}
