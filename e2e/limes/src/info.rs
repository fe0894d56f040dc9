//! What Limes checks of a service info beyond its types, and the resources that it can sell.

use std::collections::BTreeSet;

use crate::answers::{ResourceInfo, ServiceInfo};
use crate::plan::Offer;

/// Powers of 1024, from bytes on.
const BYTE_UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const PIECE: &str = "piece";
const GIB: u64 = 1 << 30;
/// Enough for more than one slot of usual flavors.
const SOLD_GIB: u64 = 128;

/// The rules that the info breaks.
pub fn violations(info: &ServiceInfo) -> Vec<String> {
    let resources = info.resources.iter().flatten();
    let mut all: Vec<_> = resources.flat_map(|(name, resource)| resource_violations(info, name, resource)).collect();
    all.extend(category_violations(info));
    all
}

fn resource_violations(info: &ServiceInfo, name: &str, resource: &ResourceInfo) -> Vec<String> {
    let mut all = Vec::new();
    if !is_name(name) {
        all.push(format!("{name:?} is not a name of a resource"));
    }
    if unit_bytes(&resource.unit).is_none() {
        all.push(format!("{name}: {:?} is not a unit", resource.unit));
    }
    let is_declared = |category: &String| info.categories.iter().flatten().any(|(declared, _)| declared == category);
    if let Some(category) = resource.category_name.as_ref().filter(|category| !is_declared(category)) {
        all.push(format!("{name}: category {category:?} is not declared"));
    }
    all
}

fn category_violations(info: &ServiceInfo) -> Vec<String> {
    let of_resources = info.resources.iter().flatten().filter_map(|(_, resource)| resource.category_name.as_deref());
    let of_rates = info.rates.iter().flatten().filter_map(|(_, rate)| rate.category_name.as_deref());
    let used: BTreeSet<&str> = of_resources.chain(of_rates).collect();
    let declared = info.categories.iter().flatten();
    let wrong = declared.filter(|(name, category)| {
        name.is_empty() || category.display_name.is_empty() || !used.contains(name.as_str())
    });
    wrong.map(|(name, _)| format!("category {name:?} has no name, or no resource")).collect()
}

/// A letter, then letters, digits and `.`, `_`, `-`.
fn is_name(text: &str) -> bool {
    let is_rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic()) && text.bytes().all(is_rest)
}

/// The bytes of one unit, 0 for pieces; `None` for what is no unit.
fn unit_bytes(unit: &str) -> Option<u64> {
    let (number, unit) = match unit.split_once(' ') {
        Some((number, unit)) => (number.parse().ok().filter(|number| *number > 0)?, unit),
        None => (1_u64, unit),
    };
    if ["", PIECE].contains(&unit) {
        return Some(0);
    }
    let power = BYTE_UNITS.iter().position(|known| *known == unit)?;
    number.checked_mul(1_u64.checked_shl(10 * u32::try_from(power).ok()?)?)
}

/// Memory to sell, and what it can be converted to: memory of another group if there is some.
pub fn offers(info: &ServiceInfo) -> Option<(Offer, Option<Offer>)> {
    let resources = info.resources.iter().flatten().filter(|(_, resource)| resource.handles_commitments);
    let mut offers: Vec<_> = resources.filter_map(|(name, resource)| offer(name, resource)).collect();
    // Memory first; the order by name stays.
    offers.sort_by_key(|offer| !offer.is_memory);
    let mut offers = offers.into_iter();
    let sold = offers.next().filter(|offer| offer.is_memory)?;
    Some((sold, offers.next()))
}

fn offer(name: &str, resource: &ResourceInfo) -> Option<Offer> {
    let bytes = unit_bytes(&resource.unit)?;
    let amount = (SOLD_GIB * GIB).checked_div(bytes).unwrap_or(8).max(2);
    Some(Offer {
        name: name.to_owned(),
        unit: resource.unit.clone(),
        is_memory: bytes > 0,
        // It is split into halves.
        amount: amount.next_multiple_of(2),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resource(unit: &str, more: &Value) -> Value {
        let mut resource = json!({
            "displayName": "r", "unit": unit, "topology": "az-separated", "hasCapacity": true,
            "needsResourceDemand": false, "hasQuota": true, "handlesCommitments": true, "attributes": {}
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            resource[key] = value.clone();
        }
        resource
    }

    fn info(categories: &Value, resources: &Value) -> ServiceInfo {
        let info = json!({
            "version": 1, "displayName": "", "categories": categories, "resources": resources, "rates": null,
            "capacityMetricFamilies": null, "usageMetricFamilies": null
        });
        serde_json::from_value(info).unwrap()
    }

    #[test]
    fn units_are_a_word_or_a_number_and_a_word() {
        for (unit, bytes) in [("", 0), ("piece", 0), ("GiB", 1 << 30), ("480 GiB", 480 << 30), ("2 TiB", 2 << 40)] {
            assert_eq!(unit_bytes(unit), Some(bytes), "{unit}");
        }
        for unit in ["GB", "0 GiB", "-1 GiB", "480GiB", "1 2 GiB", "16 EiB"] {
            assert_eq!(unit_bytes(unit), None, "{unit}");
        }
    }

    #[test]
    fn every_broken_rule_is_named() {
        let none = json!({});
        let sound = info(&Value::Null, &json!({ "hw_version_a_ram": resource("GiB", &none) }));
        assert_eq!(violations(&sound), [""; 0]);
        let wrong = info(
            &json!({ "unused": { "displayName": "u" } }),
            &json!({ "1st": resource("GB", &json!({ "categoryName": "c" })) }),
        );
        assert_eq!(
            violations(&wrong),
            [
                "\"1st\" is not a name of a resource",
                "1st: \"GB\" is not a unit",
                "1st: category \"c\" is not declared",
                "category \"unused\" has no name, or no resource"
            ]
        );
    }

    #[test]
    fn memory_is_sold_and_converted_to_memory_of_another_group() {
        let none = json!({});
        let all = json!({
            "a_cores": resource("piece", &none), "a_ram": resource("GiB", &none), "b_ram": resource("480 GiB", &none),
            "b_instances": resource("piece", &json!({ "handlesCommitments": false })),
        });
        let (sold, other) = offers(&info(&Value::Null, &all)).unwrap();
        let other = other.unwrap();
        assert_eq!((sold.name.as_str(), sold.amount), ("a_ram", 128));
        assert_eq!((other.name.as_str(), other.amount), ("b_ram", 2));
        let cores = json!({ "a_cores": resource("piece", &none) });
        assert_eq!(offers(&info(&Value::Null, &cores)), None);
    }
}
