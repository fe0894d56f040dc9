use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::Inventory;
use crate::provider::{Aggregate, Held};

const LATER: Timestamp = Timestamp::constant(1000, 0);

fn held(total: u64) -> Held {
    let inventory = Inventory { total, reserved: 0, min_unit: 1, max_unit: 100, step_size: 1, allocation_ratio: 1.0 };
    Held { inventory, used: 0, created_at: Timestamp::UNIX_EPOCH, updated_at: None }
}

fn provider(id: i64, root: i64, parts: u32) -> ProviderState {
    let some = |name: &'static str, bit: u32| (parts >> bit & 1 == 1).then_some(name);
    let sent = |sent: &str| Aggregate { key: Key::new(sent), sent: sent.to_owned() };
    ProviderState {
        id: ProviderId(id),
        uuid: Key::new(&format!("uuid-{id}")),
        name: format!("name-{id}-{parts}"),
        generation: i64::from(parts),
        parent: (id != root).then_some(ProviderId(root)),
        root: ProviderId(root),
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Some(LATER),
        inventories: [some("CUSTOM_GOLD", 0), some("VCPU", 1)]
            .into_iter()
            .flatten()
            .map(|name| (ClassName::new(name), held(8)))
            .collect(),
        traits: [some("CUSTOM_T", 2), some("HW_T", 3)].into_iter().flatten().map(TraitName::new).collect(),
        aggregates: [some("b", 4), some("a", 5)].into_iter().flatten().map(sent).collect(),
    }
}

fn states(model: &Model) -> Vec<ProviderState> {
    model.providers().map(|provider| provider.state()).collect()
}

fn class(name: &str) -> ClassName {
    ClassName::new(name)
}

#[test]
fn a_provider_is_found_as_it_was_put() {
    let mut model = Model::new(&["VCPU"], &[]);
    let (root, child) = (provider(5, 5, 0b11_1111), provider(3, 5, 0b10));
    model.put(&child);
    model.put(&root);
    assert_eq!(states(&model), [child.clone(), root.clone()]);
    let shown = model.provider(&Key::new("uuid-3")).unwrap();
    assert_eq!(shown.state(), child);
    assert_eq!(shown.parent().unwrap().uuid(), &root.uuid);
    assert_eq!(shown.root().name(), root.name);
    assert_eq!(shown.inventory(&class("VCPU")), Some(&held(8)));
    assert_eq!(shown.inventory(&class("CUSTOM_GOLD")), None);
    assert!(model.provider(&Key::new("uuid-4")).is_none());
    model.remove(ProviderId(5));
    assert_eq!(states(&model), [child]);
    assert!(model.by_number(ProviderId(5)).is_none());
}

#[test]
fn a_uuid_leads_to_the_provider_that_has_it_now() {
    let mut model = Model::default();
    let again = ProviderState { id: ProviderId(2), root: ProviderId(2), ..provider(1, 1, 0) };
    model.put(&provider(1, 1, 0));
    model.put(&again);
    model.remove(ProviderId(1));
    assert_eq!(model.provider(&again.uuid).map(|provider| provider.id()), Some(ProviderId(2)));
}

#[test]
fn classes_are_standard_ones_first_then_custom_ones_by_creation() {
    let mut model = Model::new(&["VCPU", "DISK_GB"], &["HW_T"]);
    model.put_class(&class("CUSTOM_A"), 8, LATER);
    model.put_class(&class("CUSTOM_B"), 7, LATER);
    let names: Vec<&str> = model.all_classes().into_iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names, ["VCPU", "DISK_GB", "CUSTOM_B", "CUSTOM_A"]);
    assert!(!model.class(&class("VCPU")).unwrap().is_custom);
    assert_eq!(model.class(&class("CUSTOM_A")).unwrap().modified, Some(LATER));
    model.remove_class(&class("CUSTOM_A"));
    assert_eq!(model.class(&class("CUSTOM_A")), None);
}

