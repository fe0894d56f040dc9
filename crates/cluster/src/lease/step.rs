//! Decides what a replica does next about the lease. A pure function of observed and sent states and the monotonic
//! clock; times are durations since the start of the process.

use std::fmt;
use std::time::Duration;

/// The durations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// From the sending of a successful write, or from the change that another replica has seen, to the end of the lease.
    pub lease: Duration,
    /// A leader that has not renewed for so long has lost.
    pub renew: Duration,
    pub retry: Duration,
    /// From one read to the next while the leader seems to be gone.
    pub hurry: Duration,
    /// No write starts when less than this is left of the own lease.
    pub margin: Duration,
}

/// The timing of the reference, so that either of both systems can take over from the other.
pub const TIMING: Timing = Timing {
    lease: Duration::from_secs(15),
    renew: Duration::from_secs(10),
    retry: Duration::from_secs(2),
    hurry: Duration::from_millis(250),
    margin: Duration::from_secs(5),
};

/// A `renewTime`, in microseconds since 1970. Compared for equality only, to know an own write again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RenewTime(
    /// The microseconds.
    pub i64,
);

/// The content of the Lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseRecord {
    pub holder: Option<String>,
    pub version: String,
    pub duration: Duration,
    pub renew_time: Option<RenewTime>,
}

impl LeaseRecord {
    /// When a lease that has not changed since then expires. It is not acquired earlier.
    fn end(&self, since: Duration) -> Duration {
        since + self.duration.max(TIMING.lease)
    }
}

/// The last observation of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedLease {
    Never,
    Absent,
    /// Since then it has not changed, as far as we have seen: the time of the answer, on our clock.
    There {
        record: LeaseRecord,
        since: Duration,
    },
}

/// A write without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnansweredWrite {
    pub at: Duration,
    pub renew_time: RenewTime,
}

/// Why a leader has lost the leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lost {
    /// No renewal has succeeded for 10 s.
    NotRenewed,
    TakenBy(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRenewed => write!(f, "the lease could not be renewed for {} s", TIMING.renew.as_secs()),
            Self::TakenBy(holder) => write!(f, "{holder} has taken the lease"),
        }
    }
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Read,
    Create,
    /// Take it over, if it still has this `resourceVersion`.
    Acquire(String),
    /// Renew it, if it still has this `resourceVersion`.
    Renew(String),
    /// Nothing until then.
    Wait(Duration),
    Lost(Lost),
}

/// The knowledge of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    pub me: String,
    pub seen: ObservedLease,
    /// The last observation may be outdated: the Lease must be read before a write.
    pub stale: bool,
    /// It leads; the sending of the last write that is known to have succeeded.
    pub held: Option<Duration>,
    pub unanswered: Option<UnansweredWrite>,
    pub lost: Option<Lost>,
    last_renew_time: RenewTime,
    pub read_from: Duration,
    hurry_from: Duration,
    pub write_from: Duration,
}

/// Whether a write may start: it must be over before the lease is.
pub fn may_write(held: Option<Duration>, now: Duration, timing: &Timing) -> bool {
    held.is_some_and(|sent| now + timing.margin <= sent + timing.lease)
}

impl ReplicaState {
    pub fn new(me: String) -> Self {
        Self {
            me,
            seen: ObservedLease::Never,
            stale: true,
            held: None,
            unanswered: None,
            lost: None,
            last_renew_time: RenewTime(i64::MIN),
            read_from: Duration::ZERO,
            hurry_from: Duration::ZERO,
            write_from: Duration::ZERO,
        }
    }

    pub fn step(&self, now: Duration) -> Action {
        let end = self.held.map(|sent| sent + TIMING.renew);
        if let Some(lost) = &self.lost {
            return Action::Lost(lost.clone());
        }
        if end.is_some_and(|end| now >= end) {
            return Action::Lost(Lost::NotRenewed);
        }
        let (action, from) = self.decide_action(now);
        if now >= from { action } else { Action::Wait(end.map_or(from, |end| from.min(end))) }
    }

