//! Row k: what is answered without a write, in a large zone: dry runs while there is free capacity, and rejections when
//! there is none. Every answer is compared with `GET info` on the same connection.

use std::time::Duration;

use berth_crds::{Hypervisor, testing};
use berth_limes::requests::{Item, Status};
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::limes::{Limes, SLOTS, item, sold};
use super::scene::Scene;
use crate::cloud;
use crate::error::Error;
use crate::fill::{all, create, flavor_groups, pattern};
use crate::plane::Plane;
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

const SLOTS_PER_HOST: usize = 10;
const TRIED: usize = 10;
const TRIED_MS: f64 = 2.0;
const REJECTED_MS: f64 = 1.0;
const CONFIRMATIONS: usize = 200;
const CONFIRMED_WITHIN: Duration = Duration::from_secs(1);
const RECONCILIATIONS: &str = "berth_controller_runs_total";

/// The hosts of the zone, and how often each question is asked.
#[derive(Clone, Copy, Debug)]
struct Load {
    hosts: usize,
    runs: usize,
}

/// The times of one kind of request, and of `GET info` in between.
struct BesideInfo {
    asked: Times,
    info: Times,
}

/// The rejected confirmations of commitments that wait for capacity.
struct Confirmations {
    seconds: f64,
    requests: Requests,
}

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let load = size.pick(Load { hosts: 2_000, runs: 500 }, Load { hosts: 100, runs: 50 });
    let plane = filled(load.hosts).await?;
    let mut scene = Scene::open(plane).await?;
    let all = "every commitment is reconciled";
    scene.operator.counted(RECONCILIATIONS, "controller=\"committed-resource\"", load.hosts, all).await?;
    let mut limes = scene.connect("rejections").await?;

    scene.plane.rest().await?;
    let tried = time_dry_runs(&mut limes, load).await?;
    println!("k, dry run: {}; GET info: {}", tried.asked, tried.info);

    take_free_capacity(&scene.plane, load.hosts).await?;
    scene.plane.rest().await?;
    let before = scene.plane.requests().await?;
    let rejected = time_rejections(&mut limes, load).await?;
    scene.plane.rest().await?;
    let requests = scene.plane.requests().await?.since(&before);
    println!("k, rejected: {}; GET info: {}; {requests}", rejected.asked, rejected.info);

    let confirmed = confirm_in_vain(&scene, &mut limes).await?;
    println!("k, {CONFIRMATIONS} rejected confirmations: {:.2} s; {}", confirmed.seconds, confirmed.requests);
    scene.close().await?;
    Ok(vec![row(load, &tried, &rejected, &requests), confirmations_row(load, &confirmed)])
}

/// One zone of hosts, each with a commitment and room for some more slots.
async fn filled(hosts: usize) -> Result<Plane, Error> {
    let plane = Plane::start().await?;
    let client = plane.admin();
    flavor_groups(client).await?;
    all(0..hosts, async |number| create(client, &cloud::host(number)).await.map(drop)).await?;
    let pattern = pattern(&plane, SLOTS_PER_HOST).await?;
    all(0..hosts, async |number| {
        let (uuid, host) = (cloud::uuid(number), cloud::host_name(number));
        let commitment = create(client, &pattern.commitment_in(&uuid, testing::ZONE)?).await?;
        let owner = commitment.uid().unwrap_or_default();
        for slot in pattern.slots_on(&host, testing::ZONE, &uuid, &owner)? {
            create(client, &slot).await?;
        }
        Ok(())
    })
    .await?;
    Ok(plane)
}

/// Every host has just the capacity of its slots.
async fn take_free_capacity(plane: &Plane, hosts: usize) -> Result<(), Error> {
    let api: Api<Hypervisor> = Api::all(plane.admin().clone());
    let gib = SLOTS_PER_HOST * cloud::GIB;
    let capacity = testing::size(&format!("{gib}Gi"), &(SLOTS_PER_HOST * cloud::CORES).to_string());
    let patch = Patch::Merge(json!({ "status": { "effectiveCapacity": capacity } }));
    all(0..hosts, async |number| {
        api.patch_status(&cloud::host_name(number), &PatchParams::default(), &patch)
            .await
            .map(drop)
            .map_err(Error::from)
    })
    .await
}

