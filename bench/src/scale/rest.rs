//! The cost of an idle operator.

use std::time::Duration;

use tokio::time::sleep;

use crate::error::Error;
use crate::operator::Operator;
use crate::plane::Plane;
use crate::proc::Usage;
use crate::requests::Requests;
use crate::table::{Goal, Row};

const REST_PERCENT: f64 = 2.0;

/// What the idle operator used and wrote.
#[derive(Clone, Debug)]
pub struct Rested {
    time: Duration,
    usage: Usage,
    requests: Requests,
}

pub async fn rest(plane: &Plane, operator: &Operator, time: Duration) -> Result<Rested, Error> {
    let (requests, before) = (plane.requests().await?, operator.usage()?);
    sleep(time).await;
    let usage = operator.usage()?.since(before);
    let rested = Rested { time, usage, requests: plane.requests().await?.since(&requests) };
    println!("d, rest: CPU {:.2} s of {} s; {}", rested.usage.cpu_seconds, time.as_secs(), rested.requests);
    Ok(rested)
}

impl Rested {
    pub fn row(&self, slots: usize) -> Row {
        let (writes, leases) = (self.requests.writes(), self.requests.leases());
        let percent = 100.0 * self.usage.cpu_seconds / self.time.as_secs_f64();
        let goals = vec![
            Goal::budget("no write besides the Lease", format!("{writes}; {leases} of the Lease"), writes == 0),
            Goal::wanted(
                format!("under {REST_PERCENT} % of a core"),
                format!("{percent:.2} %"),
                percent < REST_PERCENT,
            ),
        ];
        Row { letter: 'd', what: format!("{} s of rest at {slots} slots", self.time.as_secs()), goals }
    }
}
