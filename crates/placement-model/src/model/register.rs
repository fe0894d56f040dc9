//! Numbers for names: classes, traits and aggregates are small numbers inside the model. A name that is neither held
//! nor created is forgotten.

use std::sync::Arc;

use super::column::Column;
use super::slot::Slot;
use super::sorted::Sorted;

/// The number of a class, trait or aggregate.
pub type Number = u32;

/// Names with their numbers.
#[derive(Debug, Clone)]
pub struct Register<N, M> {
    numbers: Sorted<N, Number>,
    entries: Column<Entry<N, M>>,
    free: Arc<Vec<Number>>,
}

#[derive(Debug, Clone)]
pub struct Entry<N, M> {
    pub name: N,
    /// The data of the name; `None` if it was only seen at a provider.
    pub data: Option<M>,
    holders: Arc<Vec<Slot>>,
}

impl<N, M> Default for Register<N, M> {
    fn default() -> Self {
        Self { numbers: Sorted::default(), entries: Column::default(), free: Arc::default() }
    }
}

impl<N: Ord + Clone, M: Clone> Register<N, M> {
    /// The number of a name, if there is one.
    pub fn find(&self, name: &N) -> Option<Number> {
        self.numbers.get(name).copied()
    }

    /// The entry of a number that a provider holds or a name leads to.
    pub fn entry(&self, number: Number) -> Option<&Entry<N, M>> {
        self.entries.get(place(number))
    }

    pub fn holders(&self, number: Number) -> &[Slot] {
        self.entry(number).map_or(&[], |entry| &entry.holders)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry<N, M>> {
        self.numbers.values().filter_map(|number| self.entry(*number))
    }

    /// The number of a name, old or new.
    pub fn number(&mut self, name: &N) -> Number {
        if let Some(number) = self.find(name) {
            return number;
        }
        let entry = Entry { name: name.clone(), data: None, holders: Arc::default() };
        let number = Arc::make_mut(&mut self.free).pop();
        let number = number.unwrap_or_else(|| Number::try_from(self.entries.add()).unwrap_or(Number::MAX));
        self.entries.set(place(number), Some(entry));
        self.numbers.insert(name.clone(), number);
        number
    }

    /// Makes a name known, or unknown with `None`.
    pub fn set_data(&mut self, name: &N, data: Option<M>) {
        let number = self.number(name);
        if let Some(entry) = self.entries.get_mut(place(number)) {
            entry.data = data;
        }
        self.forget_unused(number);
    }

    /// Gives the number of `from` to the name `to`, which must be free.
    pub fn rename(&mut self, from: &N, to: &N) -> Option<Number> {
        if self.find(to).is_some() {
            return None;
        }
        let number = self.numbers.remove(from)?;
        self.entries.get_mut(place(number))?.name = to.clone();
        self.numbers.insert(to.clone(), number);
        Some(number)
    }

    /// Changes the names that a provider holds; both lists are ascending.
    pub fn hold(&mut self, slot: Slot, before: &[Number], after: &[Number]) {
        for number in after.iter().filter(|number| before.binary_search(number).is_err()) {
            self.change(*number, |holders| {
                if let Err(place) = holders.binary_search(&slot) {
                    holders.insert(place, slot);
                }
            });
        }
        for number in before.iter().filter(|number| after.binary_search(number).is_err()) {
            self.change(*number, |holders| {
                if let Ok(place) = holders.binary_search(&slot) {
                    holders.remove(place);
                }
            });
            self.forget_unused(*number);
        }
    }

    fn change(&mut self, number: Number, change: impl FnOnce(&mut Vec<Slot>)) {
        if let Some(entry) = self.entries.get_mut(place(number)) {
            change(Arc::make_mut(&mut entry.holders));
        }
    }

    fn forget_unused(&mut self, number: Number) {
        let unused = self.entry(number).filter(|entry| entry.data.is_none() && entry.holders.is_empty());
        if let Some(name) = unused.map(|entry| entry.name.clone()) {
            self.numbers.remove(&name);
            Arc::make_mut(&mut self.free).push(number);
        }
    }
}

impl<N, M> Entry<N, M> {
    pub fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }
}

fn place(number: Number) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
