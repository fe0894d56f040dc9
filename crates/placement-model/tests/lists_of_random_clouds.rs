//! The list of providers against a scan that checks each provider with each filter: random clouds and random filters,
//! including unknown names.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[allow(dead_code, reason = "the candidates of the clouds have a test of their own")]
mod naive;

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::question::{Group, ProvidersQuestion};
use berth_placement_model::{ClassName, Key, Model, ProviderState, TraitName};

use naive::clouds::{AGGREGATES, CLASSES, TRAITS, uuid};
use naive::random::Random;
use naive::{Cloud, clouds};

const CLOUDS: u64 = 600;
const LISTS: usize = 20;
const UNKNOWN: &str = "CUSTOM_UNKNOWN";

fn some_traits(random: &mut Random, likely: u32) -> BTreeSet<TraitName> {
    let mut some: BTreeSet<TraitName> =
        TRAITS.iter().filter(|_| random.chance(likely)).map(|name| TraitName::new(name)).collect();
    if random.chance(20) {
        some.insert(TraitName::new(UNKNOWN));
    }
    some
}

/// Aggregates, the last of which has no members.
fn some_aggregates(random: &mut Random, likely: u32) -> BTreeSet<Key> {
    (0..=AGGREGATES).filter(|_| random.chance(likely)).map(|number| Key::new(&uuid(2, number))).collect()
}

fn resources(random: &mut Random) -> Vec<(ClassName, Option<u64>)> {
    let mut some: Vec<&str> = CLASSES.into_iter().filter(|_| random.chance(150)).collect();
    if random.chance(20) {
        some.push(UNKNOWN);
    }
    let amount = |random: &mut Random| (!random.chance(20)).then(|| 1 + u64::try_from(random.below(5)).unwrap());
    some.into_iter().map(|class| (ClassName::new(class), amount(random))).collect()
}

fn question(random: &mut Random) -> ProvidersQuestion {
    let one_of = |random: &mut Random| u64::try_from(10 + random.below(14)).unwrap();
    let (required, members) = (random.below(3), random.below(3));
    let group = Group {
        resources: resources(random),
        required: (0..required).map(|_| some_traits(random, 300)).filter(|set| !set.is_empty()).collect(),
        forbidden: if random.chance(300) { some_traits(random, 150) } else { BTreeSet::new() },
        member_of: (0..members).map(|_| some_aggregates(random, 500)).filter(|set| !set.is_empty()).collect(),
        forbidden_aggregates: if random.chance(300) { some_aggregates(random, 200) } else { BTreeSet::new() },
        in_tree: random.chance(200).then(|| Key::new(&uuid(1, one_of(random)))),
    };
    ProvidersQuestion {
        name: random.chance(100).then(|| format!("provider-{}", one_of(random))),
        uuid: random.chance(100).then(|| Key::new(&uuid(1, one_of(random)))),
        group,
    }
}

fn fits(provider: &ProviderState, class: &ClassName, amount: Option<u64>) -> bool {
    let (Some(held), Some(amount)) = (provider.inventories.get(class), amount) else { return false };
    let inventory = &held.inventory;
    let capacity = u128::from(naive::capacity(inventory).max(0).unsigned_abs());
    u128::from(held.used) + u128::from(amount) <= capacity
        && (inventory.min_unit..=inventory.max_unit).contains(&amount)
        && amount.is_multiple_of(inventory.step_size)
}

fn has_all(provider: &ProviderState, sets: &[BTreeSet<TraitName>]) -> bool {
    sets.iter().all(|any| !any.is_disjoint(&provider.traits))
}

fn is_in_all(provider: &ProviderState, sets: &[BTreeSet<Key>]) -> bool {
    let own: BTreeSet<&Key> = provider.aggregates.iter().map(|aggregate| &aggregate.key).collect();
    sets.iter().all(|any| any.iter().any(|key| own.contains(key)))
}

/// The traits that do not exist, as an error lists them.
fn check_traits<'a>(names: impl IntoIterator<Item = &'a TraitName>) -> Result<(), String> {
    let unknown: BTreeSet<&str> = names.into_iter().map(TraitName::as_str).filter(|name| *name == UNKNOWN).collect();
    let unknown: Vec<&str> = unknown.into_iter().collect();
    let text = || format!("Invalid trait(s) in \"required\" parameter: No such trait(s): {}.", unknown.join(", "));
    if unknown.is_empty() { Ok(()) } else { Err(text()) }
}

