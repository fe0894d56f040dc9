//! Compares the model with the database, and the tables of the database with each other, in one snapshot.

use std::collections::BTreeMap;

use berth_placement_model::{Model, ProviderState};

use super::contents::{Contents, CustomNames};

pub(super) const MOST: usize = 100;

/// Each finds rows that must not be, and has one text for each. They are the same for both databases.
pub(super) const QUERIES: [&str; 6] = [
    "SELECT 'provider ' || p.uuid || ': ' || i.class || ' is used ' || i.used || ', but its allocations are ' || s.used \
     FROM inventories i JOIN providers p ON p.id = i.provider JOIN ( \
       SELECT h.provider, h.class, CAST(coalesce(sum(a.used), 0) AS bigint) AS used FROM inventories h \
       LEFT JOIN allocations a ON a.provider = h.provider AND a.class = h.class GROUP BY h.provider, h.class) s \
     ON s.provider = i.provider AND s.class = i.class WHERE s.used <> i.used LIMIT 100",
    "SELECT 'consumer ' || a.consumer || ' has ' || a.class || ' of provider number ' || a.provider || ', which has no such inventory' \
     FROM allocations a LEFT JOIN inventories i ON i.provider = a.provider AND i.class = a.class \
     WHERE i.provider IS NULL LIMIT 100",
    "SELECT 'consumer ' || c.uuid || ' has no allocations' FROM consumers c \
     WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.consumer = c.uuid) LIMIT 100",
    "SELECT 'consumer ' || a.consumer || ' has allocations and does not exist' FROM allocations a \
     WHERE NOT EXISTS (SELECT 1 FROM consumers c WHERE c.uuid = a.consumer) LIMIT 100",
    "SELECT 'provider ' || p.uuid || ' has another root than its parent' FROM providers p \
     LEFT JOIN providers o ON o.id = p.parent WHERE p.root <> coalesce(o.root, p.id) LIMIT 100",
    "SELECT 'inventory of ' || i.class || ' of provider number ' || i.provider || ', which does not exist' \
     FROM inventories i WHERE NOT EXISTS (SELECT 1 FROM providers p WHERE p.id = i.provider) LIMIT 100",
];

/// The differences between the model and the database.
pub(super) fn differences(model: &Model, contents: &Contents) -> Vec<String> {
    let mut found = Vec::new();
    let known: BTreeMap<_, _> = contents.providers.iter().map(|state| (state.id, state)).collect();
    for state in &contents.providers {
        match model.by_number(state.id).map(|provider| provider.state()) {
            None => found.push(format!("provider {} is not in the model", state.uuid)),
            Some(held) if held != *state => found.push(format!("provider {}: {}", state.uuid, differs(&held, state))),
            Some(_) => {}
        }
    }
    let more = model.providers().filter(|provider| !known.contains_key(&provider.id()));
    found.extend(more.map(|provider| format!("provider {} is not in the database", provider.uuid())));
    found.extend(names_differ(model, &contents.names));
    found.truncate(MOST);
    found
}

fn differs(held: &ProviderState, state: &ProviderState) -> String {
    let what = if held.generation == state.generation { "the same generation" } else { "another generation" };
    let where_ = if held.inventories != state.inventories {
        "other inventories"
    } else if held.traits != state.traits {
        "other traits"
    } else if held.aggregates != state.aggregates {
        "other aggregates"
    } else {
        "another name, place or time"
    };
    format!("the model has {where_} and {what} ({} and {})", held.generation, state.generation)
}

fn names_differ(model: &Model, names: &CustomNames) -> Vec<String> {
    let classes = model.all_classes().into_iter().filter(|(_, known)| known.is_custom).map(|(name, _)| name);
    let traits = model.all_traits().into_iter().filter(|(_, known, _)| known.is_custom).map(|(name, ..)| name);
    let mut found = Vec::new();
    if !classes.eq(names.classes.iter().map(|class| &class.name)) {
        found.push("the model has other custom classes".to_owned());
    }
    if !traits.eq(names.traits.keys()) {
        found.push("the model has other custom traits".to_owned());
    }
    found
}
