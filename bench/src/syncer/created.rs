//! Row p: a list of which nothing exists yet, beside a client that only creates the same objects.

use std::time::Duration;

use berth_control_plane::WriteRequest;
use berth_crds::CommittedResource;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use kube::Api;
use kube::api::PostParams;

use super::doubles::{Doubles, Pace, existing};
use super::list_size::{GROWTH, ListSize};
use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::floor::scene::with_hosts;
use crate::pairs::{self, Pair, Side, alternate, median, per};
use crate::plane::Plane;
use crate::size::Size;
use crate::table::{Goal, Row};

/// As many as the operator writes at a time.
const AT_ONCE: usize = 32;
const TIMES_THE_BARE: f64 = 1.1;
const FAST: Pace = Pace::Fast(1000);
/// A scrape costs the operator something for every object, so it is scraped no more often than Prometheus does.
const SCRAPED_EVERY: Duration = Duration::from_secs(15);
const WITHIN: Duration = Duration::from_secs(600);
const RESOURCE: &str = "committedresources";

/// The costs of creating all commitments.
#[derive(Clone, Copy, Debug)]
struct Created {
    /// From the first request to the last answer, by the journal of the API server.
    seconds: f64,
    /// How many of them the API server was working on, on average.
    under_way: f64,
    writes: u64,
    events: u64,
    /// Of the operator, for the whole run; 0 for the bare client.
    cpu_seconds: f64,
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let [small, large] = ListSize::both(size);
    let few = create_all(small).await?.0;
    let mut learned = Vec::new();
    let pairs = alternate(size.rounds(3, 1), async |round, side| {
        let created = match side {
            Side::Operator => {
                let (created, objects) = create_all(large).await?;
                learned = objects;
                created
            }
            Side::Floor => create_bare(&learned).await?,
        };
        println!("p, round {}, {side:?}: {created:?}", round + 1);
        Ok(created)
    });
    let pairs = pairs.await?;
    Ok(row([small, large], few, &pairs))
}

/// A commitment as the syncer creates it.
pub(super) async fn pattern() -> Result<Pattern, Error> {
    let (_, objects) = create_all(ListSize::new(1)).await?;
    let object = objects.first().ok_or_else(|| Error::Scene("a commitment that the syncer creates".to_owned()))?;
    let mut object = object.clone();
    cloud::PATTERN.clone_into(&mut object.spec.commitment_uuid);
    object.metadata.name = Some(berth_crds::names::commitment(cloud::PATTERN));
    Pattern::new(&object, &[])
}

/// Lets the syncer create everything; returns what it has written too.
async fn create_all(size: ListSize) -> Result<(Created, Vec<CommittedResource>), Error> {
    let (plane, doubles) = (with_hosts(0).await?, Doubles::start(size).await?);
    let mut operator = doubles.operator(&plane, FAST).await?;
    let before = plane.requests().await?;
    doubles.let_answer();
    doubles.next_run(doubles.runs()).await?;
    let began = operator.cpu_seconds()?;
    doubles.compared(&mut operator, 1, SCRAPED_EVERY, WITHIN).await?;
    let cpu_seconds = operator.cpu_seconds()? - began;
    plane.rest().await?;
    let requests = plane.requests().await?.since(&before);
    println!("p, {size}: {requests}");
    let objects = existing(&plane).await?;
    if objects.len() != size.commitments {
        return Err(Error::Scene(format!("{size}; the syncer has created {}", objects.len())));
    }
    let (seconds, under_way) = time_of_creates(&plane)?;
    let created = Created {
        seconds,
        under_way,
        writes: requests.writes_of(&[RESOURCE]),
        events: requests.writes_of(&["events"]),
        cpu_seconds,
    };
    operator.stop().await?;
    plane.stop().await?;
    Ok((created, objects))
}

