//! Three replicas and an API server, for every order of events: the model that stateright checks. A process that can
//! continue does so before time passes, unless it is paused; a pause may begin at any point and last for any time. A
//! call is answered at once, unless it is slow: then it reaches the API server at any time or never, even after its
//! sender has given it up, and its answer comes at any time before the deadline or never. Clocks are half a second
//! apart or not, and change that. Wall clocks do not move. The numbers of pauses, of slow calls and of changes of a
//! clock are limited, the time that passes is not: states that differ only in how long ago something was are one state
//! when the protocol cannot tell them apart (`view`). One write of a controller is enough: writes do not interact, so a
//! single one can violate the invariant.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod check;
mod replica;
mod view;

use std::time::Duration;

use berth_cluster::testing::lease::{LeaseRecord, RenewTime, TIMING, Timing, WRITE_DEADLINE};
use stateright::{Model, Property};

use replica::{Answer, Call, Progress, Replica};

/// How much time passes in a step.
const TICK: Duration = Duration::from_secs(1);
/// How far two clocks can be apart.
const DRIFT: Duration = Duration::from_millis(500);
const DEADLINE: Duration = WRITE_DEADLINE;
/// The time of the start, so that earlier events have a time.
const BEGIN: Duration = Duration::from_secs(1000);

/// The rules of a run.
#[derive(Clone, Debug)]
struct Rules {
    timing: Timing,
    /// Whether the fence is checked again when a write goes to the socket.
    last_moment: bool,
    /// Takes the age of another replica's lease from its `renewTime` and wall clocks that are wrong by this; `None`
    /// takes it from our own clock.
    wall_clocks: Option<[Duration; 3]>,
    errors: &'static [WatchErrors],
}

/// The maximum of faults in a run.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
struct WatchErrors {
    pauses: u8,
    slow_calls: u8,
    clock_changes: u8,
}

/// The Lease object.
#[derive(Clone, Debug, PartialEq)]
struct Object {
    record: LeaseRecord,
    tenure: u32,
}

/// A write to the Lease that its sender has given up and that may still arrive.
#[derive(Clone, Debug, PartialEq)]
struct Zombie {
    me: String,
    base: Option<String>,
    renew_time: RenewTime,
}

/// The state of the model.
#[derive(Clone, Debug, PartialEq)]
struct World {
    time: Duration,
    lease: Option<Object>,
    versions: u32,
    zombie: Option<Zombie>,
    replicas: [Replica; 3],
    left: WatchErrors,
    /// Whether a controller has written, or has begun to.
    written: bool,
    /// The newest tenure whose holder knows that it leads.
    started: u32,
    lost: bool,
}

/// The next event, and the replica that it affects.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    TimePasses,
    /// Time passes, and the clock of one replica advances half a second more or less.
    TimePassesUnevenly(usize),
    /// The replica does what `step` returns, and a call is answered at once.
    Acts(usize),
    /// The replica sends a call that is not answered at once.
    ActsSlowly(usize),
    Arrives(usize),
    /// The replica gets the answer to its slow call.
    IsAnswered(usize),
    GivesUp(usize),
    ZombieArrives,
    Pauses(usize),
    GoesOn(usize),
    /// A controller of the replica passes the fence and begins a write.
    BeginsToWrite(usize),
    Sends(usize),
}

impl World {
    fn new(rules: &Rules, errors: WatchErrors) -> Self {
        Self {
            time: BEGIN,
            lease: None,
            versions: 0,
            zombie: None,
            replicas: [0, 1, 2].map(|which| Replica::new(which, rules.wall_clocks)),
            left: errors,
            written: false,
            started: 0,
            lost: false,
        }
    }

    fn now(&self, of: usize) -> Duration {
        self.time + self.replicas[of].ahead
    }

    /// Whether its writes may start, according to the production code.
    fn may_write(&self, rules: &Rules, which: usize) -> bool {
        self.replicas[which].may_write(self.now(which), &rules.timing)
    }

    /// The API server performs a call.
    fn serve(&mut self, me: &str, call: &Call) -> Answer {
        let Call::Write { base, renew_time } = call else { return Answer::Shows(self.lease.clone()) };
        if self.lease.as_ref().map(|lease| &lease.record.version) != base.as_ref() {
            return Answer::Refused;
        }
        self.versions += 1;
        let before = self.lease.take();
        let moved = before.as_ref().is_none_or(|before| before.record.holder.as_deref() != Some(me));
        let record = LeaseRecord {
            holder: Some(me.to_owned()),
            version: self.versions.to_string(),
            duration: TIMING.lease,
            renew_time: Some(*renew_time),
        };
        self.lease = Some(Object { record, tenure: before.map_or(0, |before| before.tenure) + u32::from(moved) });
        Answer::Shows(self.lease.clone())
    }

