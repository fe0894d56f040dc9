//! The arguments that set how much is measured.

use clap::Args;

use crate::placement::Store;

/// How much is measured.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Size {
    /// Smaller, and fewer rounds: whether everything works, in minutes.
    #[arg(long)]
    pub quick: bool,
    /// How often operator and floor take their turns.
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Candidates only in clouds of so many hosts.
    #[arg(long, value_name = "N")]
    hosts: Option<u64>,
    /// Candidates and claims only with this database.
    #[arg(long, value_name = "DATABASE")]
    store: Option<Store>,
}

impl Size {
    /// The full value, or the one of the quick mode.
    pub fn pick<T>(self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// These sizes, or only the one that the user asked for.
    pub fn hosts(self, all: &[u64]) -> impl Iterator<Item = u64> {
        all.iter().copied().filter(move |hosts| self.hosts.is_none_or(|only| only == *hosts))
    }

    pub fn stores(self) -> impl Iterator<Item = Store> {
        Store::ALL.into_iter().filter(move |store| self.store.is_none_or(|only| only == *store))
    }

    /// Whether the size is that of the documented figures.
    pub fn is_full(self) -> bool {
        !self.quick
    }

    /// The number of rounds, unless the user asked for another one.
    pub fn rounds(self, full: usize, quick: usize) -> usize {
        self.rounds.unwrap_or_else(|| self.pick(full, quick))
    }
}
