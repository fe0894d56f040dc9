//! One replica of the model: the production code, and what is around it.

use std::time::Duration;

use berth_cluster::testing::lease::{Action, Mark, Record, Seen, Standing, Timing, may_write};

use crate::{DEADLINE, Event, Object, Rules, World};

/// What a replica asks of the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Read,
    /// A create, without a version, or an update.
    Write {
        base: Option<String>,
        mark: Mark,
    },
}

/// What the API server says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Shows(Option<Object>),
    Refused,
}

/// Where a slow call is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Sent,
    Done(Answer),
}

/// A write of a controller, on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataWrite {
    /// When it went to the socket, by the true time.
    pub at: Duration,
    pub tenure: u32,
}

/// The `renewTime` of a lease.
pub fn renewed(record: &Record) -> Duration {
    Duration::from_micros(record.mark.map_or(0, |mark| mark.0.unsigned_abs()))
}

#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    pub standing: Standing,
    pub call: Option<(Call, Progress)>,
    /// On its own clock.
    pub deadline: Duration,
    /// How far its clock is ahead.
    pub ahead: Duration,
    /// With the mistake of taking the age of a lease from wall clocks: the error of its own.
    pub wall_error: Option<Duration>,
    pub paused: bool,
    pub ended: bool,
    /// A controller has asked the fence, and its write waits in the client.
    pub begun: bool,
    /// Its write was sent and is not over.
    pub sent: Option<DataWrite>,
    /// Which tenure it believes to be in.
    pub tenure: u32,
}

impl Replica {
    pub fn new(which: usize, wall_errors: Option<[Duration; 3]>) -> Self {
        Self {
            standing: Standing::new(format!("replica-{which}")),
            wall_error: wall_errors.map(|errors| errors[which]),
            call: None,
            deadline: Duration::ZERO,
            ahead: Duration::ZERO,
            paused: false,
            ended: false,
            begun: false,
            sent: None,
            tenure: 0,
        }
    }

    pub fn may_write(&self, now: Duration, timing: &Timing) -> bool {
        !self.ended && may_write(self.standing.leads_since(), now, timing)
    }

    /// What `step` says of the facts, or of facts that are mistaken in the age of the lease.
    fn step(&self, time: Duration) -> Action {
        let now = time + self.ahead;
        let Some(error) = self.wall_error else { return self.standing.step(now) };
        let mut standing = self.standing.clone();
        if let Seen::There { record, since } = &mut standing.seen {
            *since = now.saturating_sub((time + error).saturating_sub(renewed(record)));
        }
        standing.step(now)
    }

    pub fn is_quiet(&self, world: &World, which: usize) -> bool {
        let waits = match &self.call {
            Some(_) => world.now(which) < self.deadline,
            None => matches!(self.step(world.time), Action::Wait(_)),
        };
        waits && !self.begun
    }

    /// What can happen to it now.
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
        if self.begun {
            events.push(Event::Sends(which));
        } else if !world.written && self.may_write(now, &rules.timing) {
            events.push(Event::BeginsToWrite(which));
        }
    }

    /// As `Election::sees` and `Election::answered`.
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
    /// A replica does what `step` says; the call that it sends, if it does.
    pub fn act(&mut self, which: usize) -> Option<Call> {
        let (time, now) = (self.time, self.now(which));
        let replica = &mut self.replicas[which];
        replica.deadline = now + replica.standing.patience(now, DEADLINE);
        let base = match replica.step(time) {
            Action::Wait(_) => return None,
            Action::Lost(_) => {
                (replica.ended, replica.begun) = (true, false);
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
        let mark = replica.standing.writes(now, Mark(micros));
        Some(Call::Write { base, mark })
    }

    /// The body of the write of a controller goes to the socket, if the fence is still open.
    pub fn send(&mut self, rules: &Rules, which: usize) {
        let (open, at) = (self.may_write(rules, which) || !rules.last_moment, self.time);
        let replica = &mut self.replicas[which];
        replica.begun = false;
        if open {
            replica.sent = Some(DataWrite { at, tenure: replica.tenure });
        }
    }
}
