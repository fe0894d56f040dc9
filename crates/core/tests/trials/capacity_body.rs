//! The property of `capacity_body`, for the fuzzer and for a test of `berth-core`: a body is refused in one line, or is a request
//! whose report has exactly its zones for each resource.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::capacity::Occupied;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::capacity::{CapacityFacts, CapacityRequest, PlaceCapacity, build_report};
use berth_core::liquid::info::{ServiceInfo, build_resources};
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_core::testing::{amber, gib};
use berth_core::{Cores, Resources, Zone};

/// The number of zones in the report; `None` if the body is refused.
pub fn report(body: &[u8]) -> Option<usize> {
    let request = match CapacityRequest::decode(body) {
        Ok(request) => request,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n') && text.len() < 2000, "{text}");
            return None;
        }
    };
    let groups: FlavorGroups = [amber()].into_iter().collect();
    let info = ServiceInfo::new(1, build_resources(&groups, &config()).unwrap());
    let size = Resources::new(gib(12), Cores::new(4));
    let part = Occupied { instances: 1, resources: size, units: 12 };
    let place = PlaceCapacity { running: part, reserved: part, free_slots: 1, free: size };
    let known = request.zones.iter().step_by(2).map(|zone| (("amber".into(), zone.clone()), place));
    let places: BTreeMap<_, _> = known.collect();
    let report = build_report(&CapacityFacts { info: &info, groups: &groups, zones: &request.zones, places: &places });

    let zones: BTreeSet<&str> = request.zones.iter().map(Zone::as_str).collect();
    let report = serde_json::to_value(report).unwrap();
    let resources = report["resources"].as_object().unwrap();
    assert_eq!(resources.len(), 3);
    for (name, resource) in resources {
        let per_zone = resource["perAZ"].as_object().unwrap();
        assert_eq!(per_zone.keys().map(String::as_str).collect::<BTreeSet<_>>(), zones, "{name}");
    }
    Some(zones.len())
}

fn config() -> ResourceConfig {
    let flags = ResourceFlags { has_capacity: true, ..ResourceFlags::default() };
    let all = GroupResources { ram: flags, cores: flags, instances: flags, ram_unit_gib: 1 };
    [("*".into(), all)].into_iter().collect()
}
