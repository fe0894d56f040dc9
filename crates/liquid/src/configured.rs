//! What is configured for the resources of flavor groups, as the domain reads it.

use berth_core::liquid::names::{ResourceKind, resource_name};
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_telemetry::config::{FlavorGroupResources, FlavorGroups, Offer};

/// The entry for groups that have none of their own.
const ANY_GROUP: &str = "*";

/// The configuration of all groups, with the entry of `*`.
pub fn resource_config(configured: &FlavorGroups) -> ResourceConfig {
    let any = (ANY_GROUP, configured.of(ANY_GROUP));
    let named = configured.named().map(|(group, resources)| (group, *resources));
    named.chain([any]).map(|(group, resources)| (group.into(), group_resources(&resources))).collect()
}

/// The resources that the entries of the configuration announce without a capacity; `*` stands for all groups without an entry.
/// A configuration without entries names none: the API is not used.
pub fn configured_without_capacity(configured: &FlavorGroups) -> Vec<String> {
    let config = resource_config(configured);
    if *configured == FlavorGroups::default() {
        return Vec::new();
    }
    let names = |(group, resources): (_, &GroupResources)| {
        let lacking = ResourceKind::ALL.into_iter().filter(|kind| !resources.flags(*kind).has_capacity);
        lacking.map(|kind| resource_name(group, kind)).collect::<Vec<_>>()
    };
    config.iter().flat_map(names).collect()
}

fn group_resources(configured: &FlavorGroupResources) -> GroupResources {
    GroupResources {
        ram: flags(configured.ram),
        cores: flags(configured.cores),
        instances: flags(configured.instances),
        ram_unit_gib: configured.ram_unit_gib().into(),
    }
}

fn flags(offer: Offer) -> ResourceFlags {
    ResourceFlags {
        handles_commitments: offer.handles_commitments,
        handles_dry_run: offer.handles_dry_run,
        has_capacity: offer.has_capacity,
        has_quota: offer.has_quota,
    }
}

#[cfg(test)]
mod tests {
    use berth_telemetry::config::decode;
    use serde_json::{Value, json};

    use super::*;

    fn configured(groups: &Value) -> FlavorGroups {
        let values = json!({ "committedResourceAPI": { "flavorGroupResourceConfig": groups } });
        decode(values.as_object().unwrap(), true).unwrap().configuration.committed_resource_api.flavor_groups
    }

    #[test]
    fn entries_and_the_one_for_any_group_are_taken_over() {
        let config = resource_config(&configured(&json!({
            "hana": { "ram": { "handlesCommitments": true, "hasCapacity": true, "ramUnitGiB": 480 } },
            "*": { "cores": { "hasQuota": true, "handlesDryRun": true } },
        })));
        let hana = config.of(&"hana".into());
        assert!(hana.ram.handles_commitments && hana.ram.has_capacity && hana.ram_unit_gib == 480);
        assert!(!hana.cores.has_quota, "entries are not mixed");
        let other = config.of(&"other".into());
        assert!(other.cores.has_quota && other.cores.handles_dry_run && other.ram_unit_gib == 1);
    }

    #[test]
    fn resources_that_are_announced_without_capacity_are_named() {
        let capacity = json!({ "hasCapacity": true });
        let all = json!({ "ram": capacity, "cores": capacity, "instances": capacity });
        assert_eq!(configured_without_capacity(&configured(&json!({}))), [""; 0]);
        assert_eq!(configured_without_capacity(&configured(&json!({ "*": all }))), [""; 0]);
        let partial = json!({ "*": all, "hana": { "ram": capacity, "instances": capacity } });
        assert_eq!(configured_without_capacity(&configured(&partial)), ["hw_version_hana_cores"]);
        let named_only = json!({ "hana": all });
        let any = ["hw_version_*_cores", "hw_version_*_instances", "hw_version_*_ram"];
        assert_eq!(configured_without_capacity(&configured(&named_only)), any, "other groups offer nothing");
    }
}
