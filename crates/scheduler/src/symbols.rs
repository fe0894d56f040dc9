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

/// A set of symbols as bits. The first words stand in place, so that most questions follow no pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolSet {
    first: [u64; WORDS],
    rest: Vec<u64>,
}

const WORDS: usize = 4;

impl SymbolSet {
    pub(crate) fn insert(&mut self, Symbol(number): Symbol) {
        let (word, bit) = (number as usize / 64, number % 64);
        let Some(beyond) = word.checked_sub(WORDS) else {
            self.first[word] |= 1 << bit;
            return;
        };
        if self.rest.len() <= beyond {
            self.rest.resize(beyond + 1, 0);
        }
        self.rest[beyond] |= 1 << bit;
    }

    pub(crate) fn has(&self, Symbol(number): Symbol) -> bool {
        let (word, bit) = (number as usize / 64, number % 64);
        let bits = match word.checked_sub(WORDS) {
            None => self.first[word],
            Some(beyond) => self.rest.get(beyond).copied().unwrap_or(0),
        };
        bits & (1 << bit) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_any_number_of_symbols() {
        let mut symbols = Symbols::default();
        let mut odd = SymbolSet::default();
        for number in 0..1000 {
            let symbol = symbols.learn(&number.to_string());
            if number % 2 == 1 {
                odd.insert(symbol);
            }
        }
        for number in 0..1000 {
            assert_eq!(odd.has(symbols.get(&number.to_string()).unwrap()), number % 2 == 1, "{number}");
        }
        assert_eq!(symbols.get("never seen"), None);
        assert!(!SymbolSet::default().has(symbols.get("999").unwrap()));
    }
}
