//! The purpose of a request, and the scheduler hints that state it.

use std::collections::BTreeMap;

use serde_json::Value;
use strum::{Display, IntoStaticStr, VariantArray};

use crate::SchedulerError;

const CHECK_TYPE: &str = "_nova_check_type";
/// The hint that carries the domain name.
pub(crate) const DOMAIN_NAME: &str = "domain_name";

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, Display, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Intent {
    Create,
    Rebuild,
    Resize,
    LiveMigration,
    /// Starting a VM elsewhere after its host was lost.
    Evacuate,
    ReserveForFailover,
    /// Whether a VM could share a fail-over slot.
    ReuseFailoverReservation,
    /// A host for a slot of a commitment.
    ReserveForCommittedResource,
    CapacityProbe,
}

impl Intent {
    /// The intents for which fail-over reservations are managed and capacity is probed: rules that bind VMs to images,
    /// projects or groups do not apply to them.
    pub(crate) const NOT_A_VM: [Self; 3] =
        [Self::ReserveForFailover, Self::ReuseFailoverReservation, Self::CapacityProbe];
    pub(crate) const NOT_A_VM_OR_SLOT: [Self; 4] = [
        Self::ReserveForFailover,
        Self::ReuseFailoverReservation,
        Self::ReserveForCommittedResource,
        Self::CapacityProbe,
    ];

    pub const ALL: &'static [Self] = Self::VARIANTS;

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The intent of a hint's value; anything unknown is a creation.
    fn parse(value: &str) -> Self {
        match value {
            "rebuild" => Self::Rebuild,
            "resize" => Self::Resize,
            "live_migrate" => Self::LiveMigration,
            "evacuate" => Self::Evacuate,
            "reserve_for_failover" => Self::ReserveForFailover,
            "reuse_failover_reservation" => Self::ReuseFailoverReservation,
            "reserve_for_committed_resource" => Self::ReserveForCommittedResource,
            "capacity_probe" => Self::CapacityProbe,
            _ => Self::Create,
        }
    }

    /// True for the requests of controllers, which Nova never sends: they mean exactly the hosts that they list, and a
    /// filter that failed is an error for them.
    pub fn is_internal(self) -> bool {
        match self {
            Self::ReserveForFailover
            | Self::ReuseFailoverReservation
            | Self::ReserveForCommittedResource
            | Self::CapacityProbe => true,
            Self::Create | Self::Rebuild | Self::Resize | Self::LiveMigration | Self::Evacuate => false,
        }
    }

    /// The value of the hint that gives this intent.
    fn hint(self) -> &'static str {
        match self {
            Self::LiveMigration => "live_migrate",
            other => other.as_str(),
        }
    }
}

/// The scheduler hints of a request; a request may have none at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints(Option<BTreeMap<String, Value>>);

impl Hints {
    /// The hints as the request has them; `None` when the field is absent or null.
    pub fn new(hints: Option<BTreeMap<String, Value>>) -> Self {
        Self(hints)
    }

    /// Only the intent.
    pub fn for_intent(intent: Intent) -> Self {
        Self::default().with(CHECK_TYPE, intent.hint())
    }

    pub fn for_slot(domain_name: Option<&str>) -> Self {
        let hints = Self::for_intent(Intent::ReserveForCommittedResource);
        match domain_name {
            Some(name) => hints.with(DOMAIN_NAME, name),
            None => hints,
        }
    }

    pub fn entries(&self) -> Option<&BTreeMap<String, Value>> {
        self.0.as_ref()
    }

    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.0.get_or_insert_default().insert(key.to_owned(), Value::from(value));
        self
    }

    /// The value of a hint: a string, or the first element of a list.
    pub fn get(&self, key: &str) -> Result<&str, SchedulerError> {
        let hints = self.0.as_ref().ok_or_else(|| SchedulerError::Hint("scheduler hints are not set".to_owned()))?;
        let value = hints.get(key).ok_or_else(|| SchedulerError::Hint(format!("scheduler hint {key:?} not found")))?;
        let first = value.as_array().map_or(Some(value), |list| list.first());
        first.and_then(Value::as_str).ok_or_else(|| SchedulerError::Hint("unknown scheduler hint type".to_owned()))
    }

    /// The intent; `None` when its hint cannot be read, as for a plain creation by Nova.
    pub fn intent(&self) -> Option<Intent> {
        self.get(CHECK_TYPE).ok().map(Intent::parse)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hints(value: &Value) -> Hints {
        Hints::new(Some(BTreeMap::from([("_nova_check_type".to_owned(), value.clone())])))
    }

    #[test]
    fn intents_are_read_from_the_hints() {
        for intent in Intent::ALL.iter().copied() {
            assert_eq!(Hints::for_intent(intent).intent(), Some(intent));
        }
        assert_eq!(hints(&json!("")).intent(), Some(Intent::Create));
        assert_eq!(hints(&json!(["evacuate", 3])).intent(), Some(Intent::Evacuate));
        assert_eq!(Hints::default().intent(), None);
        assert_eq!(hints(&json!([])).intent(), None);
    }

    #[test]
    fn hints_that_cannot_be_read_are_refused() {
        for (hints, text) in [
            (Hints::default(), "scheduler hints are not set"),
            (Hints::new(Some(BTreeMap::new())), "scheduler hint \"_nova_check_type\" not found"),
            (hints(&json!([])), "unknown scheduler hint type"),
            (hints(&json!([1])), "unknown scheduler hint type"),
            (hints(&json!({"a": 1})), "unknown scheduler hint type"),
        ] {
            assert_eq!(hints.get("_nova_check_type").unwrap_err().to_string(), text);
        }
    }
}
