//! The property of `limes_body`, for the fuzzer and for a test of `berth-limes-syncer`: answers of Keystone and Limes, which
//! are decoded, checked and made a view. Nothing panics, errors quote nothing, and what is usable can be an object.

use std::collections::BTreeSet;

use berth_core::GroupName;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::conversion::convert;
use berth_core::liquid::units::RamUnit;
use berth_crds::facts;
use berth_limes_syncer::filter::Filter;
use berth_limes_syncer::view::{
    Began, FetchedProject, FetchedProjects, Listing, LocalCommitments, assemble, check_answer,
};
use berth_openstack::limes::{Project, decode_commitments, decode_projects};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;

/// How many commitments of the answer are usable; `None` if it cannot be read.
pub fn read(body: &[u8]) -> Option<usize> {
    check_error(decode_projects(body).err());
    let listed = decode_commitments(body);
    check_error(listed.as_ref().err().cloned());
    let (began, services, groups) = (began(), BTreeSet::from(["compute".to_owned()]), groups());
    let filter = Filter { services: &services, groups: &groups, ram_unit: &|_: &GroupName| RamUnit::new(16).ok() };
    let project = Project { id: "p-1".to_owned(), domain_id: "d-1".to_owned() };
    let listed = Ok(check_answer(listed.ok()?, &project, &filter, None));
    let projects = vec![FetchedProject { project, began, listed }];
    let view = assemble(FetchedProjects { began, projects }, &filter, &LocalCommitments::default(), None).view;
    let usable = view.uuids().filter_map(|uuid| match &view.get(uuid)?.listing {
        Listing::Usable(usable) => Some(usable.clone()),
        Listing::Skipped(_) => None,
    });
    let specs = usable.map(|usable| convert(&usable.commitment, None, began.time, false));
    Some(specs.inspect(|spec| assert_eq!(facts::spec_of(&facts::written_spec(spec, None)), *spec)).count())
}

fn began() -> Began {
    Began { instant: Instant::now(), time: Timestamp::UNIX_EPOCH }
}

/// An error has a fixed form, so it cannot have the token of a transfer in it.
fn check_error(error: Option<String>) {
    let Some(error) = error else { return };
    let numbers: String = error.chars().filter(|c| !c.is_ascii_digit()).collect();
    let known = [
        "it is no JSON (line , column )",
        "a member has another type or value than expected (line , column )",
        "it ends too early (line , column )",
        "it is a list, not an object",
    ];
    assert!(known.contains(&numbers.as_str()), "{error}");
}

fn groups() -> FlavorGroups {
    let flavor = json!({ "name": "f", "vcpus": 4, "memoryMB": 16384, "diskGB": 64, "extraSpecs": {} });
    let group = json!({ "name": "2101", "ramCoreRatio": 4096, "flavors": [flavor], "largestFlavor": flavor,
        "smallestFlavor": flavor });
    FlavorGroups::parse(&json!({ "features": [group] })).unwrap().groups
}