    /// A replica gets an answer, and may learn from it that it leads.
    fn answer(&mut self, which: usize, answer: Answer) {
        let now = self.now(which);
        let replica = &mut self.replicas[which];
        replica.hears(answer, now);
        if replica.standing.held.is_some() {
            self.started = self.started.max(replica.tenure);
        }
    }

    /// The slow call ends without an answer. A write that has not arrived may arrive later.
    fn give_up(&mut self, which: usize) {
        let replica = &mut self.replicas[which];
        let Some((call, progress)) = replica.call.take() else { return };
        if let Call::Write { base, renew_time } = call {
            replica.standing.unknown();
            if progress == Progress::Sent {
                self.zombie = Some(Zombie { me: replica.standing.me.clone(), base, renew_time });
            }
        }
    }

    /// Whether no replica has anything to do before time passes.
    fn is_quiet(&self) -> bool {
        (0..3).all(|which| {
            let replica = &self.replicas[which];
            replica.paused || replica.ended || replica.is_quiet(self, which)
        })
    }

    fn pass_time(&mut self) {
        self.time += TICK;
        for replica in &mut self.replicas {
            replica.sent = replica.sent.filter(|sent| self.time <= sent.at + DEADLINE);
        }
    }
}

impl Model for Rules {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        self.errors.iter().map(|errors| World::new(self, *errors)).collect()
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        if world.is_quiet() {
            events.push(Event::TimePasses);
            if world.left.clock_changes > 0 {
                events.extend((0..3).map(Event::TimePassesUnevenly));
            }
        }
        if world.zombie.is_some() {
            events.push(Event::ZombieArrives);
        }
        for which in 0..3 {
            world.replicas[which].events(world, self, which, events);
        }
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        let mut next = world.clone();
        match event {
            Event::TimePasses => next.pass_time(),
            Event::Acts(which) => {
                if let Some(call) = next.act(which) {
                    let me = next.replicas[which].standing.me.clone();
                    let answer = next.serve(&me, &call);
                    next.answer(which, answer);
                }
            }
            Event::ActsSlowly(which) => {
                let call = next.act(which)?;
                next.left.slow_calls -= 1;
                next.replicas[which].call = Some((call, Progress::Sent));
            }
            Event::Arrives(which) => {
                let (call, _) = next.replicas[which].call.clone()?;
                let answer = next.serve(&world.replicas[which].standing.me, &call);
                next.replicas[which].call = Some((call, Progress::Done(answer)));
            }
            Event::IsAnswered(which) => match next.replicas[which].call.take()? {
                (_, Progress::Done(answer)) => next.answer(which, answer),
                (_, Progress::Sent) => return None,
            },
            Event::GivesUp(which) => next.give_up(which),
            Event::ZombieArrives => {
                let Zombie { me, base, renew_time } = next.zombie.take()?;
                next.serve(&me, &Call::Write { base, renew_time });
            }
            Event::Pauses(which) => {
                next.left.pauses -= 1;
                next.replicas[which].paused = true;
            }
            Event::GoesOn(which) => next.replicas[which].paused = false,
            Event::TimePassesUnevenly(which) => {
                next.pass_time();
                next.left.clock_changes -= 1;
                let replica = &mut next.replicas[which];
                replica.ahead = if replica.ahead.is_zero() { DRIFT } else { Duration::ZERO };
            }
            Event::BeginsToWrite(which) => (next.written, next.replicas[which].started) = (true, true),
            Event::Sends(which) => next.send(self, which),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            // A write that was sent lands at any time until its deadline, including now.
            Property::always("no write lands when a later leader has begun", |_, world: &World| {
                world.replicas.iter().all(|replica| replica.sent.is_none_or(|sent| sent.tenure >= world.started))
            }),
            Property::always("at most one may write", |rules: &Rules, world: &World| {
                (0..3).filter(|which| world.may_write(rules, *which)).count() <= 1
            }),
            Property::sometimes("a second replica takes over", |_, world: &World| world.started > 1),
            Property::sometimes("a leader loses and another one acquires", |_, world: &World| {
                world.lost && world.started > 1
            }),
            Property::sometimes("a write is sent in a second tenure", |_, world: &World| {
                world.replicas.iter().any(|replica| replica.sent.is_some_and(|sent| sent.tenure > 1))
            }),
        ]
    }
}
