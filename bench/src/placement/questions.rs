//! The five queries for candidates, each with the amounts of one of fifty flavors.

use super::cloud::{Amounts, FAST, OUT_OF_SERVICE, Of, Shape, key};

/// The number of different amounts, so that no answer can be cached for the next query.
pub const FLAVORS: u64 = 50;
/// The limit that Nova uses.
pub const LIMIT: usize = 1000;
const AGGREGATE: u64 = 3;

pub fn flavor(number: u64) -> Amounts {
    let number = number % FLAVORS;
    let cores = 1 << (number % 5);
    let memory = cores * (1024 + 512 * (number / 5 % 5));
    Amounts { cores, memory, disk: if number < FLAVORS / 2 { 10 } else { 20 } }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Plain,
    Traits,
    MemberOf,
    /// Cores and memory from one provider of the tree, a virtual function from another.
    Granular,
    SharedDisk,
}

impl Question {
    pub const ALL: [Self; 5] = [Self::Plain, Self::Traits, Self::MemberOf, Self::Granular, Self::SharedDisk];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Traits => "traits",
            Self::MemberOf => "member_of",
            Self::Granular => "granular",
            Self::SharedDisk => "shared",
        }
    }

    pub fn shape(self) -> Shape {
        match self {
            Self::Plain | Self::Traits | Self::MemberOf => Shape::Flat,
            Self::Granular => Shape::Nested,
            Self::SharedDisk => Shape::Shared,
        }
    }

    /// Path and query for these amounts, with the limit or for all candidates.
    pub fn path(self, amounts: Amounts, limited: bool) -> String {
        let Amounts { cores, memory, disk } = amounts;
        let compute = format!("VCPU:{cores},MEMORY_MB:{memory}");
        let rest = match self {
            Self::Plain | Self::SharedDisk => String::new(),
            Self::Traits => format!("&required={FAST},!{OUT_OF_SERVICE}"),
            Self::MemberOf => format!("&member_of={}", key(Of::Aggregate, AGGREGATE)),
            Self::Granular => format!("&resources1={compute}&resources2=SRIOV_NET_VF:1&group_policy=isolate"),
        };
        let resources =
            if self == Self::Granular { format!("DISK_GB:{disk}") } else { format!("{compute},DISK_GB:{disk}") };
        let limit = if limited { format!("&limit={LIMIT}") } else { String::new() };
        format!("/allocation_candidates?resources={resources}{rest}{limit}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_fifty_flavors() {
        let flavors = (0..FLAVORS).map(flavor);
        let different: BTreeSet<_> = flavors.map(|Amounts { cores, memory, disk }| (cores, memory, disk)).collect();
        assert_eq!(different.len(), 50);
        assert_eq!(flavor(0), flavor(50));
    }

    #[test]
    fn queries_are_worded_as_nova_words_them() {
        let amounts = Amounts { cores: 2, memory: 2048, disk: 10 };
        let path = Question::Granular.path(amounts, true);
        assert_eq!(
            path,
            "/allocation_candidates?resources=DISK_GB:10&resources1=VCPU:2,MEMORY_MB:2048&resources2=SRIOV_NET_VF:1\
             &group_policy=isolate&limit=1000"
        );
        assert!(!Question::Plain.path(amounts, false).contains("limit"));
    }
}
