//! Parses the query of GET `/allocation_candidates` into request groups, with its checks in the order of Placement.

use std::collections::BTreeSet;

use super::schema::{Form, Schema, Suffixes, list};
use super::{Pair, find_all, find_last, values};
use crate::question::{CandidatesQuestion, Group, RootTraits};
use crate::refusal::Code;
use crate::{Refusal, TraitName, Version};

pub fn candidates(pairs: &[Pair], version: Version) -> Result<CandidatesQuestion, Refusal> {
    let schema = schema(version);
    schema.check(pairs)?;
    let root_required = root_required(pairs)?;
    let same_subtree = same_subtree(pairs)?;
    let groups = groups(pairs, &schema, version)?;
    if version.has(Version::SAME_SUBTREE) {
        check_resourceless(&groups, &same_subtree)?;
    } else {
        check_orphans(pairs, &groups)?;
    }
    check_conflicts(&groups)?;
    let policy = pairs.iter().find(|pair| pair.0 == "group_policy").map(|pair| pair.1.as_str());
    if policy.is_none() && groups.iter().filter(|group| !group.0.is_empty()).count() > 1 {
        return Err(Refusal::invalid(
            "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
        ));
    }
    let limit = pairs.iter().find(|pair| pair.0 == "limit").map(|pair| pair.1.parse().unwrap_or(usize::MAX));
    Ok(CandidatesQuestion { groups, isolate: policy == Some("isolate"), limit, root_required, same_subtree, version })
}

fn schema(version: Version) -> Schema {
    let mut schema = Schema::default();
    if version.has(Version::LIMIT) {
        schema = schema.with("limit", Form::Positive);
    }
    if !version.has(Version::GRANULAR_GROUPS) {
        let gated = [(Version::REQUIRED_TRAITS, "required"), (Version::CANDIDATES_BY_AGGREGATE, "member_of")]
            .into_iter()
            .filter(|gate| version.has(gate.0));
        return gated.fold(schema.with_mandatory("resources"), |schema, (_, key)| schema.with(key, Form::Text));
    }
    let gated = [(Version::ROOT_REQUIRED, "root_required"), (Version::SAME_SUBTREE, "same_subtree")]
        .into_iter()
        .filter(|gate| version.has(gate.0));
    let schema = gated.fold(schema, |schema, (_, key)| schema.with(key, Form::Text));
    let families: &[&str] = if version.has(Version::CANDIDATES_IN_TREE) {
        &["resources", "required", "member_of", "in_tree"]
    } else {
        &["resources", "required", "member_of"]
    };
    let suffixes = if version.has(Version::GROUP_NAMES) { Suffixes::Words } else { Suffixes::Numbers };
    schema.with("group_policy", Form::OneOf(&["none", "isolate"])).with_families(families, suffixes)
}

/// Checks 1 and 2.
fn root_required(pairs: &[Pair]) -> Result<Option<RootTraits>, Refusal> {
    let Some(text) = find_last(pairs, "root_required") else { return Ok(None) };
    if find_all(pairs, "root_required").len() > 1 {
        let text = "Query parameter 'root_required' may be specified only once.";
        return Err(Refusal::invalid(text).with(Code::DuplicateKey));
    }
    let (required, forbidden) = values::all_of(text, true)?;
    let required: BTreeSet<_> = required.into_iter().flatten().collect();
    let both: Vec<&str> = required.intersection(&forbidden).map(TraitName::as_str).collect();
    if !both.is_empty() {
        let text = format!("Conflicting required and forbidden traits found in root_required: {}", both.join(", "));
        return Err(Refusal::invalid(text).with(Code::BadValue));
    }
    Ok(Some(RootTraits { required, forbidden }))
}

/// Check 3.
fn same_subtree(pairs: &[Pair]) -> Result<Vec<BTreeSet<String>>, Refusal> {
    let lists = find_all(pairs, "same_subtree").into_iter();
    let lists: Vec<BTreeSet<String>> =
        lists.map(|text| text.split(',').map(|suffix| suffix.trim().to_owned()).collect()).collect();
    if lists.iter().any(|suffixes| suffixes.contains("")) {
        let text = "Empty string (unsuffixed group) can not be specified in `same_subtree` ";
        return Err(Refusal::invalid(text).with(Code::BadValue));
    }
    Ok(lists)
}

