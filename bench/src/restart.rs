//! Restart and take-over on a full cloud (row e of docs/performance.md): the time until the operator decides again, and
//! that it writes nothing unnecessary. The journal of the API server shows when something was written, its counters how
//! much.

mod moments;

use berth_crds::names;
use jiff::Timestamp;

use crate::cloud;
use crate::error::Error;
use crate::fill::{Counts, create, fill};
use crate::floor::watching::Watching;
use crate::operator::Operator;
use crate::pairs::{median, per};
use crate::plane::Plane;
use crate::requests::Requests;
use crate::size::Size;
use crate::table::{Goal, Row, WRITES_PER_COMMITMENT, WRITES_PER_SLOT};
use moments::{first_slot, lease_taken};

const ELECT: &[&str] = &["--leader-elect"];
/// The slots of the commitment that is created right after the event.
const SLOTS: usize = 4;
const RECONCILIATIONS: &str = "berth_controller_runs_total";

/// The event that ends the leader.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The leader exits in order, and another process is started.
    Restart,
    /// The leader is killed, and a running standby takes over.
    TakeOver,
}

/// The outcome of one round.
#[derive(Clone, Debug)]
struct Outcome {
    /// Seconds from the event to the first slot of a new commitment.
    after_event: f64,
    /// The same from the moment when the new leader got the lease.
    after_lease: f64,
    requests: Requests,
}

pub async fn measure(size: Size) -> Result<Vec<Row>, Error> {
    let (hosts, rounds) = size.pick((500, 5), (50, 2));
    let commitments = hosts * cloud::COMMITMENTS_PER_HOST;
    let counts = Counts { hosts, commitments, slots: commitments * cloud::SLOTS };
    let plane = Plane::start().await?;
    println!("e, creating {} objects", counts.objects());
    fill(&plane, counts).await?;
    let mut rows = Vec::new();
    for (place, event) in [Event::Restart, Event::TakeOver].into_iter().enumerate() {
        let quiet = idle(&plane, event, counts).await?;
        println!("e, {event:?}, nothing to do: {quiet}");
        let mut outcomes = Vec::new();
        for round in 0..rounds {
            let outcome = decide(&plane, event, &format!("bench-new-{place}-{round}")).await?;
            println!(
                "e, {event:?}: {:.2} s, {:.2} s after the lease; {}",
                outcome.after_event, outcome.after_lease, outcome.requests
            );
            outcomes.push(outcome);
        }
        rows.push(row(event, counts, &quiet, &outcomes));
    }
    plane.stop().await?;
    Ok(rows)
}

/// The writes when there is nothing to do.
async fn idle(plane: &Plane, event: Event, counts: Counts) -> Result<Requests, Error> {
    let ready = ready(plane, event).await?;
    let before = plane.requests().await?;
    let mut operator = ready.happen(plane).await?;
    let all = "every object is reconciled";
    operator.counted(RECONCILIATIONS, "controller=\"committed-resource\"", counts.commitments, all).await?;
    operator.counted(RECONCILIATIONS, "controller=\"commitment-reservation\"", counts.slots, all).await?;
    plane.rest().await?;
    let requests = plane.requests().await?.since(&before);
    operator.stop().await?;
    Ok(requests)
}

async fn decide(plane: &Plane, event: Event, uuid: &str) -> Result<Outcome, Error> {
    let ready = ready(plane, event).await?;
    let (before, mut watching) = (plane.requests().await?, Watching::begin(plane.admin()).await?);
    let desired = cloud::commitment(uuid, SLOTS);
    let began = Timestamp::now();
    let (operator, _) = tokio::try_join!(ready.happen(plane), create(plane.admin(), &desired))?;
    watching.ready(1).await?;
    plane.rest().await?;
    let requests = plane.requests().await?.since(&before);
    let write_requests = plane.control_plane().write_requests()?;
    let prefix = format!("{}-", names::commitment(uuid));
    let (slot, lease) = (first_slot(&write_requests, &prefix, began)?, lease_taken(&write_requests, began)?);
    operator.stop().await?;
    let seconds = |since: Timestamp| slot.duration_since(since).as_secs_f64();
    Ok(Outcome { after_event: seconds(began), after_lease: seconds(lease), requests })
}

/// The leader and the standby.
struct Pair {
    leader: Operator,
    next: Operator,
}

/// The state that is needed before the event.
enum Ready {
    Restart,
    TakeOver(Box<Pair>),
}

async fn ready(plane: &Plane, event: Event) -> Result<Ready, Error> {
    let ready = match event {
        Event::Restart => Ready::Restart,
        Event::TakeOver => {
            let mut leader = Operator::start_with(plane, ELECT).await?;
            leader.ready().await?;
            let mut next = Operator::start_with(plane, ELECT).await?;
            next.ready().await?;
            Ready::TakeOver(Box::new(Pair { leader, next }))
        }
    };
    plane.rest().await?;
    Ok(ready)
}

impl Ready {
    async fn happen(self, plane: &Plane) -> Result<Operator, Error> {
        match self {
            Self::Restart => Operator::start_with(plane, ELECT).await,
            Self::TakeOver(pair) => {
                let Pair { leader, next } = *pair;
                drop(leader);
                Ok(next)
            }
        }
    }
}

fn row(event: Event, counts: Counts, quiet: &Requests, outcomes: &[Outcome]) -> Row {
    let (what, from) = match event {
        Event::Restart => ("restart", "start of the process"),
        Event::TakeOver => ("take-over, the leader killed", "death of the leader"),
    };
    let middle = |of: fn(&Outcome) -> f64| median(outcomes.iter().map(of));
    let shown = format!(
        "{:.2} s; {:.2} s after the lease was taken",
        middle(|outcome| outcome.after_event),
        middle(|outcome| outcome.after_lease)
    );
    let goals = [Goal::new(format!("from the {from} to the first slot of a new commitment"), shown), unneeded(quiet)];
    let goals = goals.into_iter().chain(needed(outcomes)).collect();
    Row { letter: 'e', what: format!("{what} at {} slots", counts.slots), goals }
}

fn unneeded(quiet: &Requests) -> Goal {
    let (writes, leases) = (quiet.writes(), quiet.leases());
    Goal::budget("nothing to do: no write besides the Lease", format!("{writes}; {leases} of the Lease"), writes == 0)
}

/// The worst round counts. The commitments themselves are created by their users.
fn needed(outcomes: &[Outcome]) -> [Goal; 2] {
    let worst = |of: fn(&Requests) -> f64| outcomes.iter().map(|outcome| of(&outcome.requests)).fold(0.0, f64::max);
    let budget = |most: f64, of: &str, found: f64| {
        Goal::budget(format!("at most {most} writes per {of}"), format!("{found:.2}"), found <= most)
    };
    let others = |requests: &Requests| per(requests.writes() - requests.writes_of(&["reservations"]) - 1, 1);
    [
        budget(WRITES_PER_SLOT, "new slot", worst(|requests| per(requests.writes_of(&["reservations"]), SLOTS))),
        budget(WRITES_PER_COMMITMENT, "new commitment, with events and all else", worst(others)),
    ]
}
