//! Clouds in a short notation, and short forms of answers about them.
#![allow(dead_code, reason = "not every test needs everything")]

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::provider::{Aggregate, Held};
use berth_placement_model::question::GenerationOptions;
use berth_placement_model::{
    ClassName, Inventory, Key, Model, ProviderId, ProviderState, Refusal, TraitName, Version, parse,
};
use jiff::Timestamp;
use serde_json::Value;

pub const CLASSES: [&str; 6] = ["VCPU", "MEMORY_MB", "DISK_GB", "PCI_DEVICE", "SRIOV_NET_VF", "VGPU"];
pub const TRAITS: [&str; 6] = [
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "CUSTOM_FAST",
    "CUSTOM_SSD",
    "HW_NUMA_ROOT",
    "MISC_SHARES_VIA_AGGREGATE",
    "STORAGE_DISK_SSD",
];
pub const SHARES: &str = "MISC_SHARES_VIA_AGGREGATE";
pub const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
pub const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

pub fn held(total: u64) -> Held {
    let inventory = Inventory {
        total,
        reserved: 0,
        min_unit: 1,
        max_unit: Inventory::LARGEST,
        step_size: 1,
        allocation_ratio: 1.0,
    };
    Held { inventory, used: 0, created_at: Timestamp::UNIX_EPOCH, updated_at: None }
}

/// Providers by name; the UUID is derived from the name.
#[derive(Default)]
pub struct Cloud {
    pub model: Option<Model>,
    names: BTreeMap<String, ProviderState>,
}

pub fn uuid(name: &str) -> String {
    let digits: Vec<String> = name.bytes().map(|one| format!("{one:02x}")).collect();
    format!("00000000-0000-4000-8000-{:0>12}", digits.concat())
}

impl Cloud {
    pub fn add(
        &mut self,
        name: &str,
        parent: Option<&str>,
        inventories: &[(&str, Held)],
        traits: &[&str],
        aggregates: &[&str],
    ) {
        let id = ProviderId(i64::try_from(self.names.len()).unwrap() + 1);
        let parent = parent.map(|parent| &self.names[parent]);
        let aggregate = |sent: &&str| Aggregate { key: Key::new(sent), sent: (*sent).to_owned() };
        let state = ProviderState {
            id,
            uuid: Key::new(&uuid(name)),
            name: name.to_owned(),
            generation: 0,
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(id, |parent| parent.root),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: None,
            inventories: inventories.iter().map(|(class, held)| (ClassName::new(class), *held)).collect(),
            traits: traits.iter().map(|name| TraitName::new(name)).collect(),
            aggregates: aggregates.iter().map(aggregate).collect(),
        };
        self.model.get_or_insert_with(|| Model::new(&CLASSES, &TRAITS)).put(&state);
        self.names.insert(name.to_owned(), state);
    }

    pub fn model(&self) -> &Model {
        self.model.as_ref().unwrap()
    }

    pub fn state(&self, name: &str) -> ProviderState {
        self.names[name].clone()
    }

    fn name(&self, key: &str) -> String {
        self.names.values().find(|provider| provider.uuid.as_str() == key).unwrap().name.clone()
    }

