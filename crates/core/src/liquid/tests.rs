//! A session of Limes with two flavor groups, from bodies of requests to specs, and what other tests share.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::changes::{SpecChange, order_writes};
use super::conversion::convert;
use super::request::{ChangeRequest, commitment_key};
use super::resources::{GroupResources, ResourceConfig, ResourceFlags};
use super::validation::{Facts, Item, RequestError, validate};
use crate::commitment::{ResourceType, Spec, State};
use crate::flavor::FlavorGroups;
use crate::ids::CommitmentUuid;
use crate::quantity::Quantity;

pub(super) const ANALYTICS: &str = "7c0de1ad4f5e4d0f8a6b2c3d4e5f6071";
pub(super) const SANDBOX: &str = "a1d0c0ffee5e4d0f8a6b2c3d4e5f6072";
const DOMAIN: &str = "5f1e0d00aa5e4d0f8a6b2c3d4e5f6000";
pub(super) const UUID: &str = "3b8f0c52-6f0e-4f6f-9d3a-1f2e3d4c5b6a";

pub(super) fn groups() -> FlavorGroups {
    let flavor = |name: &str, vcpus: u32, memory: u64| json!({"name": name, "vcpus": vcpus, "memoryMB": memory});
    let hana =
        [("hana_v3_c120_m1920", 120, 1_966_064), ("hana_v3_c60_m960", 60, 983_024), ("hana_v3_c30_m480", 30, 491_504)];
    let gp = [("gp_v1_c8_m32", 8, 32_752), ("gp_v1_c4_m32", 4, 32_752), ("gp_v1_c2_m8", 2, 8176)];
    let features = |name: &str, flavors: [(&str, u32, u64); 3], ratios: Value| {
        let flavors = flavors.map(|(name, vcpus, memory)| flavor(name, vcpus, memory));
        let mut feature = json!({"name": name, "smallestFlavor": flavors[2], "flavors": flavors});
        feature.as_object_mut().unwrap().extend(ratios.as_object().unwrap().clone());
        feature
    };
    let raw = json!({"features": [
        features("hana_v3", hana, json!({"ramCoreRatio": 16_383})),
        features("gp_v1", gp, json!({"ramCoreRatioMin": 4094, "ramCoreRatioMax": 8188})),
    ]});
    FlavorGroups::parse(&raw).unwrap().groups
}

pub(super) fn config() -> ResourceConfig {
    let announced = ResourceFlags { has_capacity: true, has_quota: true, ..ResourceFlags::default() };
    let committed = ResourceFlags { handles_commitments: true, handles_dry_run: true, ..announced };
    let of = |cores, ram_unit_gib| GroupResources { ram: committed, cores, instances: announced, ram_unit_gib };
    [("hana_v3".into(), of(announced, 480)), ("gp_v1".into(), of(committed, 1))].into_iter().collect()
}

/// A request with the changes of one project and resource each.
pub(super) fn request(changesets: &[(&str, &str, Value)]) -> ChangeRequest {
    decode(&body(changesets))
}

pub(super) fn decode(body: &Value) -> ChangeRequest {
    ChangeRequest::decode(body.to_string().as_bytes()).unwrap()
}

pub(super) fn body(changesets: &[(&str, &str, Value)]) -> Value {
    let mut body = json!({"az": "eu-x-1a", "dryRun": false, "infoVersion": 1_772_439_300, "byProject": {}});
    for (project, resource, changeset) in changesets {
        let known = &mut body["byProject"][project];
        known["projectMetadata"] = json!({"uuid": project, "name": "any", "domain": {"uuid": DOMAIN, "name": "acme"}});
        known["byResource"][resource] = changeset.clone();
    }
    body
}

pub(super) fn changeset(confirmed: (u64, u64), commitments: &[Value]) -> Value {
    json!({
        "totalConfirmedBefore": confirmed.0, "totalConfirmedAfter": confirmed.1,
        "totalGuaranteedBefore": 0, "totalGuaranteedAfter": 0, "commitments": commitments,
    })
}

pub(super) fn commitment(uuid: &str, old: Option<&str>, new: Option<&str>, amount: u64) -> Value {
    json!({"uuid": uuid, "oldStatus": old, "newStatus": new, "amount": amount, "expiresAt": "2027-03-03T00:00:00Z"})
}

pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// What is stored, by keys of commitments.
#[derive(Clone, Default)]
pub(super) struct Stored(pub(super) BTreeMap<CommitmentUuid, Spec>);

