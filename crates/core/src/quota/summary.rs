//! Short texts of quota and usage, one group after the other.

use std::collections::BTreeMap;

use super::{ByResource, ZoneUsage};
use crate::ids::GroupName;
use crate::liquid::names::{ResourceKind, parse_resource, resource_name};
use crate::liquid::units::RamUnit;

/// The most bytes of a summary, as the objects bound it.
const MOST: usize = 1024;
const CUT: &str = "; ...";

#[derive(Default)]
struct Line {
    cores: i64,
    instances: i64,
    ram: i64,
}

/// Cores, instances and RAM of each group by name. Resources of other services are left out, and so are the last groups
/// if there are too many.
pub fn summary(values: &ByResource) -> String {
    let mut lines: BTreeMap<GroupName, Line> = BTreeMap::new();
    for (name, value) in values {
        let Some((group, kind)) = parse_resource(name) else { continue };
        let line = lines.entry(group).or_default();
        match kind {
            ResourceKind::Cores => line.cores = *value,
            ResourceKind::Instances => line.instances = *value,
            ResourceKind::Ram => line.ram = *value,
        }
    }
    let lines =
        lines.iter().map(|(group, line)| format!("{group}: c={} i={} r={}", line.cores, line.instances, line.ram));
    joined(lines)
}

/// The quota with RAM in the unit of Limes.
pub fn limes_quota_summary(quota: &ByResource, unit_of: impl Fn(&GroupName) -> RamUnit) -> String {
    let declared = quota.iter().map(|(name, value)| {
        let in_units = match parse_resource(name) {
            Some((group, ResourceKind::Ram)) => unit_of(&group).units(*value),
            _ => *value,
        };
        (name.clone(), in_units)
    });
    summary(&declared.collect())
}

/// The usage of all VMs with RAM as Limes counts it, which need not be a quotient of the sum.
pub fn limes_usage_summary(usage: &ZoneUsage, quota: &ByResource) -> String {
    let mut values = usage.total(quota);
    values.extend(usage.groups().map(|(group, usage)| (resource_name(group, ResourceKind::Ram), usage.declared_ram)));
    summary(&values)
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        let separator = if all.is_empty() { "" } else { "; " };
        let rest = if lines.peek().is_some() { CUT.len() } else { 0 };
        if all.len() + separator.len() + line.len() + rest > MOST {
            all.push_str(if all.is_empty() { "..." } else { CUT });
            break;
        }
        all.push_str(separator);
        all.push_str(&line);
    }
    all
}
