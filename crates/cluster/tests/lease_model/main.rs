//! Three replicas and an API server, for every order of events: the model that stateright checks. What a replica does is
//! decided by the same [`Standing`] and the same [`may_write`] as in production; this file decides what can happen to it.
//!
//! A process that can go on does so before time passes, unless it is paused, and a pause may begin at any point and last
//! as long as it likes. A call is answered at once, unless it is slow: then it reaches the API server at any time or
//! never, even after its sender has given it up, and its answer comes at any time before the deadline or never. Clocks
//! are half a second apart or not, and change that. Wall clocks stand still. The numbers of pauses, of slow calls and of
//! changes of a clock are limited, the time that passes is not: states that differ only in how long ago something was
//! are one state when the protocol cannot tell them apart (`view`). One write of a controller is enough: writes do not
//! meet each other, so that each that breaks the law breaks it alone.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod check;
mod replica;
mod view;

use std::time::Duration;

use berth_cluster::testing::lease::{Mark, Record, TIMING, Timing, WRITE_DEADLINE};
use stateright::{Model, Property};

use replica::{Answer, Call, Progress, Replica};

/// How much time passes at once.
const TICK: Duration = Duration::from_secs(1);
/// How far two clocks can be apart.
const DRIFT: Duration = Duration::from_millis(500);
const DEADLINE: Duration = WRITE_DEADLINE;
/// When it begins, so that what is long ago has a time.
const BEGIN: Duration = Duration::from_secs(1000);

/// The rules of a run.
#[derive(Clone, Debug)]
struct Rules {
    timing: Timing,
    /// The fence is asked again when a write goes to the socket.
    last_moment: bool,
    /// A foreign lease ages by its `renewTime`, and the wall clocks are wrong by this; none: it ages by our own clock.
    wall_clocks: Option<[Duration; 3]>,
    troubles: &'static [Troubles],
}

/// What goes wrong in a run, at most.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
struct Troubles {
    pauses: u8,
    slow_calls: u8,
    clock_changes: u8,
}

/// The Lease object.
#[derive(Clone, Debug, PartialEq)]
struct Object {
    record: Record,
    /// How many holders it has had.
    tenure: u32,
}

/// A write to the Lease that its sender has given up and that may still arrive.
#[derive(Clone, Debug, PartialEq)]
struct Zombie {
    me: String,
    base: Option<String>,
    mark: Mark,
}

/// The world.
#[derive(Clone, Debug, PartialEq)]
struct World {
    time: Duration,
    lease: Option<Object>,
    versions: u32,
    zombie: Option<Zombie>,
    replicas: [Replica; 3],
    left: Troubles,
    /// A controller has written, or has begun to.
    written: bool,
    /// The newest tenure whose holder knows that it leads.
    begun: u32,
    lost: bool,
}

/// What happens next, to which replica.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    TimePasses,
    /// And the clock of one of them runs half a second more or less.
    TimePassesUnevenly(usize),
    /// It does what `step` says, and a call is answered at once.
    Acts(usize),
    /// It sends a call that is not answered at once.
    ActsSlowly(usize),
    /// Its slow call reaches the API server.
    Arrives(usize),
    /// The answer to its slow call reaches it.
    IsAnswered(usize),
    /// It gives its slow call up.
    GivesUp(usize),
    ZombieArrives,
    Pauses(usize),
    GoesOn(usize),
    /// A controller of it asks the fence and begins a write.
    BeginsToWrite(usize),
    /// The write goes to the socket.
    Sends(usize),
}

impl World {
    fn new(rules: &Rules, troubles: Troubles) -> Self {
        Self {
            time: BEGIN,
            lease: None,
            versions: 0,
            zombie: None,
            replicas: [0, 1, 2].map(|which| Replica::new(which, rules.wall_clocks)),
            left: troubles,
            written: false,
            begun: 0,
            lost: false,
        }
    }

    fn now(&self, of: usize) -> Duration {
        self.time + self.replicas[of].ahead
    }

    /// True if its writes may start, asked of the production code.
    fn may_write(&self, rules: &Rules, which: usize) -> bool {
        self.replicas[which].may_write(self.now(which), &rules.timing)
    }

    /// The API server does what a call asks.
    fn serve(&mut self, me: &str, call: &Call) -> Answer {
        let Call::Write { base, mark } = call else { return Answer::Shows(self.lease.clone()) };
        if self.lease.as_ref().map(|lease| &lease.record.version) != base.as_ref() {
            return Answer::Refused;
        }
        self.versions += 1;
        let before = self.lease.take();
        let moved = before.as_ref().is_none_or(|before| before.record.holder.as_deref() != Some(me));
        let record = Record {
            holder: Some(me.to_owned()),
            version: self.versions.to_string(),
            duration: TIMING.lease,
            mark: Some(*mark),
        };
        self.lease = Some(Object { record, tenure: before.map_or(0, |before| before.tenure) + u32::from(moved) });
        Answer::Shows(self.lease.clone())
    }

    /// An answer reaches a replica, which may learn from it that it leads.
    fn answer(&mut self, which: usize, answer: Answer) {
        let now = self.now(which);
        let replica = &mut self.replicas[which];
        replica.hears(answer, now);
        if replica.standing.held.is_some() {
            self.begun = self.begun.max(replica.tenure);
        }
    }

    /// Its slow call is over without an answer. A write that has not arrived may arrive later.
    fn give_up(&mut self, which: usize) {
        let replica = &mut self.replicas[which];
        let Some((call, progress)) = replica.call.take() else { return };
        if let Call::Write { base, mark } = call {
            replica.standing.unknown();
            if progress == Progress::Sent {
                self.zombie = Some(Zombie { me: replica.standing.me.clone(), base, mark });
            }
        }
    }

    /// True if nobody has anything to do before time passes.
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
        self.troubles.iter().map(|troubles| World::new(self, *troubles)).collect()
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
                let Zombie { me, base, mark } = next.zombie.take()?;
                next.serve(&me, &Call::Write { base, mark });
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
            Event::BeginsToWrite(which) => (next.written, next.replicas[which].begun) = (true, true),
            Event::Sends(which) => next.send(self, which),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            // A write that was sent lands at any time until its deadline, also now.
            Property::always("no write lands when a later leader has begun", |_, world: &World| {
                world.replicas.iter().all(|replica| replica.sent.is_none_or(|sent| sent.tenure >= world.begun))
            }),
            Property::always("at most one may write", |rules: &Rules, world: &World| {
                (0..3).filter(|which| world.may_write(rules, *which)).count() <= 1
            }),
            Property::sometimes("a second replica takes over", |_, world: &World| world.begun > 1),
            Property::sometimes("a leader loses and another one acquires", |_, world: &World| {
                world.lost && world.begun > 1
            }),
            Property::sometimes("a write is sent in a second tenure", |_, world: &World| {
                world.replicas.iter().any(|replica| replica.sent.is_some_and(|sent| sent.tenure > 1))
            }),
        ]
    }
}
