//! A second split of free capacity, to compare the first with: as plain as possible, with a walk through all hosts for each slot.

use std::collections::{BTreeMap, BTreeSet};

/// Memory and cores.
pub type PlainSize = (u64, u64);

/// A group with the size of its slots and the names of its hosts.
#[derive(Clone, Debug)]
pub struct PlainGroup {
    pub name: String,
    pub need: PlainSize,
    pub hosts: BTreeSet<String>,
}

/// The slots of each group, and what is left on each host. A group that needs nothing takes nothing.
pub fn split_plainly(
    groups: &[PlainGroup],
    free: &BTreeMap<String, PlainSize>,
) -> (BTreeMap<String, u64>, BTreeMap<String, PlainSize>) {
    let mut left = free.clone();
    let mut slots: BTreeMap<String, u64> = groups.iter().map(|group| (group.name.clone(), 0)).collect();
    loop {
        let mut order: Vec<&PlainGroup> = groups.iter().collect();
        order.sort_by(|a, b| a.name.cmp(&b.name));
        order.sort_by_key(|group| std::cmp::Reverse(group.need.1));
        order.sort_by_key(|group| std::cmp::Reverse(group.need.0));
        order.sort_by_key(|group| usable(group, &left).len());
        let mut is_anything_taken = false;
        for group in order {
            let key = |host: &String| {
                let (memory, cores) = left[host];
                (memory.checked_rem(group.need.0).unwrap_or(0), memory, cores, host.clone())
            };
            let Some(host) = usable(group, &left).into_iter().min_by_key(key) else { continue };
            *slots.entry(group.name.clone()).or_default() += 1;
            left.entry(host).and_modify(|left| *left = (left.0 - group.need.0, left.1 - group.need.1));
            is_anything_taken = true;
        }
        if !is_anything_taken {
            return (slots, left);
        }
    }
}

fn usable(group: &PlainGroup, left: &BTreeMap<String, PlainSize>) -> Vec<String> {
    let fits = |host: &&String| {
        left.get(*host).is_some_and(|left| group.need != (0, 0) && group.need.0 <= left.0 && group.need.1 <= left.1)
    };
    group.hosts.iter().filter(fits).cloned().collect()
}
