//! Evaluates the CEL rules of our CRDs without copying objects. It supports the part of CEL that our rules use and
//! refuses the rest when a kind is installed.
//!
//! The crate `kube-cel` evaluates all of CEL, but copies each object into values of its own for every rule; that costs
//! more than a whole simulated call may.

mod evaluate;
mod parse;

use std::collections::BTreeSet;

pub(crate) use evaluate::{Scope, Typed, time};
use parse::Expression;

/// A parsed expression, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Program {
    expression: Expression,
    /// Whether it reads the object before the write.
    pub(crate) uses_old: bool,
}

impl Program {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let expression = parse::parse(text)?;
        let mut free = BTreeSet::new();
        evaluate::free_names(&expression, &mut free);
        let uses_old = free.remove("oldSelf");
        free.retain(|name| name != "self" && !evaluate::TYPES.contains(&name.as_str()));
        match free.first() {
            None => Ok(Self { expression, uses_old }),
            Some(name) => Err(format!("{name} is not known here")),
        }
    }

    /// Whether the rule holds; an error is one of the evaluation.
    pub(crate) fn holds(&self, scope: Scope<'_>) -> Result<bool, String> {
        evaluate::truth(&self.expression, scope)
    }

    pub(crate) fn text(&self, scope: Scope<'_>) -> Result<String, String> {
        evaluate::text(&self.expression, scope)
    }
}

#[cfg(test)]
mod tests;