async fn create_bare(objects: &[CommittedResource]) -> Result<Created, Error> {
    let plane = with_hosts(0).await?;
    let api: Api<CommittedResource> = Api::all(plane.bare_client().await?);
    plane.rest().await?;
    let create = async |object: &CommittedResource| api.create(&PostParams::default(), object).await.map(drop);
    stream::iter(objects).map(create).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let (seconds, under_way) = time_of_creates(&plane)?;
    let created = Created { seconds, under_way, writes: objects.len() as u64, events: 0, cpu_seconds: 0.0 };
    plane.stop().await?;
    Ok(created)
}

/// The seconds from the first request to the last answer, and how many requests were under way on average.
fn time_of_creates(plane: &Plane) -> Result<(f64, f64), Error> {
    let all = plane.control_plane().write_requests()?;
    let creates = all.iter().filter(|write| write.verb == "create" && write.resource == RESOURCE);
    let moment = |text: &String| text.parse::<Timestamp>().ok();
    let times = creates.filter_map(|write: &WriteRequest| moment(&write.received).zip(moment(&write.answered)));
    let times: Vec<_> = times.collect();
    let first = times.iter().map(|(received, _)| *received).min();
    let last = times.iter().map(|(_, answered)| *answered).max();
    let (first, last) = first.zip(last).ok_or(Error::AuditLog("the creation of a commitment"))?;
    let seconds = last.duration_since(first).as_secs_f64();
    let busy: f64 = times.iter().map(|(received, answered)| answered.duration_since(*received).as_secs_f64()).sum();
    Ok((seconds, busy / seconds))
}

fn row([small, large]: [ListSize; 2], few: Created, pairs: &[Pair<Created>]) -> Row {
    let what = format!("the syncer over {large} of which none exists");
    let goals = vec![written(large, pairs), time(pairs), growth([small, large], few, pairs), shown(large, pairs)];
    Row { letter: 'p', what, goals }
}

fn written(size: ListSize, pairs: &[Pair<Created>]) -> Goal {
    let writes = pairs.iter().map(|pair| pair.operator.writes).max().unwrap_or_default();
    let events = pairs.iter().map(|pair| pair.operator.events).max().unwrap_or_default();
    let each = per(writes, size.commitments);
    Goal::budget(
        format!("at most {TIMES_THE_BARE} writes per commitment, events apart"),
        format!("{each:.2}; {:.2} events", per(events, size.commitments)),
        each <= TIMES_THE_BARE,
    )
}

fn time(pairs: &[Pair<Created>]) -> Goal {
    let times = pairs::ratio(pairs, |created| created.seconds);
    let operator = median(pairs.iter().map(|pair| pair.operator.seconds));
    let bare = median(pairs.iter().map(|pair| pair.floor.seconds));
    Goal::wanted(
        format!("first to last create at most {TIMES_THE_BARE} times the bare creates"),
        format!("{times:.2} times ({operator:.1} s to {bare:.1} s)"),
        times <= TIMES_THE_BARE,
    )
}

fn growth([small, large]: [ListSize; 2], few: Created, pairs: &[Pair<Created>]) -> Goal {
    let millis = |seconds: f64, size: ListSize| seconds * per(1000, size.commitments);
    let many = millis(median(pairs.iter().map(|pair| pair.operator.cpu_seconds)), large);
    let few = millis(few.cpu_seconds, small);
    let times = many / few;
    Goal::wanted(
        format!("processor time of each commitment: at most {GROWTH} times that with a tenth of the list"),
        format!("{times:.2} times ({many:.3} ms to {few:.3} ms)"),
        times <= GROWTH,
    )
}

fn shown(size: ListSize, pairs: &[Pair<Created>]) -> Goal {
    let cpu = median(pairs.iter().map(|pair| pair.operator.cpu_seconds));
    let per_second = per(size.commitments as u64, 1) / median(pairs.iter().map(|pair| pair.operator.seconds));
    let under_way = |side: fn(&Pair<Created>) -> Created| median(pairs.iter().map(|pair| side(pair).under_way));
    let (ours, bare) = (under_way(|pair| pair.operator), under_way(|pair| pair.floor));
    let shown = format!(
        "{per_second:.0} creates per second, {ours:.1} under way (bare {bare:.1}), {cpu:.1} s of processor time with the run"
    );
    Goal::new("shown", shown)
}
