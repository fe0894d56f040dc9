//! What Limes expects of a usage report.

use crate::answers::{AzUsage, ServiceInfo, UsageReport};

/// The zone of what belongs to none of the requested ones.
const UNKNOWN: &str = "unknown";

/// What is wrong with a report about one zone.
pub fn violations(info: &ServiceInfo, report: &UsageReport, zone: &str) -> Vec<String> {
    let mut found = Vec::new();
    if report.info_version != info.version {
        found.push(format!("its info version is {} instead of {}", report.info_version, info.version));
    }
    for (name, announced) in info.resources.iter().flatten() {
        let Some(resource) = report.resources.as_ref().and_then(|all| all.get(name)) else {
            found.push(format!("{name} is not reported"));
            continue;
        };
        if !resource.per_az.contains_key(zone) {
            found.push(format!("{name} has no entry for {zone}"));
        }
        let surplus = resource.per_az.keys().filter(|other| *other != zone && *other != UNKNOWN);
        found.extend(surplus.map(|other| format!("{name} has an entry for {other}, which was not asked for")));
        let odd = resource.per_az.iter().filter(|(of, usage)| !has_right_quota(of, usage, announced.has_quota));
        found.extend(odd.map(|(of, _)| format!("{name} in {of} must have a quota exactly if one is announced")));
    }
    found
}

/// The number of VMs that the report lists.
pub fn vms(report: &UsageReport) -> usize {
    let zones = report.resources.iter().flatten().flat_map(|(_, resource)| resource.per_az.values());
    zones.map(|zone| zone.subresources.len()).sum()
}

fn has_right_quota(zone: &str, usage: &AzUsage, is_announced: bool) -> bool {
    usage.quota.is_some() == (is_announced && zone != UNKNOWN)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn info() -> ServiceInfo {
        let resource = json!({
            "displayName": "", "topology": "az-separated", "hasCapacity": true, "needsResourceDemand": false, "hasQuota": true,
        });
        let info = json!({ "version": 7, "displayName": "", "resources": { "a": resource } });
        serde_json::from_value(info).unwrap()
    }

    fn found(report: &Value) -> Vec<String> {
        violations(&info(), &serde_json::from_value(report.clone()).unwrap(), "z")
    }

    #[test]
    fn a_report_has_every_resource_the_zone_and_the_quota() {
        let good = json!({ "infoVersion": 7, "resources": { "a": { "forbidden": false, "perAZ": {
            "z": { "usage": 1, "quota": -1, "subresources": [{ "id": "vm" }] }, "unknown": { "usage": 1 } } } } });
        assert_eq!(found(&good), [""; 0]);
        assert_eq!(vms(&serde_json::from_value(good.clone()).unwrap()), 1);
        let bad =
            json!({ "infoVersion": 6, "resources": { "a": { "forbidden": false, "perAZ": { "y": { "usage": 1 } } } } });
        assert_eq!(
            found(&bad),
            [
                "its info version is 6 instead of 7",
                "a has no entry for z",
                "a has an entry for y, which was not asked for",
                "a in y must have a quota exactly if one is announced",
            ]
        );
        assert_eq!(found(&json!({ "infoVersion": 7 })), ["a is not reported"]);
    }
}
