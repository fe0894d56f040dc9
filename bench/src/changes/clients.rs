//! Row m: several clients that sell in three zones. Changes of a zone are carried out one after the other, so the bare
//! client has one sale under way in each.

use std::time::Duration;

use futures::future::try_join_all;
use tokio::time::Instant;

use super::bare::BareSeller;
use super::journal::SalePattern;
use super::limes::{Limes, SLOTS, sold};
use super::scene::Scene;
use crate::cloud;
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::pairs::{self, Side, alternate, median, per};
use crate::plane::{Plane, PlaneUsage};
use crate::proc::Usage;
use crate::size::Size;
use crate::table::{Goal, Row};

const CLIENTS: usize = 8;
const ZONES: usize = 3;
/// Enough for what 8 clients sell meanwhile.
const HOSTS: usize = 500;
const WARM_UP: usize = 2;
/// The share of the bare client's changes per second.
const OF_BARE: f64 = 0.8;
/// More sales than one client makes.
const EACH: usize = 100_000;

/// Measures both sides in turn and compares them.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let (lasts, rounds) = (size.pick(Duration::from_secs(20), Duration::from_secs(4)), size.rounds(5, 1));
    let pattern = SalePattern::learn().await?;
    let pairs = alternate(rounds, async |round, side| {
        let per_second = match side {
            Side::Operator => sell_by_operator(lasts).await?,
            Side::Floor => sell_bare(lasts, &pattern).await?,
        };
        println!("m, round {}, {side:?}: {per_second:.1} changes per second", round + 1);
        Ok(per_second)
    });
    let pairs = pairs.await?;
    let share = pairs::ratio(&pairs, |per_second| *per_second);
    let operator = median(pairs.iter().map(|pair| pair.operator));
    let bare = median(pairs.iter().map(|pair| pair.floor));
    let goal = Goal::wanted(
        format!("at least {OF_BARE} of the changes per second of a bare client with {ZONES} at a time"),
        format!("{share:.2} ({operator:.1} to {bare:.1} per second)"),
        share >= OF_BARE,
    );
    let what = format!("{CLIENTS} clients that sell {SLOTS} slots again and again in {ZONES} zones");
    Ok(Row { letter: 'm', what, goals: vec![goal] })
}

async fn sell_by_operator(lasts: Duration) -> Result<f64, Error> {
    let scene = Scene::open(with_hosts(HOSTS).await?).await?;
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        clients.push(scene.connect(&format!("client-{client}")).await?);
    }
    for (client, limes) in clients.iter_mut().enumerate() {
        for number in EACH - WARM_UP..EACH {
            sell(limes, client, number).await?;
        }
    }
    scene.plane.rest().await?;
    let (before, own) = (scene.plane.usage()?, scene.operator.usage()?);
    let clients = clients.into_iter().enumerate();
    let per_second = count(clients.map(async |(client, mut limes): (usize, Limes)| {
        sell_until(lasts, async |number| sell(&mut limes, client, number).await).await
    }))
    .await?;
    print_cpu(&scene.plane, before, Some(scene.operator.usage()?.since(own)))?;
    scene.close().await?;
    Ok(per_second)
}

fn print_cpu(plane: &Plane, before: PlaneUsage, operator: Option<Usage>) -> Result<(), Error> {
    let after = plane.usage()?;
    let [server, etcd] = [after.api_server.since(before.api_server), after.etcd.since(before.etcd)];
    let operator = operator.map_or(0.0, |usage| usage.cpu_seconds);
    println!(
        "m, CPU: API server {:.1} s, etcd {:.1} s, operator {operator:.1} s",
        server.cpu_seconds, etcd.cpu_seconds
    );
    Ok(())
}

async fn sell(limes: &mut Limes, client: usize, number: usize) -> Result<(), Error> {
    limes.change(cloud::zone(client), &[sold(&uuid(client, number), SLOTS)]).await.map(drop)
}

async fn sell_bare(lasts: Duration, pattern: &SalePattern) -> Result<f64, Error> {
    let plane = with_hosts(HOSTS).await?;
    let seller = BareSeller::new(&plane, pattern.clone()).await?;
    let sell = async |zone: usize, number: usize| -> Result<(), Error> {
        let host = cloud::host_for(zone + ZONES * number, HOSTS);
        seller.sell(&uuid(zone, number), cloud::zone(zone), &host).await.map(drop)
    };
    for number in EACH - WARM_UP..EACH {
        try_join_all((0..ZONES).map(|zone| sell(zone, number))).await?;
    }
    plane.rest().await?;
    let before = plane.usage()?;
    let zones = (0..ZONES).map(async |zone| sell_until(lasts, async |number| sell(zone, number).await).await);
    let per_second = count(zones).await?;
    print_cpu(&plane, before, None)?;
    plane.stop().await?;
    Ok(per_second)
}

fn uuid(client: usize, number: usize) -> String {
    cloud::uuid(client * EACH + number)
}

/// The number of sales, one after the other, until the time is over.
async fn sell_until(lasts: Duration, mut sell: impl AsyncFnMut(usize) -> Result<(), Error>) -> Result<u64, Error> {
    let (until, mut number) = (Instant::now() + lasts, 0);
    while Instant::now() < until {
        sell(number).await?;
        number += 1;
    }
    Ok(number as u64)
}

/// The sales per second of all sellers together.
async fn count(sellers: impl Iterator<Item: Future<Output = Result<u64, Error>>>) -> Result<f64, Error> {
    let began = Instant::now();
    let sales: u64 = try_join_all(sellers).await?.into_iter().sum();
    Ok(per(sales, 1) / began.elapsed().as_secs_f64())
}
