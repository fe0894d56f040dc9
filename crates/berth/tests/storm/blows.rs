//! The faults of the processes: each of the three is killed and paused once in a round, in an order and for times that
//! a seed decides. One of the pauses is longer than a write may take. Sometimes the operator is killed while etcd or
//! the API server is paused, with its requests still on the way, and its successor starts before they land.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use berth_control_plane::Part;
use berth_testkit::Random;
use tokio::time::sleep;

use crate::support::world::World;

/// The process that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Operator,
    Of(Part),
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Kill,
    Pause,
}

/// One fault of one process.
#[derive(Clone, Copy, Debug)]
pub struct Blow {
    victim: Victim,
    how: How,
    time: Duration,
    /// Whether the operator is killed as well, in the middle.
    and_the_operator: bool,
}

/// The faults so far: the count and the longest time of each.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<(Victim, How), (u64, Duration)>);

pub const VICTIMS: [Victim; 3] = [Victim::Operator, Victim::Of(Part::ApiServer), Victim::Of(Part::Etcd)];

const MILLISECOND: Duration = Duration::from_millis(1);
const MOMENT: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(1200)];
/// A write has 4 s.
const LONG: [Duration; 2] = [Duration::from_millis(4500), Duration::from_secs(6)];

/// The faults of one round, in their order. The long pause hits `longest`.
pub fn of_round(random: &mut Random, longest: Victim) -> Vec<Blow> {
    let pairs = VICTIMS.into_iter().flat_map(|victim| [How::Kill, How::Pause].map(|how| (victim, how)));
    let mut left: Vec<_> = pairs.collect();
    let mut blows = Vec::new();
    while !left.is_empty() {
        let (victim, how) = left.swap_remove(random.below(left.len()));
        let is_long = how == How::Pause && victim == longest;
        let time = draw(random, if is_long { LONG } else { MOMENT });
        let others = how == How::Pause && victim != Victim::Operator;
        blows.push(Blow { victim, how, time, and_the_operator: others && !is_long && random.chance(500) });
    }
    blows
}

pub fn pause(random: &mut Random) -> Duration {
    draw(random, MOMENT)
}

fn draw(random: &mut Random, [least, most]: [Duration; 2]) -> Duration {
    random.duration(&(least..=most))
}

impl Blow {
    pub async fn strikes(self, world: &mut World, tally: &mut Tally) {
        match (self.victim, self.how) {
            (Victim::Operator, How::Kill) => {
                world.kill();
                sleep(self.time).await;
                world.launch().await;
            }
            (Victim::Operator, How::Pause) => {
                world.operator().signal("STOP");
                sleep(self.time).await;
                world.operator().signal("CONT");
            }
            (Victim::Of(part), How::Kill) => {
                world.control_plane().kill(part).await.unwrap();
                sleep(self.time).await;
                world.control_plane().restart(part).await.unwrap();
            }
            (Victim::Of(part), How::Pause) => self.stands_still(part, world, tally).await,
        }
        tally.add(self.victim, self.how, self.time);
    }

    async fn stands_still(self, part: Part, world: &mut World, tally: &mut Tally) {
        world.control_plane().pause(part).unwrap();
        if self.and_the_operator {
            sleep(self.time / 2).await;
            world.kill();
            world.launch().await;
            sleep(self.time / 2).await;
            tally.add(Victim::Operator, How::Kill, MILLISECOND);
        } else {
            sleep(self.time).await;
        }
        world.control_plane().resume(part).unwrap();
    }
}

impl Tally {
    fn add(&mut self, victim: Victim, how: How, time: Duration) {
        let (count, longest) = self.0.entry((victim, how)).or_default();
        *count += 1;
        *longest = time.max(*longest);
    }

    /// Whether every process had every kind of fault at least this many times.
    pub fn has_everything(&self, times: u64) -> bool {
        self.0.len() == 2 * VICTIMS.len() && self.0.values().all(|(count, _)| *count >= times)
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator => "operator",
            Self::Of(Part::ApiServer) => "API server",
            Self::Of(Part::Etcd) => "etcd",
        })
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "killed",
            Self::Pause => "paused",
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reported = |((victim, how), (count, longest)): (&(Victim, How), &(u64, Duration))| {
            format!("{victim} {how} {count} times (up to {:.1} s)", longest.as_secs_f64())
        };
        f.write_str(&self.0.iter().map(reported).collect::<Vec<_>>().join(", "))
    }
}
