//! The unit in which Limes counts the RAM of a group: the published one, because Limes goes on counting in it while another one is
//! configured, else the configured one.

use std::sync::Arc;

use berth_core::GroupName;
use berth_core::liquid::units::{RamUnit, UnitOf};

use super::Memory;

impl Memory {
    /// The unit of a group; `None` if nothing is published and the configured unit is too large.
    pub(crate) fn declared_units(&self) -> impl Fn(&GroupName) -> Option<RamUnit> + Send + Sync + use<> {
        let (published, config) = (self.published_info.clone(), self.service_info.config.clone());
        move |group| {
            let in_use = published.get().and_then(|published| published.ram_unit(group));
            in_use.or_else(|| config.of(group).ram_unit().ok())
        }
    }

    /// The same for numbers that people read, which need some unit.
    pub(crate) fn unit_of(&self) -> UnitOf {
        let declared = self.declared_units();
        Arc::new(move |group| declared(group).unwrap_or_default())
    }
}
