//! Single values of objects.

use std::collections::BTreeMap;

use berth_core::host::ConditionStatus;
use berth_core::{Bytes, Cores, Resources};
use jiff::Timestamp;

use crate::{Condition, Quantity, Time, resources};

/// A resource map as a size: consumption is rounded up, missing and unreadable amounts are nothing.
pub fn size(map: &BTreeMap<String, Quantity>) -> Resources {
    Resources::new(Bytes::new(consumed(map, resources::MEMORY)), Cores::new(consumed(map, resources::CPU)))
}

/// A size as the resource map of a Reservation, in canonical quantities.
pub fn resource_map(size: Resources) -> BTreeMap<String, Quantity> {
    [(resources::MEMORY, size.memory.to_string()), (resources::CPU, size.cpu.to_string())]
        .map(|(name, amount)| (name.to_owned(), amount.into()))
        .into()
}

fn consumed(map: &BTreeMap<String, Quantity>, name: &str) -> i64 {
    let quantity = map.get(name).and_then(|quantity| berth_core::Quantity::parse(quantity.as_str()).ok());
    quantity.unwrap_or_default().round_up()
}

/// The instant of a time in whole seconds, as it is stored when we copy it; Go's zero time, which old writers stored for
/// "none", is none.
pub(super) fn instant(time: Option<&Time>) -> Option<Timestamp> {
    const YEAR_TWO: i64 = -62_104_060_800;
    let seconds = time.map(|time| time.0.as_second()).filter(|seconds| *seconds > YEAR_TWO)?;
    Timestamp::from_second(seconds).ok()
}

pub(super) fn status(condition: &Condition) -> ConditionStatus {
    match condition.status.as_str() {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}