impl Stored {
    pub(super) fn check(&self, request: &ChangeRequest, now: Timestamp) -> Result<Vec<Item>, RequestError> {
        validate(request, &Facts { groups: &groups(), config: &config(), existing: &self.0, now })
    }

    fn changes(&self, request: &ChangeRequest, now: Timestamp) -> Vec<SpecChange> {
        let allow_rejection = request.requires_confirmation();
        let change = |item: Item| {
            let before = self.0.get(&commitment_key(&item.uuid)).cloned();
            let after = item.after.map(|after| convert(&after, before.as_ref(), now, allow_rejection));
            SpecChange { before, after }
        };
        self.check(request, now).unwrap().into_iter().map(change).collect()
    }

    /// Applies the request; the result has the UUIDs in the order of the writes.
    fn apply(&mut self, request: &ChangeRequest, now: Timestamp) -> Vec<String> {
        let changes = self.changes(request, now);
        let order = order_writes(&changes, now);
        let mut written = Vec::new();
        for (_, spec) in order.specs {
            written.push(spec.uuid.to_string());
            self.0.insert(commitment_key(&spec.uuid), spec);
        }
        for before in order.deletions.into_iter().filter_map(|number| changes[number].before.clone()) {
            written.push(format!("delete {}", before.uuid));
            self.0.remove(&commitment_key(&before.uuid));
        }
        written
    }

    fn spec(&self) -> &Spec {
        self.0.get(UUID).unwrap()
    }
}

fn planned() -> ChangeRequest {
    let mut planned = commitment(UUID, None, Some("planned"), 2);
    planned["confirmBy"] = json!("2026-03-03T00:00:00Z");
    request(&[(ANALYTICS, "hw_version_hana_v3_ram", changeset((0, 0), &[planned]))])
}

fn confirmation() -> ChangeRequest {
    let confirmed = commitment(UUID, Some("pending"), Some("confirmed"), 2);
    request(&[(ANALYTICS, "hw_version_hana_v3_ram", changeset((0, 2), &[confirmed]))])
}

/// The commitment of the project is given to the other one.
fn transfer(from: &str, to: &str, status: &str) -> ChangeRequest {
    let totals = if status == "confirmed" { 2 } else { 0 };
    request(&[
        (from, "hw_version_hana_v3_ram", changeset((totals, 0), &[commitment(UUID, Some(status), None, 2)])),
        (to, "hw_version_hana_v3_ram", changeset((0, totals), &[commitment(UUID, None, Some(status), 2)])),
    ])
}

fn confirmed() -> Stored {
    let mut stored = Stored::default();
    stored.apply(&confirmation(), time("2026-03-03T00:00:10Z"));
    stored
}

#[test]
fn a_planned_commitment_is_stored_without_amount_and_start() {
    let mut stored = Stored::default();
    let request = planned();
    assert!(!request.requires_confirmation());
    assert_eq!(stored.apply(&request, time("2026-03-02T09:00:00Z")), [UUID]);
    let expected = Spec {
        uuid: UUID.into(),
        group: "hana_v3".into(),
        resource: ResourceType::Memory,
        amount: Quantity::ZERO,
        zone: "eu-x-1a".into(),
        project: ANALYTICS.into(),
        domain: DOMAIN.into(),
        start: None,
        end: Some(time("2027-03-03T00:00:00Z")),
        state: State::Planned,
        allow_rejection: false,
    };
    assert_eq!(*stored.spec(), expected);
}

#[test]
fn its_confirmation_starts_it_at_the_time_of_the_request() {
    let mut stored = Stored::default();
    stored.apply(&planned(), time("2026-03-02T09:00:00Z"));
    assert!(confirmation().requires_confirmation());
    stored.apply(&confirmation(), time("2026-03-03T00:00:10.5Z"));
    let spec = stored.spec();
    assert_eq!(spec.amount, Quantity::parse("960Gi").unwrap());
    assert_eq!((spec.state, spec.allow_rejection), (State::Confirmed, true));
    assert_eq!(spec.start, Some(time("2026-03-03T00:00:10Z")));
    assert_eq!(stored.apply(&confirmation(), time("2026-03-03T01:00:00Z")), [""; 0], "repeated, it writes nothing");
}

