//! The objects of a request with the members that have an effect. Their meaning is in `incoming`.

use std::collections::{BTreeMap, HashMap};

use berth_core::HostName;
use serde_json::Value;

use super::fill::{Fill, Most, members};
use super::values::{Maybe, Wrapped};

#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) spec: Wrapped<Spec>,
    pub(super) context: Context,
    pub(super) hosts: Vec<Listed>,
    pub(super) weights: HashMap<String, Weight>,
    pub(super) pipeline: String,
    pub(super) options: Options,
}

members!(Body {
    "spec" => spec,
    "context" => context,
    "hosts" => hosts,
    "weights" => weights,
    "pipeline" => pipeline,
    "options" => options,
});

#[derive(Debug, Default)]
pub(super) struct Spec {
    pub(super) instance: String,
    pub(super) project: String,
    pub(super) zone: String,
    pub(super) instances: u64,
    pub(super) hints: Maybe<BTreeMap<String, Value>>,
    pub(super) ignore_hosts: Vec<String>,
    pub(super) force_hosts: Vec<String>,
    pub(super) image: Wrapped<Image>,
    pub(super) flavor: Wrapped<Flavor>,
    pub(super) destination: Maybe<Wrapped<Destination>>,
    pub(super) group: Maybe<Wrapped<Group>>,
}

members!(Spec {
    "instance_uuid" => instance,
    "project_id" => project,
    "availability_zone" => zone,
    "num_instances" => instances,
    "scheduler_hints" => hints,
    "ignore_hosts" => ignore_hosts,
    "force_hosts" => force_hosts,
    "image" => image,
    "flavor" => flavor,
    "requested_destination" => destination,
    "instance_group" => group,
});

#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) properties: Wrapped<BTreeMap<String, Value>>,
}

members!(Image { "properties" => properties });

#[derive(Debug, Default)]
pub(super) struct Flavor {
    pub(super) name: String,
    pub(super) memory_mib: u64,
    pub(super) vcpus: u64,
    pub(super) extra_specs: BTreeMap<String, String>,
}

members!(Flavor {
    "name" => name,
    "memory_mb" => memory_mib,
    "vcpus" => vcpus,
    "extra_specs" => extra_specs,
});

#[derive(Debug, Default)]
pub(super) struct Destination {
    pub(super) host: String,
    pub(super) aggregates: Vec<String>,
}

members!(Destination { "host" => host, "aggregates" => aggregates });

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) policy: String,
    pub(super) members: Vec<String>,
    pub(super) hosts: Vec<String>,
    pub(super) rules: BTreeMap<String, Value>,
}

members!(Group { "policy" => policy, "members" => members, "hosts" => hosts, "_rules" => rules });

#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) user: String,
    pub(super) project: String,
    pub(super) request_id: String,
    pub(super) global_request_id: String,
}

members!(Context {
    "user" => user,
    "project_id" => project,
    "request_id" => request_id,
    "global_request_id" => global_request_id,
});

#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) host: Option<HostName>,
}

members!(Listed { "host" => host }, Most::HOSTS);

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the switches of the API")]
pub(super) struct Options {
    pub(super) read_only: bool,
    pub(super) assume_empty_hosts: bool,
    pub(super) lock_reservations: bool,
    pub(super) ignored_reservation_types: Vec<String>,
    pub(super) max_candidates: i64,
    pub(super) skip_history: bool,
    pub(super) skip_inflight: bool,
    pub(super) skip_committed_resource_tracking: bool,
    pub(super) explain: bool,
}

members!(Options {
    "read_only" => read_only,
    "assume_empty_hosts" => assume_empty_hosts,
    "lock_reservations" => lock_reservations,
    "ignored_reservation_types" => ignored_reservation_types,
    "max_candidates" => max_candidates,
    "skip_history" => skip_history,
    "skip_inflight" => skip_inflight,
    "skip_committed_resource_tracking" => skip_committed_resource_tracking,
    "explain" => explain,
});

/// The weight of a host, and whether that host is in the list.
#[derive(Debug, Default)]
pub(super) struct Weight {
    pub(super) value: f64,
    pub(super) used: bool,
}

impl Fill for Weight {
    const EXPECTED: &'static str = f64::EXPECTED;
    const MOST: Most = Most::HOSTS;

    fn whole(&mut self, number: i128) -> bool {
        self.value.whole(number)
    }

    fn number(&mut self, number: f64) -> bool {
        self.value.number(number)
    }
}
