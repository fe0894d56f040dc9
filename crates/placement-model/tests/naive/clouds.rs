//! Random clouds, small enough for the naive algorithm and rich enough that every rule matters in some of them.

use std::collections::BTreeMap;

use berth_placement_model::provider::{Aggregate, Held};
use berth_placement_model::{ClassName, Inventory, Key, ProviderId, ProviderState, TraitName};
use jiff::Timestamp;

use super::cloud::Cloud;
use super::random::Random;
use super::values;

pub const CLASSES: [&str; 4] = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_GOLD"];
/// Traits of random clouds; the first makes a provider share.
pub const TRAITS: [&str; 5] =
    ["MISC_SHARES_VIA_AGGREGATE", "HW_NUMA_ROOT", "STORAGE_DISK_SSD", "CUSTOM_FAST", "CUSTOM_RARE"];
pub const AGGREGATES: u64 = 4;

/// The UUID of a provider (kind 1) or an aggregate (kind 2).
pub fn uuid(kind: u64, number: u64) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// How much a provider of a cloud has, and whether it has a parent, in thousandths.
#[derive(Debug, Clone, Copy)]
struct Density {
    classes: u32,
    traits: u32,
    aggregates: u32,
    parents: u32,
}

const SMALL: Density = Density { classes: 600, traits: 400, aggregates: 350, parents: 600 };
const LARGE: Density = Density { classes: 200, traits: 120, aggregates: 50, parents: 300 };

/// A cloud of about ten providers with many inventories, or of eighty with few, where it pays to skip providers.
pub fn cloud(random: &mut Random) -> Cloud {
    let is_large = random.chance(150);
    let (count, density) = if is_large { (60 + random.below(40), LARGE) } else { (2 + random.below(10), SMALL) };
    // Children may be older than their parents, because a provider can be given a parent later.
    let mut ids: Vec<i64> = (10..).take(count).collect();
    for place in (1..count).rev() {
        if random.chance(300) {
            ids.swap(place, random.below(place + 1));
        }
    }
    let mut parents: Vec<Option<usize>> = Vec::new();
    for place in 0..count {
        parents.push((place > 0 && random.chance(density.parents)).then(|| random.below(place)));
    }
    let root = |place: usize| std::iter::successors(Some(place), |place| parents[*place]).last().unwrap_or(place);
    let providers = (0..count).map(|place| {
        let id = ProviderId(ids[place]);
        let parent = parents[place].map(|parent| ProviderId(ids[parent]));
        (id, provider(random, density, (id, parent, ProviderId(ids[root(place)]))))
    });
    Cloud {
        providers: providers.collect(),
        classes: CLASSES.iter().map(ToString::to_string).collect(),
        traits: TRAITS.iter().map(ToString::to_string).collect(),
    }
}

fn provider(
    random: &mut Random,
    density: Density,
    (id, parent, root): (ProviderId, Option<ProviderId>, ProviderId),
) -> ProviderState {
    let number = id.0.unsigned_abs();
    let mut inventories = BTreeMap::new();
    for class in CLASSES {
        if random.chance(density.classes) {
            inventories.insert(ClassName::new(class), held(random));
        }
    }
    let aggregates = (0..AGGREGATES).filter(|_| random.chance(density.aggregates)).map(|one| uuid(2, one));
    let aggregates = aggregates.map(|sent| Aggregate { key: Key::new(&sent), sent }).collect();
    ProviderState {
        id,
        uuid: Key::new(&uuid(1, number)),
        name: format!("provider-{number}"),
        generation: 0,
        parent,
        root,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: None,
        inventories,
        traits: TRAITS.iter().filter(|_| random.chance(density.traits)).map(|name| TraitName::new(name)).collect(),
        aggregates,
    }
}

fn held(random: &mut Random) -> Held {
    let mut pick = |end: usize| u64::try_from(random.below(end)).unwrap_or(0);
    let inventory = Inventory {
        total: 2 + pick(8),
        reserved: pick(8) / 6,
        min_unit: 1 + pick(10) / 9,
        max_unit: [2, 3, 4, 100][random_place(pick(4))],
        step_size: 1 + pick(10) / 9,
        allocation_ratio: [1.0, 1.0, 1.5, 2.0, 0.7][random_place(pick(5))],
    };
    let most = values::capacity(&inventory).max(0).unsigned_abs();
    // Sometimes usage exceeds the inventory, as after a user has shrunk it.
    let used = [0, 0, 0, 0, 1, most / 2, most, most + 1][random_place(pick(8))];
    Held { inventory, used, created_at: Timestamp::UNIX_EPOCH, updated_at: None }
}

fn random_place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
