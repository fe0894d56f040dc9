//! The checks of the API server beyond types, kind by kind.
//!
//! Knowledge and Datasource have none: they belong to another deployment.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, SelectableField};

use crate::normalise::version;
use crate::rules::What::{self, ConditionMap, NotEmpty, NotNegative, WholeQuantity};
use crate::rules::{Check, Rule, attach};

/// Fields that a list or watch of Reservations can select by.
const RESERVATION_SELECTABLE_FIELDS: [&str; 2] = [".spec.type", ".spec.targetHost"];

const COMMITMENT: &str = "CommittedResource";
const RESERVATION: &str = "Reservation";
const CAPACITY: &str = "FlavorGroupCapacity";
const QUOTA: &str = "ProjectQuota";
const CHANGE: &str = "CommitmentChange";
const HYPERVISOR: &str = "Hypervisor";

/// The checks that we add to the kinds that we own.
pub(crate) const OURS: &[Check] = &[
    // CommittedResource
    check(COMMITMENT, "", COMMITMENT_NAME),
    check(COMMITMENT, "spec", COMMITMENT_UUID_IMMUTABLE),
    check(COMMITMENT, "spec.commitmentUUID", COMMITMENT_UUID),
    check(COMMITMENT, "spec", RESOURCE_TYPE_IMMUTABLE),
    check(COMMITMENT, "spec.amount", WholeQuantity),
    check(COMMITMENT, "spec", AMOUNT_OF_MEMORY),
    check(COMMITMENT, "spec", COMMITMENT_TIMES),
    check(COMMITMENT, "spec.flavorGroupName", NotEmpty),
    check(COMMITMENT, "spec.availabilityZone", NotEmpty),
    check(COMMITMENT, "spec.projectID", NotEmpty),
    check(COMMITMENT, "spec.schedulingDomain", SCHEDULING_DOMAIN),
    check(COMMITMENT, "status.conditions", ConditionMap),
    // Reservation
    check(RESERVATION, "spec", VARIANT_COMMITTED),
    check(RESERVATION, "spec", VARIANT_FAILOVER),
    check(RESERVATION, "spec", VARIANT_IN_FLIGHT),
    check(RESERVATION, "spec", TYPE_IMMUTABLE),
    check(RESERVATION, "spec", RESERVATION_TIMES),
    check(RESERVATION, "spec", RESOURCE_KEYS),
    check(RESERVATION, "spec.resources.*", WholeQuantity),
    check(RESERVATION, "spec.resources", MEMORY_NOT_ZERO),
    check(RESERVATION, SLOT, SLOT_COMMITMENT),
    check(RESERVATION, SLOT, SLOT_FLAVOR),
    check(RESERVATION, SLOT, SLOT_GROUP),
    check(RESERVATION, SLOT, SLOT_PROJECT),
    check(RESERVATION, SLOT, SLOT_GENERATION),
    check(RESERVATION, "spec", IN_FLIGHT_HOST),
    check(RESERVATION, "spec", IN_FLIGHT_VM),
    check(RESERVATION, "status.conditions", ConditionMap),
    // FlavorGroupCapacity
    check(CAPACITY, "spec", CAPACITY_IMMUTABLE),
    check(CAPACITY, "spec.flavorGroup", NotEmpty),
    check(CAPACITY, "spec.availabilityZone", NotEmpty),
    check(CAPACITY, "status.conditions", ConditionMap),
    // ProjectQuota
    check(QUOTA, "", QUOTA_NAME),
    check(QUOTA, "spec", PROJECT_IMMUTABLE),
    check(QUOTA, "spec", ZONE_IMMUTABLE),
    check(QUOTA, "spec.quota.*", NotNegative),
    check(QUOTA, "spec.projectID", NotEmpty),
    check(QUOTA, "status.conditions", ConditionMap),
    // CommitmentChange
    check(CHANGE, "spec", CHANGE_IMMUTABLE),
    check(CHANGE, "spec.availabilityZone", NotEmpty),
    check(CHANGE, "spec.items.[].commitmentUUID", NotEmpty),
    check(CHANGE, "status.conditions", ConditionMap),
];

