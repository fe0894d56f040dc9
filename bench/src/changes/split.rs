//! Row l: a commitment whose slots hold VMs is split. The slots stay where they are, and only change their commitment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_crds::{Hypervisor, Reservation, testing};
use berth_limes::requests::Status::{Confirmed, Superseded};
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::limes::{item, sold};
use super::scene::Scene;
use crate::cloud;
use crate::error::Error;
use crate::fill::all;
use crate::floor::scene::with_hosts;
use crate::pairs::per;
use crate::plane::Plane;
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row};

const HOSTS: usize = 120;
const WHOLE: (&str, usize) = ("bench-whole", 100);
const PARTS: [(&str, usize); 2] = [("bench-part-0", 60), ("bench-part-1", 40)];
const WRITES_PER_SLOT: f64 = 1.1;
const WITHIN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a split has taken.
struct Split {
    took: Duration,
    requests: Requests,
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let mut splits = Vec::new();
    for round in 0..size.rounds(3, 1) {
        let split = split().await?;
        println!("l, round {}: {:.1} ms; {}", round + 1, split.took.as_secs_f64() * 1e3, split.requests);
        splits.push(split);
    }
    Ok(row(&splits))
}

async fn split() -> Result<Split, Error> {
    let scene = Scene::open(with_hosts(HOSTS).await?).await?;
    let mut limes = scene.connect("split").await?;
    limes.change(testing::ZONE, &[sold(WHOLE.0, WHOLE.1)]).await?;
    fill_slots(&scene.plane).await?;
    until_filled(&scene.plane, &[WHOLE]).await?;
    scene.plane.rest().await?;
    let before = scene.plane.requests().await?;
    let superseded = item(WHOLE.0, WHOLE.1, Some(Confirmed), Some(Superseded));
    let items: Vec<_> = [superseded].into_iter().chain(PARTS.map(|(uuid, slots)| sold(uuid, slots))).collect();
    let took = limes.change(testing::ZONE, &items).await?;
    until_filled(&scene.plane, &PARTS).await?;
    scene.plane.rest().await?;
    let requests = scene.plane.requests().await?.since(&before);
    scene.close().await?;
    Ok(Split { took, requests })
}

/// Starts a VM in every slot, as Nova and its hosts would.
async fn fill_slots(plane: &Plane) -> Result<(), Error> {
    let slots: Api<Reservation> = Api::all(plane.admin().clone());
    let hosts: Api<Hypervisor> = Api::all(plane.admin().clone());
    let mut of_hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for slot in slots.list(&ListParams::default()).await?.items {
        let vm = json!({ "creationTimestamp": Timestamp::now(), "resources": slot.spec.resources });
        let patch = json!({ "spec": { "committedResourceReservation": { "allocations": { vm_of(&slot): vm } } } });
        slots.patch(&slot.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
        of_hosts.entry(slot.spec.target_host.clone().unwrap_or_default()).or_default().push(vm_of(&slot));
    }
    let of_hosts: Vec<_> = of_hosts.into_iter().collect();
    all(0..of_hosts.len(), async |number| {
        let (host, vms) = &of_hosts[number];
        let patch = Patch::Merge(status_with(vms));
        hosts.patch_status(host, &PatchParams::default(), &patch).await.map(drop).map_err(Error::from)
    })
    .await
}

fn vm_of(slot: &Reservation) -> String {
    format!("vm-{}", slot.name_any())
}

/// The status of a host that runs these VMs.
fn status_with(vms: &[String]) -> Value {
    let instances: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": true })).collect();
    let used = testing::size(&format!("{}Gi", vms.len() * cloud::GIB), &(vms.len() * cloud::CORES).to_string());
    json!({ "status": { "instances": instances, "numInstances": vms.len(), "allocation": used } })
}

/// Waits until every commitment has its number of slots, each with its VM, and there are no others.
async fn until_filled(plane: &Plane, expected: &[(&str, usize)]) -> Result<(), Error> {
    let api: Api<Reservation> = Api::all(plane.admin().clone());
    let expected: BTreeMap<String, usize> = expected.iter().map(|(uuid, slots)| ((*uuid).to_owned(), *slots)).collect();
    let deadline = Instant::now() + WITHIN;
    loop {
        let found = filled_slots(&api.list(&ListParams::default()).await?.items);
        if found == expected {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Error::Scene(format!("slots with VMs: {found:?} instead of {expected:?}")));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The slots of each commitment that hold the VM that was started in them.
fn filled_slots(slots: &[Reservation]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for slot in slots {
        let status = slot.status.as_ref().and_then(|status| status.committed_resource_reservation.as_ref());
        let vms: BTreeSet<_> = status.into_iter().flat_map(|status| status.allocations.keys().cloned()).collect();
        let data = slot.spec.committed_resource_reservation.clone().unwrap_or_default();
        if vms == [vm_of(slot)].into() {
            *found.entry(data.commitment_uuid.unwrap_or_default()).or_default() += 1;
        }
    }
    found
}

fn row(splits: &[Split]) -> Row {
    let worst = |of: &dyn Fn(&Requests) -> u64| splits.iter().map(|split| of(&split.requests)).max().unwrap_or(0);
    let of_slots = worst(&|requests| requests.writes_of(&["reservations"]));
    let others = worst(&|requests| requests.writes() - requests.writes_of(&["reservations", "events"]));
    let (events, slots) = (worst(&|requests| requests.writes_of(&["events"])), WHOLE.1);
    let took = splits.iter().map(|split| split.took).max().unwrap_or_default().as_secs_f64() * 1e3;
    let (found, all) = (per(of_slots, slots), per(of_slots + others, slots));
    let goals = vec![
        Goal::budget(
            format!("at most {WRITES_PER_SLOT} writes per slot"),
            format!("{found:.2}"),
            found <= WRITES_PER_SLOT,
        ),
        Goal::new(
            "shown",
            format!(
                "{others} other writes, {all:.2} per slot with them; {events} events; answered within {took:.0} ms"
            ),
        ),
    ];
    let [(_, first), (_, second)] = PARTS;
    Row {
        letter: 'l',
        what: format!("a commitment of {slots} slots with VMs is split into {first} and {second}"),
        goals,
    }
}
