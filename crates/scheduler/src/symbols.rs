//! Names that are compared for every host of every request, as numbers. A symbol is never given back: zones and
//! traits of a cloud are few and stay.

use std::collections::BTreeMap;

/// A name as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol(u32);

/// The names that have been seen on hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    known: BTreeMap<String, Symbol>,
}

impl Symbols {
    /// The symbol of a name on a host.
    pub(crate) fn learn(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.get(name) {
            return symbol;
        }
        let symbol = Symbol(u32::try_from(self.known.len()).unwrap_or(u32::MAX));
        self.known.insert(name.to_owned(), symbol);
        symbol
    }

    /// The symbol of a name in a request; `None` when no host ever had it.
    pub(crate) fn get(&self, name: &str) -> Option<Symbol> {
        self.known.get(name).copied()
    }
}

/// A set of symbols as bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolSet(Vec<u64>);

impl SymbolSet {
    pub(crate) fn insert(&mut self, Symbol(number): Symbol) {
        let (word, bit) = (number as usize / 64, number % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub(crate) fn has(&self, Symbol(number): Symbol) -> bool {
        let (word, bit) = (number as usize / 64, number % 64);
        self.0.get(word).is_some_and(|bits| bits & (1 << bit) != 0)
    }
}
