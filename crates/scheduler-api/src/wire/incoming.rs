//! A body becomes a request of the scheduler, or is refused with the member that is wrong.

use std::collections::HashMap;

use berth_core::text::escape_line;
use berth_core::{HostName, flavor};
use berth_scheduler::{Candidates, Destination, Hints, InstanceGroup, Options, Request, ReservationType};
use serde::de::DeserializeSeed as _;

use super::Malformed;
use super::fill::{Fill, Reading, Trail};
use super::members::{self, Body, Listed, Weight};

/// The number of characters that are quoted of a body that is not JSON.
const SHOWN: usize = 300;

/// A request with the data of its context about the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    pub request: Request,
    pub request_id: String,
    /// `context.global_request_id`; empty when there is none.
    pub global_request_id: String,
    pub user: String,
    /// `context.project_id`, for logs: decisions use the project of the VM.
    pub project: String,
}

/// Reads a request. Members without an effect are passed over, whatever they hold.
pub fn decode(body: &[u8]) -> Result<Incoming, Malformed> {
    let body: Body = read(body, true).map_err(Malformed::Body)?;
    let candidates = Candidates::Listed(weighed(body.hosts, body.weights)?);
    Ok(Incoming {
        request: request(body.spec.0, candidates, body.pipeline, options(&body.options)),
        request_id: body.context.request_id,
        global_request_id: body.context.global_request_id,
        user: body.context.user,
        project: body.context.project,
    })
}

/// Reads the first JSON value of a text, which is the `only` one or followed by anything.
pub(super) fn read<T: Fill + Default>(text: &[u8], only: bool) -> Result<T, String> {
    let (mut value, trail) = (T::default(), Trail::default());
    let mut source = serde_json::Deserializer::from_slice(text);
    let mut result = Reading(&mut value, &trail).deserialize(&mut source);
    if only {
        result = result.and_then(|()| source.end());
    }
    match result {
        Ok(()) => Ok(value),
        Err(error) => Err(explained(trail, &error)),
    }
}

fn explained(trail: Trail, error: &serde_json::Error) -> String {
    let path = trail.path();
    let what = match trail.wrong() {
        Some((expected, found)) => format!("expected {expected}, found {found}"),
        None => escape_line(&error.to_string(), SHOWN),
    };
    if path.is_empty() { what } else { format!("{path}: {what}") }
}

/// The hosts with their weights: every host has one, and every weight a host.
fn weighed(hosts: Vec<Listed>, mut weights: HashMap<String, Weight>) -> Result<Vec<(HostName, f64)>, Malformed> {
    let weigh = |listed: Listed| {
        let host = listed.host.unwrap_or_default();
        let Some(weight) = weights.get_mut(host.as_str()) else {
            return Err(Malformed::NoWeight(host.as_str().to_owned()));
        };
        weight.used = true;
        Ok((host, weight.value))
    };
    let weighed = hosts.into_iter().map(weigh).collect::<Result<Vec<_>, _>>()?;
    let unused = weights.into_iter().filter(|(_, weight)| !weight.used).map(|(host, _)| host).min();
    unused.map_or(Ok(weighed), |host| Err(Malformed::NoHost(host)))
}

fn request(spec: members::Spec, candidates: Candidates, pipeline: String, options: Options) -> Request {
    let flavor = flavor(spec.flavor.0);
    Request {
        project: spec.project.into(),
        zone: spec.zone.into(),
        instances: spec.instances,
        hints: Hints::new(spec.hints.0),
        ignore_hosts: names(spec.ignore_hosts),
        force_hosts: names(spec.force_hosts),
        image_properties: spec.image.0.properties.0,
        destination: spec.destination.0.map(|wrapped| destination(wrapped.0)),
        group: spec.group.0.map(|wrapped| group(wrapped.0)),
        candidates,
        pipeline,
        options,
        ..Request::new(spec.instance, flavor)
    }
}

fn names<T: From<String>, C: FromIterator<T>>(texts: Vec<String>) -> C {
    texts.into_iter().map(T::from).collect()
}

/// More vCPUs than a flavor can have are as many as it can: no host has them either.
fn flavor(flavor: members::Flavor) -> flavor::Flavor {
    flavor::Flavor {
        name: flavor.name.into(),
        vcpus: u32::try_from(flavor.vcpus).unwrap_or(u32::MAX),
        memory_mib: flavor.memory_mib,
        disk_gib: 0,
        extra_specs: flavor.extra_specs,
    }
}

fn destination(destination: members::Destination) -> Destination {
    Destination { host: destination.host.into(), aggregates: destination.aggregates }
}

fn group(group: members::Group) -> InstanceGroup {
    InstanceGroup { policy: group.policy, members: names(group.members), hosts: names(group.hosts), rules: group.rules }
}

fn options(options: &members::Options) -> Options {
    let ignored = options.ignored_reservation_types.iter();
    Options {
        read_only: options.read_only,
        assume_empty_hosts: options.assume_empty_hosts,
        lock_reservations: options.lock_reservations,
        ignored_reservation_types: ignored.filter_map(|name| ReservationType::parse(name)).collect(),
        max_candidates: usize::try_from(options.max_candidates).unwrap_or(0),
        skip_history: options.skip_history,
        skip_inflight: options.skip_inflight,
        skip_committed_resource_tracking: options.skip_committed_resource_tracking,
        explain: options.explain,
    }
}