    /// The query with names in `<>` replaced by UUIDs.
    pub fn pairs(&self, query: &str) -> Vec<(String, String)> {
        let mut query = query.to_owned();
        for name in self.names.keys() {
            query = query.replace(&format!("<{name}>"), &uuid(name));
        }
        let parts = query.split('&').filter(|part| !part.is_empty());
        parts
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(key, value)| (key.into(), value.into()))
            .collect()
    }

    pub fn body(&self, query: &str, minor: u8) -> Result<Value, Refusal> {
        self.body_with(query, minor, &GenerationOptions::default())
    }

    pub fn body_with(&self, query: &str, minor: u8, options: &GenerationOptions) -> Result<Value, Refusal> {
        let question = parse::candidates(&self.pairs(query), Version::new(minor).unwrap())?;
        match self.model().candidates(&question, options) {
            Ok(candidates) => Ok(serde_json::from_slice(&candidates.body()).unwrap()),
            Err(berth_placement_model::NoCandidates::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("{other}"),
        }
    }

    /// Requests in the order of the answer: `cn1 MEMORY_MB 2048 DISK_GB 20, n1a VCPU 4`.
    pub fn requests(&self, query: &str, minor: u8) -> Vec<String> {
        let body = self.body(query, minor).unwrap();
        body["allocation_requests"].as_array().unwrap().iter().map(|request| self.request(request)).collect()
    }

    fn request(&self, request: &Value) -> String {
        let providers = request["allocations"].as_object().unwrap().iter();
        let mut shown: Vec<String> = providers
            .map(|(key, given)| {
                let given = given["resources"].as_object().unwrap().iter();
                let given: Vec<String> = given.map(|(class, amount)| format!(" {class} {amount}")).collect();
                format!("{}{}", self.name(key), given.concat())
            })
            .collect();
        shown.sort();
        shown.join(", ")
    }

    /// The mapping of each request's suffixes: `1=n1a 2=n1b`.
    pub fn mappings(&self, query: &str, minor: u8) -> BTreeSet<String> {
        let body = self.body(query, minor).unwrap();
        let one = |request: &Value| {
            let groups = request["mappings"].as_object().unwrap().iter();
            let shown = groups.map(|(suffix, keys)| {
                let keys = keys.as_array().unwrap().iter().map(|key| self.name(key.as_str().unwrap()));
                format!("{suffix}={}", keys.collect::<Vec<_>>().join("+"))
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        body["allocation_requests"].as_array().unwrap().iter().map(one).collect()
    }

    /// The names of the providers with summaries, sorted.
    pub fn summaries(&self, query: &str, minor: u8) -> Vec<String> {
        let body = self.body(query, minor).unwrap();
        let mut names: Vec<String> =
            body["provider_summaries"].as_object().unwrap().keys().map(|key| self.name(key)).collect();
        names.sort();
        names
    }

    pub fn list(&self, query: &str, minor: u8) -> Result<Vec<String>, Refusal> {
        let question = parse::providers(&self.pairs(query), Version::new(minor).unwrap())?;
        Ok(self.model().list(&question)?.into_iter().map(|provider| provider.name().to_owned()).collect())
    }
}

pub fn environment() -> Cloud {
    let mut cloud = Cloud::default();
    let with = |total, change: fn(&mut Held)| {
        let mut held = held(total);
        change(&mut held);
        held
    };
    let memory = with(16384, |held| {
        held.inventory.reserved = 1024;
        held.inventory.allocation_ratio = 1.5;
    });
    let double = with(8, |held| held.inventory.allocation_ratio = 2.0);
    let busy = Held { used: 10, ..double };
    cloud.add("cn1", None, &[("MEMORY_MB", memory), ("DISK_GB", held(200))], &["COMPUTE_VOLUME_MULTI_ATTACH"], &[A]);
    cloud.add("n1a", Some("cn1"), &[("VCPU", busy)], &["HW_NUMA_ROOT"], &[]);
    cloud.add("n1b", Some("cn1"), &[("VCPU", double)], &["HW_NUMA_ROOT", "CUSTOM_FAST"], &[]);
    cloud.add("g1", Some("n1b"), &[("VGPU", with(4, |held| held.inventory.max_unit = 2))], &[], &[]);
    let vcpu = with(16, |held| held.inventory.max_unit = 8);
    cloud.add("cn2", None, &[("VCPU", vcpu), ("MEMORY_MB", held(32768))], &["CUSTOM_FAST"], &[A, B]);
    let disk = with(1000, |held| held.inventory.reserved = 100);
    cloud.add("ss", None, &[("DISK_GB", disk)], &[SHARES, "CUSTOM_SSD"], &[A]);
    cloud
}