/// Applies the filters in the order in which Placement reports errors in them.
fn list(cloud: &Cloud, question: &ProvidersQuestion) -> Result<Vec<String>, String> {
    let (group, all) = (&question.group, || cloud.providers.values());
    let of = |key: &Key| all().find(|provider| provider.uuid == *key);
    let root = match &group.in_tree {
        Some(key) => match of(key) {
            Some(member) => Some(member.root),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    check_traits(group.required.iter().flatten())?;
    if !group.required.is_empty() && !all().any(|provider| has_all(provider, &group.required)) {
        return Ok(Vec::new());
    }
    check_traits(&group.forbidden)?;
    if !group.member_of.is_empty() && !all().any(|provider| is_in_all(provider, &group.member_of)) {
        return Ok(Vec::new());
    }
    if group.resources.iter().any(|(class, _)| class.as_str() == UNKNOWN) {
        return Err(format!("Invalid resource class in resources parameter: No such resource class {UNKNOWN}."));
    }
    let holds = |provider: &&ProviderState| {
        root.is_none_or(|root| provider.root == root)
            && question.uuid.as_ref().is_none_or(|uuid| provider.uuid == *uuid)
            && question.name.as_ref().is_none_or(|name| provider.name == *name)
            && has_all(provider, &group.required)
            && group.forbidden.is_disjoint(&provider.traits)
            && is_in_all(provider, &group.member_of)
            && !provider.aggregates.iter().any(|aggregate| group.forbidden_aggregates.contains(&aggregate.key))
            && group.resources.iter().all(|(class, amount)| fits(provider, class, *amount))
    };
    Ok(all().filter(holds).map(|provider| provider.uuid.to_string()).collect())
}

fn model(cloud: &Cloud) -> Model {
    let mut model = Model::new(&CLASSES, &TRAITS);
    for provider in cloud.providers.values() {
        model.put(provider);
    }
    model
}

#[test]
fn lists_are_those_of_the_scan() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..CLOUDS {
        let mut random = Random::new(seed);
        let cloud = clouds::cloud(&mut random);
        let model = model(&cloud);
        for _ in 0..LISTS {
            let question = question(&mut random);
            let ours = model.list(&question).map_err(|refusal| refusal.text);
            let ours = ours.map(|found| found.iter().map(|one| one.state().uuid.to_string()).collect::<Vec<_>>());
            assert_eq!(ours, list(&cloud, &question), "seed {seed}: {question:?}");
            let mut count = |what, times| *seen.entry(what).or_default() += usize::from(times);
            let found = ours.as_ref().is_ok_and(|found| !found.is_empty());
            count("refused", ours.is_err());
            count("found", found);
            count("several", ours.as_ref().is_ok_and(|found| found.len() > 2));
            count("found by traits", found && !question.group.required.is_empty());
            count("found without traits", found && !question.group.forbidden.is_empty());
            count("found by aggregate", found && !question.group.member_of.is_empty());
            count("found by two aggregates", found && question.group.member_of.len() > 1);
            count("found without aggregates", found && !question.group.forbidden_aggregates.is_empty());
            count("found in a tree", found && question.group.in_tree.is_some());
            count("found with capacity", found && !question.group.resources.is_empty());
            count("found by name", found && question.name.is_some());
            count("found by UUID", found && question.uuid.is_some());
        }
    }
    assert!(seen.values().all(|times| *times >= 20), "hardly ever seen: {seen:?}");
}

#[test]
fn lists_follow_every_change_of_a_provider() {
    for seed in 0..CLOUDS / 4 {
        let mut random = Random::new(seed);
        let (before, after) = (clouds::cloud(&mut random), clouds::cloud(&mut random));
        let mut model = model(&before);
        let old = model.clone();
        for provider in after.providers.values() {
            model.put(provider);
        }
        for id in before.providers.keys().filter(|id| !after.providers.contains_key(id)) {
            model.remove(*id);
        }
        for _ in 0..LISTS {
            let question = question(&mut random);
            for (model, cloud) in [(&model, &after), (&old, &before)] {
                let ours = model.list(&question).map_err(|refusal| refusal.text);
                let ours = ours.map(|found| found.iter().map(|one| one.state().uuid.to_string()).collect::<Vec<_>>());
                assert_eq!(ours, list(cloud, &question), "seed {seed}: {question:?}");
            }
        }
    }
}
