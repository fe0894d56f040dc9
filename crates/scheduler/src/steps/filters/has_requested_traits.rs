//! Keeps hosts that have the required traits and none of the forbidden ones (document 60 section 5.6).

use crate::{
    FilterName,
    fleet::Seen,
    run::Run,
    steps::{Check, Filter},
    symbols::Symbol,
};

#[derive(Debug)]
pub(super) struct HasRequestedTraits;

impl Filter for HasRequestedTraits {
    fn name(&self) -> FilterName {
        super::name("filter_has_requested_traits", "traits")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let mut wanted = Wanted::default();
        for (key, value) in &run.request.flavor.extra_specs {
            let Some(name) = key.strip_prefix("trait:") else { continue };
            wanted.add(value, run.fleet.symbol(name));
        }
        if wanted.is_nothing() {
            return Ok(Check::Skip);
        }
        Ok(Check::keep(move |candidate| candidate.seen.is_some_and(|seen| wanted.provided_by(&seen))))
    }
}

#[derive(Default)]
struct Wanted {
    required: Vec<Symbol>,
    forbidden: Vec<Symbol>,
    /// A required trait that no host has.
    impossible: bool,
    /// A forbidden trait that no host has: the filter still removes hosts without a Hypervisor.
    idle: bool,
}

impl Wanted {
    fn add(&mut self, value: &str, symbol: Option<Symbol>) {
        match (value, symbol) {
            ("required", Some(symbol)) => self.required.push(symbol),
            ("required", None) => self.impossible = true,
            ("forbidden", Some(symbol)) => self.forbidden.push(symbol),
            ("forbidden", None) => self.idle = true,
            _ => {}
        }
    }

    fn is_nothing(&self) -> bool {
        self.required.is_empty() && self.forbidden.is_empty() && !self.impossible && !self.idle
    }

    fn provided_by(&self, seen: &Seen<'_>) -> bool {
        let traits = &seen.row.traits;
        !self.impossible
            && self.required.iter().all(|symbol| traits.has(*symbol))
            && !self.forbidden.iter().any(|symbol| traits.has(*symbol))
    }
}