/// The checks that come with the Hypervisor, word for word.
pub(crate) const OF_OWNERS: &[Check] = &[
    check(HYPERVISOR, "spec", IMMUTABLE_IN_TERMINATION),
    check(HYPERVISOR, "spec", MAINTENANCE_REASON),
    check(HYPERVISOR, "spec.groups.[]", ONE_GROUP_TYPE),
    check(HYPERVISOR, "spec.overcommit", OVERCOMMIT),
];

const SLOT: &str = "spec.committedResourceReservation";

const fn check(kind: &'static str, path: &'static str, what: What) -> Check {
    Check { kind, path, what }
}

/// Whether the object before the write had the same fault: then it was stored before the rule, and is served as it is.
macro_rules! ended_before_start {
    () => {
        "(oldSelf.hasValue() && has(oldSelf.value().startTime) && has(oldSelf.value().endTime) \
         && timestamp(dyn(oldSelf.value().startTime)) > timestamp(dyn(oldSelf.value().endTime)))"
    };
}

/// The field is not empty, or it was empty before, in an object that was stored before the rule.
macro_rules! named {
    ($field:literal) => {
        concat!(
            "(has(self.",
            $field,
            ") && size(self.",
            $field,
            ") > 0) || (oldSelf.hasValue() && (!has(oldSelf.value().",
            $field,
            ") || size(oldSelf.value().",
            $field,
            ") == 0))"
        )
    };
}

const COMMITMENT_NAME: What = What::Rule(
    Rule::new(
        "oldSelf.hasValue() || self.metadata.name == 'commitment-' + self.spec.commitmentUUID.lowerAscii()",
        "metadata.name must be 'commitment-' followed by spec.commitmentUUID in lower case",
    )
    .expression(
        "'metadata.name is ' + self.metadata.name + ', but must be commitment-' + self.spec.commitmentUUID.lowerAscii() \
         + ', after spec.commitmentUUID'",
    )
    .optional_old(),
);

const COMMITMENT_UUID_IMMUTABLE: What = What::Rule(
    Rule::new(
        "self.commitmentUUID == oldSelf.commitmentUUID",
        "commitmentUUID cannot be changed; create another object for another commitment",
    )
    .field(".commitmentUUID"),
);

const COMMITMENT_UUID: What = What::Rule(Rule::new(
    "self.matches('^[a-zA-Z0-9-]{5,39}[a-zA-Z0-9]$')",
    "commitmentUUID must be 6 to 40 letters, digits and hyphens, and must not end in a hyphen",
));

const RESOURCE_TYPE_IMMUTABLE: What = What::Rule(
    Rule::new(
        "self.resourceType == oldSelf.resourceType",
        "resourceType cannot be changed; a commitment never changes its resource",
    )
    .field(".resourceType"),
);

const AMOUNT_OF_MEMORY: What = What::Rule(
    Rule::new(
        "self.resourceType != 'memory' || self.amount == '0' || self.amount == 0 \
         || (type(self.amount) == string && self.amount.matches('^[0-9]+[MGTPE]i$'))",
        "amount of memory must be 0 or a whole number with the suffix Mi, Gi, Ti, Pi or Ei, for example 1920Gi",
    )
    .field(".amount"),
);

const COMMITMENT_TIMES: What = What::Rule(
    Rule::new(
        concat!(
            "!has(self.startTime) || !has(self.endTime) || self.startTime <= self.endTime \
             || self.amount == '0' || self.amount == 0 \
             || (oldSelf.hasValue() && oldSelf.value().amount != '0' && oldSelf.value().amount != 0 && ",
            ended_before_start!(),
            ")",
        ),
        "endTime must not be before startTime, unless amount is 0",
    )
    .field(".endTime")
    .optional_old(),
);

