//! Bodies of inventories, with the defaults of what a record leaves out.

use berth_placement_model::command::ReservedRule;
use berth_placement_model::{ClassName, Inventory, Version};

use super::{Lazy, integer, text};
use crate::json::Json;
use crate::schema::{Pattern, Schema};

const MOST: (f64, &str) = (2_147_483_647.0, "2147483647");

fn count(least: i128) -> Schema {
    Schema::integer().at_most(MOST.0, MOST.1).at_least(least)
}

/// A record in which nothing but `total` is required.
fn record() -> Schema {
    Schema::object()
        .with("resource_provider_generation", Schema::integer())
        .requires("total", count(1))
        .with("reserved", count(0))
        .with("min_unit", count(1))
        .with("max_unit", count(1))
        .with("step_size", count(1))
        .with("allocation_ratio", Schema::number().at_most(3.40282e+38, "3.40282e+38"))
}

/// PUT of all inventories, also of one provider of a reshape.
pub fn all() -> Schema {
    Schema::object()
        .requires("resource_provider_generation", Schema::integer())
        .requires("inventories", Schema::object().matching(Pattern::NAME, record()).open())
}

pub static ADDED: Lazy = Lazy::new(|| record().requires("resource_class", Schema::text().like(Pattern::NAME)));
pub static ONE: Lazy = Lazy::new(|| record().requires("resource_provider_generation", Schema::integer()));
pub static ALL: Lazy = Lazy::new(all);

pub fn reserved_rule(version: Version) -> ReservedRule {
    if version.has(Version::ALL_RESERVED) { ReservedRule::UpToTotal } else { ReservedRule::BelowTotal }
}

pub fn class(body: &Json) -> ClassName {
    ClassName::new(&text(body, "resource_class"))
}

pub fn generation(body: &Json) -> i64 {
    integer(body, "resource_provider_generation")
}

pub fn inventory(record: &Json) -> Inventory {
    let count = |name: &str, default: u64| {
        record.get(name).and_then(Json::as_integer).and_then(|count| u64::try_from(count).ok()).unwrap_or(default)
    };
    Inventory {
        total: count("total", 1),
        reserved: count("reserved", 0),
        min_unit: count("min_unit", 1),
        max_unit: count("max_unit", Inventory::LARGEST),
        step_size: count("step_size", 1),
        allocation_ratio: record.get("allocation_ratio").and_then(Json::as_number).unwrap_or(1.0),
    }
}

/// All records of a body, in its order. A key that is not a class name is returned with a placeholder record, because
/// only its name will be read.
pub fn inventories(body: &Json) -> Vec<(ClassName, Inventory)> {
    let records = body.get("inventories").map(Json::members).unwrap_or_default();
    let valid =
        |name: &str, record| if (Pattern::NAME.matches)(name) { inventory(record) } else { inventory(&Json::Null) };
    records.iter().map(|(name, record)| (ClassName::new(name), valid(name, record))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;
    use crate::schema::check;

    fn reported(schema: &Schema, body: &str) -> String {
        check(&read(body.as_bytes()).unwrap(), schema).map_or_else(|complaint| complaint.message, |()| String::new())
    }

    #[test]
    fn amounts_of_inventories_have_limits() {
        for (record, expected) in [
            (r#"{"total": 1}"#, ""),
            (r#"{"total": 2147483647, "reserved": 0, "allocation_ratio": -1}"#, ""),
            (r#"{"total": 0}"#, "0 is less than the minimum of 1"),
            (r#"{"total": 2147483648}"#, "2147483648 is greater than the maximum of 2147483647"),
            (r#"{"total": 1, "reserved": -1}"#, "-1 is less than the minimum of 0"),
            (r#"{"total": 1, "allocation_ratio": 3.5e38}"#, "3.5e+38 is greater than the maximum of 3.40282e+38"),
            (r#"{"total": 1, "colour": "red"}"#, "Additional properties are not allowed ('colour' was unexpected)"),
            ("{}", "'total' is a required property"),
        ] {
            let body = format!(r#"{{"resource_provider_generation": 0, "inventories": {{"VCPU": {record}}}}}"#);
            assert_eq!(reported(&ALL, &body), expected, "{record}");
        }
        assert_eq!(reported(&ONE, r#"{"total": 1}"#), "'resource_provider_generation' is a required property");
        assert_eq!(reported(&ADDED, r#"{"total": 1, "resource_class": "no"}"#), "'no' does not match '^[A-Z0-9_]+$'");
    }

    #[test]
    fn what_is_left_out_gets_its_default() {
        let body = read(br#"{"inventories": {"VCPU": {"total": 4.0, "allocation_ratio": 2}, "no class": 7}}"#).unwrap();
        let default = Inventory {
            total: 4,
            reserved: 0,
            min_unit: 1,
            max_unit: 2_147_483_647,
            step_size: 1,
            allocation_ratio: 2.0,
        };
        let read = inventories(&body);
        assert_eq!(read[0], (ClassName::new("VCPU"), default));
        assert_eq!(read[1].0.as_str(), "no class");
    }
}
