//! Formats an error and its causes in one line, each text once, although many libraries repeat the text of their
//! source.

use std::error::Error;
use std::{io, iter};

/// The texts of `error` and of its sources, joined with `: `. A source whose text is already part of the line is left
/// out.
pub fn chain(error: &dyn Error) -> String {
    let mut line = one_line(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = one_line(&error.to_string());
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// Whether `error`, or one of its sources, is an I/O error of this kind.
pub fn is_caused_by(error: &(dyn Error + 'static), kind: io::ErrorKind) -> bool {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    causes.any(|error| error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == kind))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("cannot list slots")]
        Outer(#[source] Box<Failure>),
        #[error("request failed: {0}")]
        Repeats(#[source] Box<Failure>),
        #[error("connection\nrefused")]
        Inner,
    }

    #[test]
    fn reports_each_thing_once_on_one_line() {
        let error = Failure::Outer(Box::new(Failure::Repeats(Box::new(Failure::Inner))));
        assert_eq!(chain(&error), "cannot list slots: request failed: connection refused");
    }
}
