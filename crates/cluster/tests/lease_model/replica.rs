//! One replica of the model: the production code and its environment.

use std::time::Duration;

use berth_cluster::testing::lease::{Action, LeaseRecord, ObservedLease, RenewTime, ReplicaState, Timing, may_write};

use crate::{DEADLINE, Event, Object, Rules, World};

/// A call of a replica to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Read,
    /// A create, without a version, or an update.
    Write {
        base: Option<String>,
        renew_time: RenewTime,
    },
}

/// An answer of the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Shows(Option<Object>),
    Refused,
}

/// The state of a slow call.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Sent,
    Done(Answer),
}

/// A write of a controller on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataWrite {
    /// When it went to the socket, in true time.
    pub at: Duration,
    pub tenure: u32,
}

pub fn renewed(record: &LeaseRecord) -> Duration {
    Duration::from_micros(record.renew_time.map_or(0, |renew_time| renew_time.0.unsigned_abs()))
}

#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    pub standing: ReplicaState,
    pub call: Option<(Call, Progress)>,
    pub deadline: Duration,
    pub ahead: Duration,
    /// The error of its wall clock, for the faulty rule that takes the age of a lease from wall clocks.
    pub wall_error: Option<Duration>,
    pub paused: bool,
    pub ended: bool,
    /// Whether a controller has passed the fence and its write waits in the client.
    pub started: bool,
    /// The write that was sent and is not finished.
    pub sent: Option<DataWrite>,
    pub tenure: u32,
}

impl Replica {
    pub fn new(which: usize, wall_errors: Option<[Duration; 3]>) -> Self {
        Self {
            standing: ReplicaState::new(format!("replica-{which}")),
            wall_error: wall_errors.map(|errors| errors[which]),
            call: None,
            deadline: Duration::ZERO,
            ahead: Duration::ZERO,
            paused: false,
            ended: false,
            started: false,
            sent: None,
            tenure: 0,
        }
    }

    pub fn may_write(&self, now: Duration, timing: &Timing) -> bool {
        !self.ended && may_write(self.standing.leads_since(), now, timing)
    }

    /// The result of `step` for the facts, or for facts with a wrong age of the lease.
    fn step(&self, time: Duration) -> Action {
        let now = time + self.ahead;
        let Some(error) = self.wall_error else { return self.standing.step(now) };
        let mut standing = self.standing.clone();
        if let ObservedLease::There { record, since } = &mut standing.seen {
            *since = now.saturating_sub((time + error).saturating_sub(renewed(record)));
        }
        standing.step(now)
    }

    pub fn is_quiet(&self, world: &World, which: usize) -> bool {
        let waits = match &self.call {
            Some(_) => world.now(which) < self.deadline,
            None => matches!(self.step(world.time), Action::Wait(_)),
        };
        waits && !self.started
    }

    pub fn events(&self, world: &World, rules: &Rules, which: usize, events: &mut Vec<Event>) {
        if matches!(self.call, Some((_, Progress::Sent))) {
            events.push(Event::Arrives(which));
        }
        if self.ended {
            return;
        }
        if self.paused {
            events.push(Event::GoesOn(which));
            return;
        }
        if world.left.pauses > 0 {
            events.push(Event::Pauses(which));
        }
        self.own_events(world, rules, which, events);
    }

    fn own_events(&self, world: &World, rules: &Rules, which: usize, events: &mut Vec<Event>) {
        let now = world.now(which);
        match &self.call {
            Some((_, progress)) => {
                if matches!(progress, Progress::Done(_)) {
                    events.push(Event::IsAnswered(which));
                }
                if now >= self.deadline {
                    events.push(Event::GivesUp(which));
                }
            }
            None => match self.step(world.time) {
                Action::Wait(_) => {}
                Action::Lost(_) => events.push(Event::Acts(which)),
                _ => {
                    events.push(Event::Acts(which));
                    if world.left.slow_calls > 0 {
                        events.push(Event::ActsSlowly(which));
                    }
                }
            },
        }
        if self.started {
            events.push(Event::Sends(which));
        } else if !world.written && self.may_write(now, &rules.timing) {
            events.push(Event::BeginsToWrite(which));
        }
    }

    pub fn hears(&mut self, answer: Answer, now: Duration) {
        let led = self.standing.held.is_some();
        match answer {
            Answer::Refused => self.standing.refused(),
            Answer::Shows(object) => {
                let tenure = object.as_ref().map_or(0, |object| object.tenure);
                self.standing.sees(object.map(|object| object.record), now);
                if !led && self.standing.held.is_some() {
                    self.tenure = tenure;
                }
            }
        }
    }
}

impl World {
    /// The replica does what `step` returns; returns the call that it sends, if any.
    pub fn act(&mut self, which: usize) -> Option<Call> {
        let (time, now) = (self.time, self.now(which));
        let replica = &mut self.replicas[which];
        replica.deadline = now + replica.standing.remaining_time(now, DEADLINE);
        let base = match replica.step(time) {
            Action::Wait(_) => return None,
            Action::Lost(_) => {
                (replica.ended, replica.started) = (true, false);
                self.lost = true;
                return None;
            }
            Action::Read => {
                replica.standing.reads(now);
                return Some(Call::Read);
            }
            Action::Create => None,
            Action::Acquire(version) | Action::Renew(version) => Some(version),
        };
        let wall = replica.wall_error.map_or(Duration::ZERO, |error| time + error);
        let micros = i64::try_from(wall.as_micros()).unwrap_or(i64::MAX);
        let renew_time = replica.standing.writes(now, RenewTime(micros));
        Some(Call::Write { base, renew_time })
    }

    /// The body of a controller's write goes to the socket, if the fence is still open.
    pub fn send(&mut self, rules: &Rules, which: usize) {
        let (open, at) = (self.may_write(rules, which) || !rules.last_moment, self.time);
        let replica = &mut self.replicas[which];
        replica.started = false;
        if open {
            replica.sent = Some(DataWrite { at, tenure: replica.tenure });
        }
    }
}