    /// The next action, and the earliest time for it.
    fn decide_action(&self, now: Duration) -> (Action, Duration) {
        match &self.seen {
            _ if self.stale || self.unanswered.is_some() => (Action::Read, self.read_from),
            ObservedLease::Never => (Action::Read, self.read_from),
            ObservedLease::Absent => (Action::Create, self.write_from),
            ObservedLease::There { record, since } => match record.holder.as_deref() {
                Some(holder) if holder == self.me => (Action::Renew(record.version.clone()), self.write_from),
                // Emptied by hand under a leader: the leader takes it back.
                None => (Action::Acquire(record.version.clone()), self.write_from),
                Some(_) => self.decide_on_foreign_lease(record, record.end(*since), now),
            },
        }
    }

    fn decide_on_foreign_lease(&self, record: &LeaseRecord, end: Duration, now: Duration) -> (Action, Duration) {
        if now >= end {
            return (Action::Acquire(record.version.clone()), self.write_from);
        }
        (Action::Read, self.read_from.min(end))
    }

    pub fn reads(&mut self, now: Duration) {
        (self.read_from, self.hurry_from) = (now + TIMING.retry, now + TIMING.hurry);
    }

    /// The leader seems to be gone: the next read need not wait for [`Timing::retry`].
    pub fn hurries(&mut self, now: Duration) {
        self.read_from = self.read_from.min(self.hurry_from.max(now));
    }

    /// A write is being sent. Returns the `renewTime` for it: the wall clock, unless an earlier write of this process
    /// had the same value.
    pub fn writes(&mut self, now: Duration, wall: RenewTime) -> RenewTime {
        let renew_time = wall.max(RenewTime(self.last_renew_time.0.saturating_add(1)));
        self.last_renew_time = renew_time;
        self.unanswered = Some(UnansweredWrite { at: now, renew_time });
        self.write_from = now + TIMING.retry;
        renew_time
    }

    /// An answer shows the Lease: to a read, or to a write that has succeeded.
    pub fn sees(&mut self, record: Option<LeaseRecord>, now: Duration) {
        let sent = self.unanswered.take();
        self.stale = false;
        let Some(record) = record else {
            self.seen = ObservedLease::Absent;
            return;
        };
        match (&record.holder, sent) {
            (Some(holder), _) if *holder != self.me => self.sees_other(holder.clone()),
            (Some(_), Some(sent)) if record.renew_time == Some(sent.renew_time) => self.holds_since(sent.at, now),
            _ => {}
        }
        self.seen = match &self.seen {
            ObservedLease::There { record: before, since } if before.version == record.version => {
                ObservedLease::There { record, since: *since }
            }
            _ => ObservedLease::There { record, since: now },
        };
    }

    /// An own write is in the Lease. It counts from its sending: from then on others may have seen it. When that is too
    /// long ago to begin with, the lease is renewed first.
    fn holds_since(&mut self, sent: Duration, now: Duration) {
        if self.held.is_some() || now < sent + TIMING.renew {
            self.held = Some(sent);
        }
    }

    fn sees_other(&mut self, holder: String) {
        if self.held.is_some() {
            self.lost = Some(Lost::TakenBy(holder));
        }
    }

    /// The write was refused, or never reached the API server: it has changed nothing.
    pub fn refused(&mut self) {
        self.unanswered = None;
        self.stale = true;
    }

    /// There is no answer to the write: it may have taken effect, or may yet.
    pub fn unknown(&mut self) {
        self.stale = true;
    }

    /// How long to wait for a response. A leader keeps half of its remaining time for another attempt.
    pub fn remaining_time(&self, now: Duration, longest: Duration) -> Duration {
        let left = self.held.map(|sent| (sent + TIMING.renew).saturating_sub(now));
        left.map_or(longest, |left| longest.min(left / 2))
    }

    /// The sending of the last renewal, if it leads.
    pub fn leads_since(&self) -> Option<Duration> {
        self.held.filter(|_| self.lost.is_none())
    }

    /// The holder of the lease, as far as it is known.
    pub fn holder(&self) -> Option<&str> {
        match &self.seen {
            ObservedLease::There { record, .. } => record.holder.as_deref(),
            _ => None,
        }
    }

    /// The leader, and until when it counts if no newer lease is seen. A replica that does not know whether it still
    /// holds its lease returns `None`.
    pub fn leader(&self) -> Option<(&str, Duration)> {
        let ObservedLease::There { record, since } = &self.seen else { return None };
        let holder = record.holder.as_deref()?;
        (holder != self.me || self.leads_since().is_some()).then(|| (holder, record.end(*since)))
    }
}

#[cfg(test)]
mod tests;