const SCHEDULING_DOMAIN: What = What::Rule(Rule::new(
    "self in ['', 'nova', 'cinder', 'manila', 'machines', 'pods']",
    "schedulingDomain must be nova, cinder, manila, machines or pods",
));

const VARIANT_COMMITTED: What = What::Rule(
    Rule::new(
        "has(self.committedResourceReservation) == (self.type == 'CommittedResourceReservation')",
        "committedResourceReservation must be set if type is CommittedResourceReservation, and only then",
    )
    .field(".committedResourceReservation"),
);

const VARIANT_FAILOVER: What = What::Rule(
    Rule::new(
        "has(self.failoverReservation) == (self.type == 'FailoverReservation')",
        "failoverReservation must be set if type is FailoverReservation, and only then",
    )
    .field(".failoverReservation"),
);

const VARIANT_IN_FLIGHT: What = What::Rule(
    Rule::new(
        "has(self.inFlightReservation) == (self.type == 'InFlightReservation')",
        "inFlightReservation must be set if type is InFlightReservation, and only then",
    )
    .field(".inFlightReservation"),
);

const TYPE_IMMUTABLE: What = What::Rule(
    Rule::new("self.type == oldSelf.type", "type cannot be changed; create another Reservation").field(".type"),
);

const RESERVATION_TIMES: What = What::Rule(
    Rule::new(
        concat!(
            "!has(self.startTime) || !has(self.endTime) || self.startTime <= self.endTime || ",
            ended_before_start!(),
        ),
        "endTime must not be before startTime",
    )
    .field(".endTime")
    .optional_old(),
);

const RESOURCE_KEYS: What = What::Rule(
    Rule::new(
        "self.type == 'InFlightReservation' || (has(self.resources) && size(self.resources) == 2 \
         && 'memory' in self.resources && 'cpu' in self.resources)",
        "resources must have the keys memory and cpu, and no others",
    )
    .field(".resources"),
);

const MEMORY_NOT_ZERO: What = What::Rule(Rule::new(
    "!('memory' in self) || (self['memory'] != '0' && self['memory'] != 0)",
    "memory in resources must be more than 0",
));

const SLOT_COMMITMENT: What = What::Rule(
    Rule::new(
        "has(self.commitmentUUID) && self.commitmentUUID.matches('^[a-zA-Z0-9-]{5,39}[a-zA-Z0-9]$')",
        "commitmentUUID must be the UUID of a commitment: 6 to 40 letters, digits and hyphens, not ending in a hyphen",
    )
    .field(".commitmentUUID"),
);

const SLOT_FLAVOR: What = What::Rule(
    Rule::new(named!("resourceName"), "resourceName must be the name of a flavor")
        .field(".resourceName")
        .optional_old(),
);

const SLOT_GROUP: What = What::Rule(
    Rule::new(named!("resourceGroup"), "resourceGroup must be the name of a flavor group")
        .field(".resourceGroup")
        .optional_old(),
);

const SLOT_PROJECT: What = What::Rule(
    Rule::new(named!("projectID"), "projectID must be the id of a project").field(".projectID").optional_old(),
);

const SLOT_GENERATION: What = What::Rule(
    Rule::new("!has(self.parentGeneration) || self.parentGeneration >= 0", "parentGeneration must not be negative")
        .field(".parentGeneration"),
);

const IN_FLIGHT_HOST: What = What::Rule(
    Rule::new(
        "!has(self.inFlightReservation) || (has(self.targetHost) && size(self.targetHost) > 0)",
        "targetHost must be set if type is InFlightReservation",
    )
    .field(".targetHost"),
);

const IN_FLIGHT_VM: What = What::Rule(
    Rule::new(
        "!has(self.inFlightReservation) \
         || (has(self.inFlightReservation.vmID) && size(self.inFlightReservation.vmID) > 0)",
        "inFlightReservation.vmID must be the UUID of a VM",
    )
    .field(".inFlightReservation.vmID"),
);