async fn time_dry_runs(limes: &mut Limes, load: Load) -> Result<BesideInfo, Error> {
    let items: Vec<Item> = (0..TRIED).map(|number| sold(&format!("bench-tried-{number}"), SLOTS)).collect();
    time_beside_info(limes, load, async |limes, _| limes.try_only(testing::ZONE, &items).await).await
}

async fn time_rejections(limes: &mut Limes, load: Load) -> Result<BesideInfo, Error> {
    time_beside_info(limes, load, async |limes, number| {
        limes.change_in_vain(testing::ZONE, &[sold(&format!("bench-rejected-{number}"), SLOTS)]).await
    })
    .await
}

async fn time_beside_info(
    limes: &mut Limes,
    load: Load,
    ask: impl AsyncFn(&mut Limes, usize) -> Result<Duration, Error>,
) -> Result<BesideInfo, Error> {
    let (mut asked, mut info) = (Times::default(), Times::default());
    for number in 0..load.runs {
        info.add(limes.time_info().await?);
        asked.add(ask(limes, number).await?);
    }
    Ok(BesideInfo { asked, info })
}

/// After a report of capacity Limes asks to confirm each pending commitment.
async fn confirm_in_vain(scene: &Scene, limes: &mut Limes) -> Result<Confirmations, Error> {
    let uuid = |number: usize| format!("bench-pending-{number}");
    for number in 0..CONFIRMATIONS {
        limes.change(testing::ZONE, &[item(&uuid(number), SLOTS, None, Some(Status::Pending))]).await?;
    }
    scene.plane.rest().await?;
    let (before, mut times) = (scene.plane.requests().await?, Times::default());
    for number in 0..CONFIRMATIONS {
        let confirmed = item(&uuid(number), SLOTS, Some(Status::Pending), Some(Status::Confirmed));
        times.add(limes.change_in_vain(testing::ZONE, &[confirmed]).await?);
    }
    println!("k, rejected confirmation: {times}");
    scene.plane.rest().await?;
    let requests = scene.plane.requests().await?.since(&before);
    Ok(Confirmations { seconds: times.sum().as_secs_f64(), requests })
}

fn row(load: Load, tried: &BesideInfo, rejected: &BesideInfo, requests: &Requests) -> Row {
    let goals = vec![
        time(&format!("dry run of {TRIED} commitments of {SLOTS} slots"), TRIED_MS, tried),
        time(&format!("{SLOTS} slots rejected, without free capacity"), REJECTED_MS, rejected),
        unwritten("rejected", requests),
    ];
    let what = format!("{} hosts of one zone with {} slots", load.hosts, load.hosts * SLOTS_PER_HOST);
    Row { letter: 'k', what, goals }
}

fn confirmations_row(load: Load, confirmed: &Confirmations) -> Row {
    let goals = vec![
        Goal::wanted(
            format!("altogether under {} s", CONFIRMED_WITHIN.as_secs()),
            format!("{:.2} s", confirmed.seconds),
            confirmed.seconds < CONFIRMED_WITHIN.as_secs_f64(),
        ),
        unwritten("confirmations", &confirmed.requests),
    ];
    let what = format!("{CONFIRMATIONS} rejected confirmations, one after the other, {} hosts", load.hosts);
    Row { letter: 'k', what, goals }
}

fn time(what: &str, most: f64, times: &BesideInfo) -> Goal {
    let millis = |times: &Times| times.median().as_secs_f64() * 1e3;
    let (asked, info) = (millis(&times.asked), millis(&times.info));
    Goal::wanted(
        format!("{what}: p50 at most {most} ms over `GET info`"),
        format!("{:.2} ms over it ({asked:.2} ms to {info:.2} ms), p99 {:.2} ms", asked - info, p99(&times.asked)),
        asked - info <= most,
    )
}

fn p99(times: &Times) -> f64 {
    times.percentile(99).as_secs_f64() * 1e3
}

fn unwritten(what: &str, requests: &Requests) -> Goal {
    let events = requests.writes_of(&["events"]);
    let writes = requests.writes() - events;
    Goal::budget(format!("{what}: no write but events"), format!("{writes}; {events} events"), writes == 0)
}
