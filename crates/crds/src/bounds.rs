//! The longest text that each field of our kinds admits, so that nobody fills etcd or a table of `kubectl` with a name.
//!
//! Copies of a spec have no bounds (`status.acceptedSpec`, and what a CommitmentChange keeps): an object that was stored
//! before the bounds must stay writable. Everywhere else the API server compares only what a write changes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, JSONSchemaProps};

use crate::conditions::MAX_MESSAGE;
use crate::normalise::{elements, root, values};

/// Names of objects, hosts and flavors, and whatever has no narrower bound.
const NAME: i64 = 253;
/// Zones, flavor groups, scheduling domains.
const GROUP: i64 = 64;
/// UUIDs in their canonical form.
const UUID: i64 = 36;
/// Commitment ids of Limes.
const COMMITMENT: i64 = 40;
/// What Keystone keeps of an id of a project, domain or user.
const KEYSTONE_ID: i64 = 64;
/// 20 digits and a suffix such as `Gi`.
const AMOUNT: i64 = 22;
/// A line for people.
const LINE: i64 = 1_024;
#[expect(clippy::cast_possible_wrap, reason = "a small constant")]
const TEXT: i64 = MAX_MESSAGE as i64;
/// What fits into an object together with everything else.
const COMPRESSED: i64 = 1_048_576;
/// Entries of the lists and maps that are written by others.
const RESOURCES: i64 = 16;
const VMS: i64 = 4_096;

/// The bounds by the name of the field; the elements of a list and the values of a map have that of their field.
const LENGTHS: &[(&[&str], i64)] = &[
    (&["availabilityZone", "flavorGroup", "flavorGroupName", "resourceGroup", "schedulingDomain"], GROUP),
    (&["commitmentUUID"], COMMITMENT),
    (&["projectID", "domainID", "userID"], KEYSTONE_ID),
    (&["vmID", "assignedInstances"], UUID),
    (&["resourceID"], KEYSTONE_ID),
    (&["statusSummary"], TEXT),
    (&["explanation", "message"], TEXT),
    (&["slotsGzip"], COMPRESSED),
    (&["totalUsageSummary", "paygUsageSummary", "limesUsageSummary", "limesQuotaSummary"], LINE),
];

/// Copies of a spec and of what belongs to it.
const COPIES: [&str; 3] = ["acceptedSpec", "before", "after"];

/// The most entries of a map by its path.
const ENTRIES: &[(&str, &str, i64)] = &[
    ("Reservation", "spec.resources", RESOURCES),
    ("Reservation", "spec.committedResourceReservation.allocations", VMS),
    ("Reservation", "spec.committedResourceReservation.allocations.*.resources", RESOURCES),
    ("CommitmentChange", "spec.items.[].slots.[].resources", RESOURCES),
];

/// Bounds all texts of the kind.
pub(crate) fn apply(crd: &mut CustomResourceDefinition) {
    let kind = crd.spec.names.kind.clone();
    let Some(root) = root(crd) else { return };
    bound_texts(root, "");
    for (_, path, most) in ENTRIES.iter().filter(|(of, ..)| *of == kind) {
        crate::normalise::at(root, path, |map| map.max_properties = Some(*most));
    }
}

fn bound_texts(schema: &mut JSONSchemaProps, field: &str) {
    let is_text = schema.type_.as_deref() == Some("string") && schema.enum_.is_none() && schema.format.is_none();
    if schema.x_kubernetes_int_or_string == Some(true) {
        schema.max_length = Some(AMOUNT);
    } else if is_text && schema.max_length.is_none() {
        schema.max_length = Some(longest(field));
    }
    for (name, property) in schema.properties.iter_mut().flatten() {
        if !COPIES.contains(&name.as_str()) {
            bound_texts(property, name);
        }
    }
    if let Some(values) = values(schema) {
        bound_texts(values, field);
    }
    if let Some(elements) = elements(schema) {
        bound_texts(elements, field);
    }
}

fn longest(field: &str) -> i64 {
    LENGTHS.iter().find(|(fields, _)| fields.contains(&field)).map_or(NAME, |(_, most)| *most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    fn properties<'a>(schema: &'a JSONSchemaProps, found: &mut Vec<(&'a str, &'a JSONSchemaProps)>) {
        for (name, property) in schema.properties.iter().flatten() {
            found.push((name, property));
            properties(property, found);
        }
    }

    #[test]
    fn every_bound_finds_its_field() {
        let mut crds = generate::without_rules();
        crds.extend(generate::optional());
        let roots: Vec<_> = crds.iter_mut().filter_map(|crd| root(crd).map(|root| root.clone())).collect();
        let mut all = Vec::new();
        for root in &roots {
            properties(root, &mut all);
        }
        for field in LENGTHS.iter().flat_map(|(fields, _)| *fields) {
            assert!(all.iter().any(|(name, _)| name == field), "{field}");
        }
        for (kind, path, most) in ENTRIES {
            let mut crd = generate::ours().into_iter().find(|crd| crd.spec.names.kind == *kind).unwrap();
            let mut found = None;
            crate::normalise::at(root(&mut crd).unwrap(), path, |map| found = map.max_properties);
            assert_eq!(found, Some(*most), "{kind} {path}");
        }
    }

    #[test]
    fn every_text_of_our_kinds_is_bounded() {
        fn check(schema: &JSONSchemaProps, path: &str) {
            let text = schema.type_.as_deref() == Some("string") || schema.x_kubernetes_int_or_string == Some(true);
            let closed = schema.enum_.is_some() || schema.format.is_some();
            assert!(!text || closed || schema.max_length.is_some(), "{path}");
            for (name, property) in
                schema.properties.iter().flatten().filter(|(name, _)| !COPIES.contains(&name.as_str()))
            {
                check(property, &format!("{path}.{name}"));
            }
            let (mut all, mut each) = (schema.clone(), schema.clone());
            if let Some(values) = values(&mut all) {
                check(values, &format!("{path}.*"));
            }
            if let Some(elements) = elements(&mut each) {
                check(elements, &format!("{path}[]"));
            }
        }
        for mut crd in generate::ours() {
            let kind = crd.spec.names.kind.clone();
            check(root(&mut crd).unwrap(), &kind);
        }
    }
}