const CAPACITY_IMMUTABLE: What = What::Rule(Rule::new(
    "self == oldSelf",
    "flavorGroup and availabilityZone cannot be changed; the object is made anew for another pair",
));

/// Where the plain name is not a valid object name, the name ends in a hash that CEL cannot compute; such an object is
/// not checked. The pattern finds what makes a name invalid, because a pattern of what is valid costs too much.
const QUOTA_NAME: What = What::Rule(
    Rule::new(
        "oldSelf.hasValue() || self.metadata.name == 'quota-' + self.spec.projectID + '-' + self.spec.availabilityZone \
         || size(self.spec.projectID) + size(self.spec.availabilityZone) > 246 \
         || (self.spec.projectID + '-' + self.spec.availabilityZone).matches('[^-a-z0-9.]|[-.]$|[-.][.]|[.]-')",
        "metadata.name must be 'quota-', spec.projectID, '-' and spec.availabilityZone",
    )
    .expression(
        "'metadata.name is ' + self.metadata.name + ', but must be quota-' + self.spec.projectID + '-' \
         + self.spec.availabilityZone + ', after spec.projectID and spec.availabilityZone'",
    )
    .optional_old(),
);

const PROJECT_IMMUTABLE: What = What::Rule(
    Rule::new("self.projectID == oldSelf.projectID", "projectID cannot be changed; create another object")
        .field(".projectID"),
);

const ZONE_IMMUTABLE: What = What::Rule(
    Rule::new(
        "self.availabilityZone == oldSelf.availabilityZone",
        "availabilityZone cannot be changed; create another object",
    )
    .field(".availabilityZone"),
);

const CHANGE_IMMUTABLE: What = What::Rule(Rule::new(
    "self == oldSelf",
    "a change cannot be changed: what it says is needed to finish or to undo it; send another request",
));

const IMMUTABLE_IN_TERMINATION: What = What::Rule(Rule::new(
    "!has(oldSelf.maintenance) || oldSelf.maintenance != 'termination' || self.maintenance == 'ha' || self == oldSelf",
    "spec is immutable when maintenance is 'termination'; can only change maintenance to 'ha'",
));

const MAINTENANCE_REASON: What = What::Rule(Rule::new(
    "!has(self.maintenance) || self.maintenance != 'manual' \
     || (has(self.maintenanceReason) && self.maintenanceReason.size() > 0)",
    "maintenanceReason must be non-empty when maintenance is 'manual'",
));

const ONE_GROUP_TYPE: What = What::Rule(Rule::new(
    "(has(self.trait) ? 1 : 0) + (has(self.aggregate) ? 1 : 0) == 1",
    "exactly one group type must be set",
));

const OVERCOMMIT: What = What::Rule(Rule::new("self.all(k, self[k] >= 1.0)", "overcommit ratios must be >= 1.0"));

/// Whether the CRD of a kind is ours: each of them has checks, except the optional one.
pub(crate) fn is_ours(crd: &CustomResourceDefinition) -> bool {
    OURS.iter().any(|check| check.kind == crd.spec.names.kind)
}

/// Adds our checks to the CRD of a kind, if we have any.
pub(crate) fn apply(crd: &mut CustomResourceDefinition) {
    attach(crd, OURS);
    if crd.spec.names.kind == "Reservation"
        && let Some(version) = version(crd)
    {
        version.selectable_fields = Some(RESERVATION_SELECTABLE_FIELDS.map(selectable).to_vec());
    }
}

/// Adds the checks that come with the CRD of another owner.
pub(crate) fn apply_of_owner(crd: &mut CustomResourceDefinition) {
    attach(crd, OF_OWNERS);
}

fn selectable(path: &str) -> SelectableField {
    SelectableField { json_path: path.to_owned() }
}