#[test]
fn traits_are_ascending_and_know_whether_they_are_used() {
    let mut model = Model::new(&[], &["HW_T"]);
    model.put_trait(&TraitName::new("CUSTOM_T"), LATER);
    model.put(&provider(1, 1, 0b1000));
    let traits: Vec<_> = model.all_traits().into_iter().map(|one| (one.0.as_str(), one.2)).collect();
    assert_eq!(traits, [("CUSTOM_T", false), ("HW_T", true)]);
    model.remove_trait(&TraitName::new("CUSTOM_T"));
    assert_eq!(model.a_trait(&TraitName::new("CUSTOM_T")), None);
}

#[test]
fn a_standard_name_of_a_newer_binary_exists_as_long_as_it_is_used() {
    let mut model = Model::new(&[], &[]);
    model.put(&provider(1, 1, 0b1110));
    assert!(model.a_trait(&TraitName::new("HW_T")).is_some());
    assert!(model.class(&class("VCPU")).is_some());
    assert!(model.a_trait(&TraitName::new("CUSTOM_T")).is_none(), "custom names are added");
    model.remove(ProviderId(1));
    assert!(model.a_trait(&TraitName::new("HW_T")).is_none());
}

#[test]
fn renamed_class_keeps_its_inventories_and_its_place() {
    let mut model = Model::new(&[], &[]);
    model.put_class(&class("CUSTOM_GOLD"), 1, Timestamp::UNIX_EPOCH);
    model.put(&provider(1, 1, 1));
    let before = model.clone();
    model.rename_class(&class("CUSTOM_GOLD"), &class("CUSTOM_SILVER"), LATER);
    let shown = model.by_number(ProviderId(1)).unwrap();
    assert_eq!(shown.inventory(&class("CUSTOM_SILVER")), Some(&held(8)));
    assert!(shown.record.summary().contains("CUSTOM_SILVER"), "{}", shown.record.summary());
    assert_eq!(model.class(&class("CUSTOM_GOLD")), None);
    let known = model.class(&class("CUSTOM_SILVER")).unwrap();
    assert_eq!((known.number, known.modified), (1, Some(LATER)));
    assert_eq!(states(&before), [provider(1, 1, 1)], "a copy does not change");
}

fn indexes(model: &Model) -> BTreeMap<String, BTreeSet<ProviderId>> {
    let mut all: BTreeMap<String, BTreeSet<ProviderId>> = BTreeMap::new();
    let mut hold = |name: String, slots: &[Slot]| {
        let ids: BTreeSet<ProviderId> = slots.iter().map(|slot| model.record(*slot).unwrap().id).collect();
        if !ids.is_empty() {
            all.insert(name, ids);
        }
    };
    for entry in model.names.classes.iter() {
        hold(
            format!("class {}", entry.name),
            model.names.classes.holders(model.names.classes.find(&entry.name).unwrap()),
        );
    }
    for entry in model.names.traits.iter() {
        hold(
            format!("trait {}", entry.name),
            model.names.traits.holders(model.names.traits.find(&entry.name).unwrap()),
        );
    }
    for entry in model.names.aggregates.iter() {
        hold(
            format!("aggregate {}", entry.name),
            model.names.aggregates.holders(model.names.aggregates.find(&entry.name).unwrap()),
        );
    }
    for tree in model.trees.values() {
        let slots: Vec<Slot> = tree.members.iter().map(|member| member.1).collect();
        hold(format!("tree {}", tree.root.0), &slots);
    }
    all
}

proptest! {
    #[test]
    fn a_model_that_was_changed_is_one_that_was_built(
        steps in proptest::collection::vec((0_i64..30, 0_i64..5, 0_u32..64, any::<bool>()), 0..200)
    ) {
        let mut model = Model::default();
        let mut map = BTreeMap::new();
        for (id, root, parts, is_put) in steps {
            if is_put {
                let state = provider(id, root, parts);
                model.put(&state);
                map.insert(id, state);
            } else {
                model.remove(ProviderId(id));
                map.remove(&id);
            }
        }
        let mut built = Model::default();
        for state in map.values() {
            built.put(state);
        }
        prop_assert_eq!(states(&model), map.into_values().collect::<Vec<_>>());
        prop_assert_eq!(states(&model), states(&built));
        prop_assert_eq!(indexes(&model), indexes(&built));
    }
}
