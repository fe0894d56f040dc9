//! Row C: the push of the quota of one project in three zones, beside three parallel writes of a bare client.

use std::time::Duration;

use berth_crds::{ProjectQuota, ProjectQuotaSpec, names, testing};
use futures::future::try_join_all;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::limes::Limes;
use super::scene::Scene;
use crate::cloud;
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::pairs::{self, Pair, Side, alternate, median};
use crate::plane::Plane;
use crate::size::Size;
use crate::table::{Goal, Row};
use crate::times::Times;

/// The project of the bare client.
const BARE: &str = "bare";
const HOSTS: usize = 12;
const ZONES: usize = 3;
/// Long enough for the events of the writes.
const PAUSE: Duration = Duration::from_millis(30);
const WARM_UP: usize = 5;
const TIMES_THE_BARE: f64 = 1.3;

/// Measures both sides in turn on one control plane.
pub async fn measure(size: Size) -> Result<Row, Error> {
    let (runs, rounds) = (size.pick(100, 20), size.rounds(6, 2));
    let scene = Scene::open(with_hosts(HOSTS).await?).await?;
    let mut limes = scene.connect("quota").await?;
    let bare = BareWriter::new(&scene.plane).await?;
    scene.plane.rest().await?;
    let pairs = alternate(rounds, async |round, side| {
        let mut times = Times::default();
        for run in 0..WARM_UP + runs {
            let amount = round * (WARM_UP + runs) + run + 1;
            let took = match side {
                Side::Operator => push(&mut limes, amount).await?,
                Side::Floor => bare.write(amount).await?,
            };
            if run >= WARM_UP {
                times.add(took);
            }
            sleep(PAUSE).await;
        }
        println!("C, round {}, {side:?}: {times}", round + 1);
        Ok(times)
    });
    let pairs = pairs.await?;
    scene.close().await?;
    Ok(Row {
        letter: 'C',
        what: format!("a push of quota in {ZONES} zones, {runs} times"),
        goals: vec![compared(&pairs)],
    })
}

fn compared(pairs: &[Pair<Times>]) -> Goal {
    let millis = |times: &Times| times.median().as_secs_f64() * 1e3;
    let ratio = pairs::ratio(pairs, millis);
    let pushed = median(pairs.iter().map(|pair| millis(&pair.operator)));
    let bare = median(pairs.iter().map(|pair| millis(&pair.floor)));
    Goal::wanted(
        format!("p50 at most {TIMES_THE_BARE} times {ZONES} parallel writes of a bare client"),
        format!("{ratio:.2} times ({pushed:.1} ms to {bare:.1} ms)"),
        ratio <= TIMES_THE_BARE,
    )
}

/// Each push changes the quota of every zone.
async fn push(limes: &mut Limes, amount: usize) -> Result<Duration, Error> {
    let zones: serde_json::Map<String, Value> =
        (0..ZONES).map(|zone| (cloud::zone(zone).to_owned(), json!({ "quota": amount }))).collect();
    let resource = format!("hw_version_{}_ram", testing::GROUP);
    let quota = json!({ "resources": { resource: { "quota": ZONES * amount, "perAZ": zones } } });
    limes.set_quota(testing::PROJECT, &quota).await
}

/// Writes what a push writes, into objects of its own.
struct BareWriter(Api<ProjectQuota>);

impl BareWriter {
    async fn new(plane: &Plane) -> Result<Self, Error> {
        let api = Api::all(plane.bare_client().await?);
        for zone in 0..ZONES {
            api.create(&PostParams::default(), &ProjectQuota::new(&name(zone), spec(zone, 0)?)).await?;
        }
        Ok(Self(api))
    }

    async fn write(&self, amount: usize) -> Result<Duration, Error> {
        let patch = async |zone: usize| {
            let patch = Patch::Merge(json!({ "spec": spec(zone, amount)? }));
            Ok::<_, Error>(self.0.patch(&name(zone), &PatchParams::default(), &patch).await.map(drop)?)
        };
        let began = Instant::now();
        try_join_all((0..ZONES).map(patch)).await?;
        Ok(began.elapsed())
    }
}

fn name(zone: usize) -> String {
    names::project_quota(BARE, cloud::zone(zone))
}

fn spec(zone: usize, amount: usize) -> Result<ProjectQuotaSpec, Error> {
    let resource = format!("hw_version_{}_ram", testing::GROUP);
    let spec = json!({ "projectID": BARE, "domainID": "", "availabilityZone": cloud::zone(zone), "quota": { resource: amount } });
    Ok(serde_json::from_value(spec)?)
}
