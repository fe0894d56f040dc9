//! The request of a dry run: the body of a request to the API, or a flavor with what goes with it. Whatever it asks, the
//! run changes nothing and explains itself.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use berth_core::{
    FlavorName,
    flavor::{Flavor, FlavorGroup, FlavorGroups},
};
use berth_scheduler::{Hints, Intent, Options, Request};
use berth_scheduler_api::wire;
use berth_telemetry::config::ReservationController;

use crate::{
    args::RequestSource,
    commands::{looking::Look, similar},
    error::Error,
};

/// Ties are decided by a hash of this name.
const INSTANCE: &str = "dry-run";

/// Reads a body of at most so many bytes from a file, or from standard input.
pub(super) fn read(path: &Path, most: usize) -> Result<Request, Error> {
    let shown = path.display().to_string();
    let bytes = match shown.as_str() {
        "-" => bounded(io::stdin().lock(), most),
        _ => File::open(path).and_then(|file| bounded(file, most)),
    };
    let body = bytes.map_err(|source| Error::Unread { path: shown.clone(), source })?;
    let body = body.ok_or(Error::TooLarge { path: shown, most })?;
    Ok(dry(wire::decode(&body)?.request))
}

/// `None` when there is more.
fn bounded(source: impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    source.take(limit).read_to_end(&mut body)?;
    Ok((body.len() <= most).then_some(body))
}

/// The same request as a run that changes nothing.
fn dry(request: Request) -> Request {
    let asked = request.options;
    let options = Options {
        assume_empty_hosts: asked.assume_empty_hosts,
        lock_reservations: asked.lock_reservations,
        ignored_reservation_types: asked.ignored_reservation_types,
        max_candidates: asked.max_candidates,
        explain: true,
        ..Options::read_only()
    };
    Request { options, ..request }
}

/// The request that the short form stands for.
pub(super) fn short(source: &RequestSource, look: &Look) -> Result<Request, Error> {
    let known = look.flavor_groups()?;
    let name = FlavorName::from(source.flavor.as_deref().unwrap_or_default());
    let group = known.groups.group_of(&name);
    let Some((group, flavor)) = group.and_then(|group| Some((group, group.flavor(&name)?))) else {
        return Err(unknown(&name, &known.groups));
    };
    Ok(shortened(source, group, flavor, &look.configuration.reservation_controller))
}

fn unknown(name: &FlavorName, groups: &FlavorGroups) -> Error {
    let names = groups.iter().flat_map(|group| &group.flavors).map(|flavor| flavor.name.as_str());
    Error::Unknown { what: "flavor", name: name.to_string(), hint: similar::hint(name.as_str(), names) }
}

/// Slots are placed as the controller of slots does it, VMs as Nova asks.
pub(super) fn shortened(
    source: &RequestSource,
    group: &FlavorGroup,
    flavor: &Flavor,
    configured: &ReservationController,
) -> Request {
    let intent =
        source.intent.as_deref().and_then(|name| Intent::ALL.into_iter().find(|intent| intent.as_str() == name));
    let is_slot = intent == Some(Intent::ReserveForCommittedResource);
    let usual = configured.pipeline(group.name.as_str()).filter(|_| is_slot);
    let request = Request {
        project: source.project.as_deref().unwrap_or_default().into(),
        zone: source.zone.as_deref().unwrap_or_default().into(),
        hints: intent.map(Hints::for_intent).unwrap_or_default(),
        pipeline: source.pipeline.as_deref().or(usual).unwrap_or_default().to_owned(),
        options: Options { lock_reservations: is_slot, ..Options::default() },
        ..Request::new(INSTANCE, flavor.clone())
    };
    dry(request)
}
