//! Requests that are refused, with the exact texts, and the order of their commitments.

use serde_json::Value;

use super::super::tests::{ANALYTICS, SANDBOX, Stored, UUID, body, changeset, commitment, decode, request};
use super::*;
use crate::commitment::State;
use crate::testing::{at, spec};

const RAM: &str = "hw_version_gp_v1_ram";

fn check(request: &ChangeRequest) -> Result<Vec<Item>, RequestError> {
    Stored::default().check(request, at(0))
}

fn new(uuid: &str) -> Value {
    commitment(uuid, None, Some("confirmed"), 1)
}

fn gone(uuid: &str) -> Value {
    commitment(uuid, Some("confirmed"), None, 1)
}

/// One project with this resource and these changes.
fn one(resource: &str, changes: &[Value]) -> ChangeRequest {
    request(&[("p", resource, changeset((0, 1), changes))])
}

fn refusal(request: &ChangeRequest) -> (String, bool) {
    let error = check(request).unwrap_err();
    (error.to_string(), error.is_malformed())
}

fn malformed(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

fn failed_check(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

#[test]
fn items_are_ordered_by_project_and_resource_and_then_as_sent() {
    let changes = |uuids: [&str; 2]| changeset((0, 2), &uuids.map(new));
    let request = request(&[
        ("b", RAM, changes(["uuid-9", "uuid-8"])),
        ("a", "hw_version_hana_v3_ram", changes(["uuid-7", "uuid-6"])),
        ("a", "hw_version_gp_v1_cores", changes(["uuid-5", "uuid-4"])),
    ]);
    let items = check(&request).unwrap();
    let uuids: Vec<&str> = items.iter().map(|item| item.uuid.as_str()).collect();
    assert_eq!(uuids, ["uuid-5", "uuid-4", "uuid-7", "uuid-6", "uuid-9", "uuid-8"]);
    assert_eq!((items[0].resource, items[2].group.as_str()), (ResourceType::Cores, "hana_v3"));
}

#[test]
fn the_zone_must_be_a_real_one() {
    let mut request = one(RAM, &[]);
    for (zone, text) in [
        ("", "availability zone is required"),
        ("any", "availability zone \"any\" is reserved, commitments need a real one"),
        ("unknown", "availability zone \"unknown\" is reserved, commitments need a real one"),
        ("total", "availability zone \"total\" is reserved, commitments need a real one"),
    ] {
        request.zone = zone.into();
        assert_eq!(refusal(&request), malformed(text));
    }
}

#[test]
fn the_resource_must_be_one_that_handles_commitments() {
    for (resource, text) in [
        ("cores", "project with unknown resource name p: invalid resource name: cores (missing prefix)"),
        (
            "hw_version_gp_v1_instances",
            "project with unknown resource name p: invalid resource name: hw_version_gp_v1_instances (only _ram and _cores \
             resources are supported for commitments)",
        ),
        ("hw_version_nope_ram", "flavor group not found: nope"),
        ("hw_version_hana_v3_cores", "flavor group \"hana_v3\" is not configured to handle cores commitments"),
    ] {
        assert_eq!(refusal(&one(resource, &[])), failed_check(text), "also without any commitment");
        assert_eq!(refusal(&one(resource, &[gone(UUID)])), failed_check(text));
    }
}

#[test]
fn a_uuid_must_be_fit_for_the_name_of_an_object_unless_it_is_deleted() {
    for uuid in ["short", "with_underscore", "ends-with-hyphen-", "é-is-no-letter", &"x".repeat(41), ""] {
        let text = format!("commitment {uuid}: unexpected commitment format");
        assert_eq!(refusal(&one(RAM, &[new(uuid)])), failed_check(&text));
        assert_eq!(check(&one(RAM, &[gone(uuid)])).unwrap()[0].after, None);
    }
    assert!(check(&one(RAM, &[new("UPPER-and-1")])).is_ok());
}

#[test]
fn an_amount_beyond_64_bits_is_malformed() {
    let large = commitment("uuid-1", None, Some("planned"), 17_895_698);
    let text = "amount of commitment uuid-1 is out of range";
    assert_eq!(refusal(&one("hw_version_hana_v3_ram", std::slice::from_ref(&large))), malformed(text));
    assert!(check(&one(RAM, &[large])).is_ok(), "in a smaller unit");
    let cores = commitment("uuid-1", None, Some("confirmed"), 1 << 63);
    assert_eq!(refusal(&one("hw_version_gp_v1_cores", &[cores])), malformed(text));
}

#[test]
fn a_transfer_is_one_item_of_its_target() {
    for (from, to) in [(ANALYTICS, SANDBOX), (SANDBOX, ANALYTICS)] {
        let items = [(from, RAM, changeset((1, 0), &[gone(UUID)])), (to, RAM, changeset((0, 1), &[new(UUID)]))];
        let items = check(&request(&items)).unwrap();
        assert_eq!((items.len(), items[0].project.as_str()), (1, to));
        let after = items[0].after.as_ref().unwrap();
        assert_eq!((after.project.as_str(), after.status), (to, State::Confirmed));
    }
}

#[test]
fn a_commitment_that_appears_twice_otherwise_is_malformed() {
    let text = malformed("commitment uuid-1 appears more than once");
    let twice = |first: Value, second: Value| {
        request(&[("a", RAM, changeset((0, 1), &[first])), ("b", RAM, changeset((0, 1), &[second]))])
    };
    let kept = commitment("uuid-1", Some("pending"), Some("confirmed"), 1);
    for (first, second) in [
        (new("uuid-1"), new("uuid-1")),
        (gone("uuid-1"), gone("uuid-1")),
        (gone("uuid-1"), kept.clone()),
        (kept, new("uuid-1")),
    ] {
        assert_eq!(refusal(&twice(first, second)), text);
    }
    assert_eq!(refusal(&one(RAM, &[gone("uuid-1"), new("uuid-1")])), text, "within one project");
    let resources = [
        ("a", RAM, changeset((0, 1), &[gone("uuid-1")])),
        ("b", "hw_version_hana_v3_ram", changeset((0, 1), &[new("uuid-1")])),
    ];
    assert_eq!(refusal(&request(&resources)), text, "into another resource");
    let mut thrice =
        body(&[("a", RAM, changeset((1, 0), &[gone("uuid-1")])), ("b", RAM, changeset((0, 1), &[new("uuid-1")]))]);
    thrice["byProject"]["c"] = thrice["byProject"]["b"].clone();
    assert_eq!(refusal(&decode(&thrice)), text);
}

#[test]
fn uuids_that_differ_only_in_case_are_one_object() {
    let text = malformed("commitment UUID-1 differs from an existing one only in case");
    assert_eq!(refusal(&one(RAM, &[new("uuid-1"), new("UUID-1")])), text);
}

#[test]
fn a_commitment_that_is_stored_as_another_one_is_malformed() {
    let stored = |change: fn(&mut Spec)| {
        let mut spec = Spec { uuid: UUID.into(), group: "gp_v1".into(), zone: "eu-x-1a".into(), ..spec("1Gi") };
        change(&mut spec);
        Stored([(UUID.into(), spec)].into())
    };
    for (change, text) in [
        (
            (|s| s.zone = "eu-x-1b".into()) as fn(&mut Spec),
            format!("commitment {UUID} is in availability zone eu-x-1b"),
        ),
        (|s| s.group = "hana_v3".into(), format!("commitment {UUID} is for resource hw_version_hana_v3_ram")),
        (|s| s.resource = ResourceType::Cores, format!("commitment {UUID} is for resource hw_version_gp_v1_cores")),
        (|s| s.uuid = "other".into(), format!("commitment {UUID} differs from an existing one only in case")),
    ] {
        for sent in [new(UUID), gone(UUID)] {
            let error = stored(change).check(&one(RAM, &[sent]), at(0)).unwrap_err();
            assert_eq!((error.to_string(), error.is_malformed()), (text.clone(), true));
        }
    }
    assert!(stored(|_| ()).check(&one(RAM, &[new(UUID)]), at(0)).is_ok());
    assert!(stored(|s| s.project = "other".into()).check(&one(RAM, &[new(UUID)]), at(0)).is_ok());
}

#[test]
fn a_request_has_at_most_1000_commitments() {
    let changes = |count: usize| (0..count).map(|number| new(&format!("uuid-{number}"))).collect::<Vec<_>>();
    assert_eq!(check(&one(RAM, &changes(1000))).unwrap().len(), 1000);
    assert_eq!(refusal(&one(RAM, &changes(1001))), malformed("request is too large to be applied in one step"));
}

#[test]
fn the_first_item_that_fails_is_reported() {
    let large = commitment("uuid-1", None, Some("planned"), u64::MAX);
    let text = failed_check("commitment no: unexpected commitment format");
    assert_eq!(refusal(&one(RAM, &[new("no"), large])), text);
}

fn dry_run(changesets: &[(&str, &str, Value)]) -> Result<Vec<String>, String> {
    let request = ChangeRequest { dry_run: true, ..request(changesets) };
    let items = check(&request).map_err(|error| error.dry_run_reason())?;
    Ok(items.iter().map(|item| item.uuid.to_string()).collect())
}

#[test]
fn growth_of_an_unknown_resource_rejects_a_dry_run() {
    let grown = |resource| dry_run(&[("p", resource, changeset((0, 1), &[new("uuid-1")]))]);
    let text = "dry run: invalid resource name: hw_version_gp_v1_instances (only _ram and _cores resources are supported for \
                commitments)";
    assert_eq!(grown("hw_version_gp_v1_instances"), Err(text.to_owned()));
    assert_eq!(grown("hw_version_nope_ram"), Err("dry run: flavor group not found: nope".to_owned()));
    assert_eq!(grown("hw_version_hana_v3_cores"), Ok(Vec::new()), "it handles no commitments");
    assert_eq!(grown(RAM), Ok(vec!["uuid-1".to_owned()]));
}

#[test]
fn an_unknown_resource_that_does_not_grow_is_left_out_of_a_dry_run() {
    let nope = "hw_version_nope_ram";
    let moved = [("p", nope, changeset((0, 5), &[new("uuid-1")])), ("q", nope, changeset((5, 0), &[gone("uuid-2")]))];
    assert_eq!(dry_run(&moved), Ok(Vec::new()), "over all projects");
    let released = [("p", nope, changeset((3, 0), &[gone("uuid-2")])), ("p", RAM, changeset((0, 1), &[new("uuid-1")]))];
    assert_eq!(dry_run(&released), Ok(vec!["uuid-1".to_owned()]));
}