#[test]
fn a_batch_is_ordered_by_names_of_resources() {
    let new = |uuid, amount| commitment(uuid, None, Some("confirmed"), amount);
    let (gp, hana) = ("c2a9d7e4-52b1-4b0c-8f1e-9a8b7c6d5e4f", "e71f9a60-0c3d-4d2e-b5a4-6f7e8d9c0b1a");
    let request = request(&[
        (ANALYTICS, "hw_version_hana_v3_ram", changeset((2, 11), &[new(hana, 9)])),
        (ANALYTICS, "hw_version_gp_v1_ram", changeset((0, 64), &[new(gp, 64)])),
    ]);
    let mut stored = Stored::default();
    assert_eq!(stored.apply(&request, time("2026-03-04T00:00:00Z")), [gp, hana]);
    let amounts: Vec<_> = stored.0.values().map(|spec| spec.memory().to_string()).collect();
    assert_eq!(amounts, ["64Gi", "4320Gi"]);
    assert!(stored.0.values().all(|spec| spec.allow_rejection));
}

#[test]
fn a_transfer_is_one_write_in_either_order_of_the_projects() {
    for (from, to) in [(ANALYTICS, SANDBOX), (SANDBOX, ANALYTICS)] {
        for (status, is_confirmed) in [("confirmed", true), ("pending", false)] {
            let mut stored = confirmed();
            stored.0.get_mut(UUID).unwrap().project = from.into();
            stored.0.get_mut(UUID).unwrap().domain = "other".into();
            let request = transfer(from, to, status);
            assert_eq!(request.requires_confirmation(), is_confirmed);
            assert_eq!(stored.apply(&request, time("2026-03-05T00:00:00Z")), [UUID]);
            let spec = stored.spec();
            assert_eq!((spec.project.as_str(), spec.domain.as_str()), (to, DOMAIN));
            assert_eq!(spec.start, Some(time("2026-03-03T00:00:10Z")), "it goes on");
            assert_eq!(spec.amount, Quantity::parse("960Gi").unwrap());
        }
    }
}

#[test]
fn a_deletion_deletes_and_can_be_repeated() {
    let deleted = commitment(UUID, Some("confirmed"), None, 2);
    let request = request(&[(ANALYTICS, "hw_version_hana_v3_ram", changeset((2, 0), &[deleted]))]);
    assert!(!request.requires_confirmation());
    let mut stored = confirmed();
    assert_eq!(stored.apply(&request, time("2026-03-06T00:00:00Z")), [format!("delete {UUID}")]);
    assert!(stored.0.is_empty());
    assert_eq!(stored.apply(&request, time("2026-03-06T00:00:00Z")), [""; 0]);
}

#[test]
fn a_conversion_releases_before_it_grows_and_deletes_last() {
    let mut stored = Stored::default();
    let now = time("2026-03-04T00:00:00Z");
    let new = |uuid, amount| commitment(uuid, None, Some("confirmed"), amount);
    let (first, second, third) = ("commitment-a", "commitment-f", "commitment-h");
    let gp = changeset((0, 68), &[new(first, 4), new(second, 64)]);
    stored.apply(&request(&[(ANALYTICS, "hw_version_gp_v1_ram", gp)]), now);
    let gp =
        [commitment(first, Some("confirmed"), None, 4), commitment(second, Some("confirmed"), Some("superseded"), 64)];
    let converted = request(&[
        (ANALYTICS, "hw_version_gp_v1_ram", changeset((68, 0), &gp)),
        (ANALYTICS, "hw_version_hana_v3_ram", changeset((0, 2), &[new(third, 2)])),
    ]);
    assert!(converted.requires_confirmation());
    assert_eq!(stored.apply(&converted, now), [first, second, third, "delete commitment-a"]);
    let held: Vec<_> = stored.0.values().map(|spec| (spec.state, spec.memory().to_string())).collect();
    assert_eq!(held, [(State::Superseded, "0".to_owned()), (State::Confirmed, "960Gi".to_owned())]);
}

#[test]
fn nothing_is_returned_of_a_request_in_which_a_later_project_fails() {
    let new = |uuid| changeset((0, 1), &[commitment(uuid, None, Some("confirmed"), 1)]);
    let request =
        request(&[("aaa", "hw_version_gp_v1_ram", new("valid-1")), ("bbb", "hw_version_nope_ram", new("valid-2"))]);
    let error = Stored::default().check(&request, Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.is_malformed()), ("flavor group not found: nope", false));
}