/// Groups in the order of their first parameter, and check 4.
fn groups(pairs: &[Pair], schema: &Schema, version: Version) -> Result<Vec<(String, Group)>, Refusal> {
    let mut groups: Vec<(String, Group)> = Vec::new();
    for (key, value) in pairs {
        let plain = ["resources", "required", "member_of"].into_iter().find(|plain| plain == key);
        let Some((family, suffix)) = schema.family(key).or(plain.map(|plain| (plain, ""))) else { continue };
        let place = groups.iter().position(|group| group.0 == suffix).unwrap_or_else(|| {
            groups.push((suffix.to_owned(), Group::default()));
            groups.len() - 1
        });
        read_parameter(&mut groups[place].1, family, (key, value), pairs, version)?;
    }
    Ok(groups)
}

fn read_parameter(
    group: &mut Group,
    family: &str,
    (key, value): (&str, &str),
    pairs: &[Pair],
    version: Version,
) -> Result<(), Refusal> {
    match family {
        "resources" => group.resources = values::resources(value)?,
        "required" => {
            let mut traits = (std::mem::take(&mut group.required), std::mem::take(&mut group.forbidden));
            values::add_required(&mut traits, value, version)?;
            (group.required, group.forbidden) = traits;
        }
        "member_of" => {
            let suffix = &key[family.len()..];
            (group.member_of, group.forbidden_aggregates) = values::member_of(&find_all(pairs, key), suffix, version)?;
        }
        _ => group.in_tree = Some(values::in_tree(value)?),
    }
    Ok(())
}

/// Checks 5 to 8, before 1.36.
fn check_orphans(pairs: &[Pair], groups: &[(String, Group)]) -> Result<(), Refusal> {
    let bare = || groups.iter().filter(|group| group.1.resources.is_empty());
    let named = |family: &'static str| move |suffix: &String| format!("{family}{suffix}");
    let traits: Vec<String> =
        bare().filter(|group| !group.1.required.is_empty()).map(|group| &group.0).map(named("required")).collect();
    if !traits.is_empty() {
        return Err(Refusal::invalid(format!(
            "All traits parameters must be associated with resources.  Found the following orphaned traits keys: {}",
            traits.join(", ")
        )));
    }
    let has_parameter = |key: &String| pairs.iter().any(|pair| pair.0 == *key);
    let members: Vec<String> = bare().map(|group| &group.0).map(named("member_of")).filter(has_parameter).collect();
    if !members.is_empty() {
        return Err(Refusal::invalid(format!(
            "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: {}",
            members.join(", ")
        )));
    }
    if bare().next().is_some() {
        return Err(Refusal::invalid("All request groups must specify resources."));
    }
    if groups.is_empty() {
        return Err(Refusal::invalid("At least one request group (`resources` or `resources{$S}`) is required."));
    }
    Ok(())
}

/// Checks 9 to 11, from 1.36.
fn check_resourceless(groups: &[(String, Group)], same_subtree: &[BTreeSet<String>]) -> Result<(), Refusal> {
    if groups.iter().all(|group| group.1.resources.is_empty()) {
        let text = "There must be at least one resources or resources[$S] parameter.";
        return Err(Refusal::invalid(text).with(Code::MissingValue));
    }
    let named: BTreeSet<&String> = same_subtree.iter().flatten().collect();
    let bare = groups.iter().filter(|group| group.1.resources.is_empty()).map(|group| &group.0);
    let alone: Vec<&String> = bare.filter(|suffix| !named.contains(suffix)).collect();
    if !alone.is_empty() {
        let text = format!(
            "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - {}.",
            list(&alone)
        );
        return Err(Refusal::invalid(text).with(Code::BadValue));
    }
    let known: BTreeSet<&String> = groups.iter().map(|group| &group.0).collect();
    let unknown: Vec<&&String> = named.difference(&known).collect();
    if !unknown.is_empty() {
        let known: Vec<&&String> = known.iter().collect();
        let text = format!(
            "Real suffixes should be specified in `same_subtree`: {} not found in {}.",
            list(&unknown),
            list(&known)
        );
        return Err(Refusal::invalid(text).with(Code::BadValue));
    }
    Ok(())
}

/// Check 12.
fn check_conflicts(groups: &[(String, Group)]) -> Result<(), Refusal> {
    let conflicts: Vec<String> = groups.iter().filter_map(|(suffix, group)| conflict(suffix, group)).collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "Conflicting required and forbidden traits found in the following traits keys: {}",
        conflicts.join(", ")
    )))
}

fn conflict(suffix: &str, group: &Group) -> Option<String> {
    let impossible = group.required.iter().filter(|set| set.is_subset(&group.forbidden));
    let names: BTreeSet<&str> = impossible.flatten().map(TraitName::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| format!("required{suffix}: ({})", names.join(", ")))
}
