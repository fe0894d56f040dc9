//! The numbers of a FlavorGroupCapacity.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_core::capacity::Occupied;
use berth_core::liquid::capacity::PlaceCapacity;
use berth_core::{Bytes, Cores, Quantity, Resources};
use jiff::Timestamp;
use thiserror::Error;

use crate::{FlavorGroupCapacity, FlavorGroupCapacityStatus, conditions, resources};

/// A value in place of a number of cores that is not a number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("status.totalCapacity.cores is {0:?}, it must be a number of cores, 0 or more")]
pub struct NoTotal(pub String);

/// Cores of the empty data centre, rounded down; `None` if they have not been published yet. An invalid total is an
/// error, so that it is not used for a decision.
pub fn total_cores(object: &FlavorGroupCapacity) -> Result<Option<Cores>, NoTotal> {
    let status = object.status.as_ref();
    let Some(text) = status.and_then(|status| status.total_capacity.get(resources::CORES)) else { return Ok(None) };
    let total = Quantity::parse(text.as_str()).ok().filter(|total| !total.is_negative());
    let total = total.ok_or_else(|| NoTotal(text.as_str().to_owned()))?;
    Ok(Some(Cores::new(total.round_down())))
}

/// A value in place of an amount that is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("status.{field} is {value:?}, it must be a number, 0 or more")]
pub struct NoAmount {
    field: String,
    value: String,
}

/// What runs, is reserved and is free. Absent amounts are 0, also the units of objects that [lack](lacks_running_units) them.
pub fn place_capacity(object: &FlavorGroupCapacity) -> Result<PlaceCapacity, NoAmount> {
    let none = FlavorGroupCapacityStatus::default();
    let status = object.status.as_ref().unwrap_or(&none);
    let running = Occupied {
        instances: count("runningInstances", status.running_instances)?,
        resources: amounts("runningResources", &status.running_resources)?,
        units: count("runningUnits", status.running_units)?,
    };
    let reserved = Occupied {
        instances: count("reservedInstances", status.reserved_instances)?,
        resources: amounts("reservedResources", &status.reserved_resources)?,
        units: count("reservedUnits", status.reserved_units)?,
    };
    let free_slots = count("exclusivelyFreeSlots", status.exclusively_free_slots)?;
    let free = amounts("exclusivelyFreeCapacity", &status.exclusively_free_capacity)?;
    Ok(PlaceCapacity { running, reserved, free_slots, free })
}

/// True if VMs run and their memory in declared units is not stored: others than Berth do not write it.
pub fn lacks_running_units(object: &FlavorGroupCapacity) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| status.running_units.is_none() && status.running_instances.is_some_and(|vms| vms > 0))
}

/// Whether the object says that it is up to date, and was written at most `max_age` ago: whoever writes it may have ended.
pub fn is_up_to_date(object: &FlavorGroupCapacity, now: Timestamp, max_age: Duration) -> bool {
    let Some(status) = &object.status else { return false };
    let is_young = |written: Timestamp| {
        // A negative age is that of a clock that is behind.
        Duration::try_from(now.duration_since(written)).map_or(true, |age| age <= max_age)
    };
    conditions::is_ready(&status.conditions) && status.last_reconcile_at.as_ref().is_some_and(|at| is_young(at.0))
}

fn count(field: &str, stored: Option<i64>) -> Result<u64, NoAmount> {
    let stored = stored.unwrap_or(0);
    stored.try_into().map_err(|_| NoAmount { field: field.to_owned(), value: stored.to_string() })
}

/// Rounded down, as every capacity.
fn amounts(field: &str, map: &BTreeMap<String, crate::Quantity>) -> Result<Resources, NoAmount> {
    let amount = |key: &str| {
        let Some(text) = map.get(key).map(crate::Quantity::as_str) else { return Ok(0) };
        let amount = Quantity::parse(text).ok().filter(|amount| !amount.is_negative()).map(Quantity::round_down);
        amount.ok_or_else(|| NoAmount { field: format!("{field}.{key}"), value: text.to_owned() })
    };
    Ok(Resources::new(Bytes::new(amount(resources::MEMORY)?), Cores::new(amount(resources::CORES)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> FlavorGroupCapacity {
        let status = serde_json::from_str(text).unwrap();
        FlavorGroupCapacity { status: Some(status), ..FlavorGroupCapacity::default() }
    }

    #[test]
    fn the_amounts_of_an_object_are_read_and_absent_ones_are_zero() {
        let object = stored(
            r#"{"runningInstances": 3, "runningUnits": 56, "runningResources": {"memory": "57296Mi", "cores": "14"},
                "reservedInstances": 2, "reservedUnits": 16, "reservedResources": {"memory": "16Gi", "cores": "4500m"},
                "exclusivelyFreeSlots": 6, "exclusivelyFreeCapacity": {"memory": "49056Mi", "cores": "12"}}"#,
        );
        let size = |mib, cores| Resources::new(Bytes::from_mib(mib), Cores::new(cores));
        let expected = PlaceCapacity {
            running: Occupied { instances: 3, resources: size(57_296, 14), units: 56 },
            reserved: Occupied { instances: 2, resources: size(16_384, 4), units: 16 },
            free_slots: 6,
            free: size(49_056, 12),
        };
        assert_eq!(place_capacity(&object), Ok(expected));
        assert!(!lacks_running_units(&object));
        assert_eq!(place_capacity(&FlavorGroupCapacity::default()), Ok(PlaceCapacity::default()));
    }

    #[test]
    fn only_an_object_with_vms_lacks_their_units() {
        assert!(lacks_running_units(&stored(r#"{"runningInstances": 3}"#)));
        for complete in [r#"{"runningInstances": 3, "runningUnits": 0}"#, r#"{"runningInstances": 0}"#, "{}"] {
            assert!(!lacks_running_units(&stored(complete)), "{complete}");
        }
        assert!(!lacks_running_units(&FlavorGroupCapacity::default()));
    }

    #[test]
    fn an_amount_that_makes_no_sense_is_named() {
        for (text, field) in [
            (r#"{"exclusivelyFreeSlots": -1}"#, "status.exclusivelyFreeSlots is \"-1\""),
            (r#"{"runningResources": {"memory": "much"}}"#, "status.runningResources.memory is \"much\""),
            (r#"{"reservedResources": {"cores": "-2"}}"#, "status.reservedResources.cores is \"-2\""),
        ] {
            let why = place_capacity(&stored(text)).unwrap_err().to_string();
            assert_eq!(why, format!("{field}, it must be a number, 0 or more"));
        }
    }

    fn of(text: Option<&str>) -> Result<Option<Cores>, NoTotal> {
        let mut object = FlavorGroupCapacity::default();
        let map = &mut object.status.get_or_insert_default().total_capacity;
        map.extend(text.map(|text| (resources::CORES.to_owned(), text.into())));
        total_cores(&object)
    }

    #[test]
    fn total_of_zero_is_a_real_zero_and_an_absent_one_is_none() {
        assert_eq!(total_cores(&FlavorGroupCapacity::default()), Ok(None));
        assert_eq!((of(None), of(Some("0"))), (Ok(None), Ok(Some(Cores::ZERO))));
        assert_eq!(of(Some("319999m")), Ok(Some(Cores::new(319))), "capacity rounds down");
    }

    #[test]
    fn a_total_that_makes_no_sense_is_named() {
        for text in ["-5", "many"] {
            let why = of(Some(text)).unwrap_err().to_string();
            assert!(why.contains(text) && why.contains("status.totalCapacity.cores"), "{why}");
        }
    }
}
