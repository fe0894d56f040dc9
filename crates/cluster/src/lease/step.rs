//! What a replica does next about the lease. It decides from what it has seen and sent, and from the monotonic clock;
//! it reads no clock and does no I/O. All times are durations since the start of the process.

use std::fmt;
use std::time::Duration;

/// The durations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// From the sending of a successful write, or from the change that another replica has seen, to the end of the lease.
    pub lease: Duration,
    /// A leader that has not renewed for so long has lost.
    pub renew: Duration,
    /// Between two reads, and between two writes.
    pub retry: Duration,
    /// No write starts when less than this is left of the own lease.
    pub margin: Duration,
}

/// Decision D10 and document 11 section 3.5.
pub const TIMING: Timing = Timing {
    lease: Duration::from_secs(15),
    renew: Duration::from_secs(10),
    retry: Duration::from_secs(2),
    margin: Duration::from_secs(5),
};

/// A `renewTime`, in microseconds since 1970. Compared for equality only, to know an own write again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(
    /// The microseconds.
    pub i64,
);

/// What the Lease says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Nobody, if it was released.
    pub holder: Option<String>,
    /// The `resourceVersion`.
    pub version: String,
    /// `leaseDurationSeconds` of the holder.
    pub duration: Duration,
    /// `renewTime`.
    pub mark: Option<Mark>,
}

impl Record {
    /// When a lease that has not changed since then has run out. Nobody takes it earlier.
    fn end(&self, since: Duration) -> Duration {
        since + self.duration.max(TIMING.lease)
    }
}

/// What was last seen of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing was seen yet.
    Never,
    /// There is none.
    Absent,
    /// Since then it has not changed, as far as we have seen: the time of the answer, on our clock.
    There {
        /// What it says.
        record: Record,
        /// When it first said so.
        since: Duration,
    },
}

/// A write without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was sent.
    pub at: Duration,
    /// The `renewTime` that it carries.
    pub mark: Mark,
}

/// Why a leader does not lead any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lost {
    /// No renewal has succeeded for 10 s.
    NotRenewed,
    /// Somebody else holds the lease.
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

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the Lease.
    Read,
    /// Create it.
    Create,
    /// Take it over, if it still has this `resourceVersion`.
    Acquire(String),
    /// Renew it, if it still has this `resourceVersion`.
    Renew(String),
    /// Nothing until then.
    Wait(Duration),
    /// Leadership is over.
    Lost(Lost),
}

/// What a replica knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its identity.
    pub me: String,
    /// The Lease as it was last seen.
    pub seen: Seen,
    /// What was seen may be outdated: read before anything is written.
    pub stale: bool,
    /// It leads; the sending of the last write that is known to have succeeded.
    pub held: Option<Duration>,
    /// The write that has no answer yet.
    pub unanswered: Option<Sent>,
    /// Leadership is over.
    pub lost: Option<Lost>,
    last_mark: Mark,
    /// No read starts earlier.
    pub read_from: Duration,
    /// No write starts earlier.
    pub write_from: Duration,
}

/// Whether a write may start: it must be over before the lease is.
pub fn may_write(held: Option<Duration>, now: Duration, timing: &Timing) -> bool {
    held.is_some_and(|sent| now + timing.margin <= sent + timing.lease)
}

impl Standing {
    /// A replica that knows nothing yet.
    pub fn new(me: String) -> Self {
        Self {
            me,
            seen: Seen::Never,
            stale: true,
            held: None,
            unanswered: None,
            lost: None,
            last_mark: Mark(i64::MIN),
            read_from: Duration::ZERO,
            write_from: Duration::ZERO,
        }
    }

    /// What to do now.
    pub fn step(&self, now: Duration) -> Action {
        let end = self.held.map(|sent| sent + TIMING.renew);
        if let Some(lost) = &self.lost {
            return Action::Lost(lost.clone());
        }
        if end.is_some_and(|end| now >= end) {
            return Action::Lost(Lost::NotRenewed);
        }
        let (action, from) = self.wish(now);
        if now >= from { action } else { Action::Wait(end.map_or(from, |end| from.min(end))) }
    }

    /// What is to be done next, and not before when.
    fn wish(&self, now: Duration) -> (Action, Duration) {
        match &self.seen {
            _ if self.stale || self.unanswered.is_some() => (Action::Read, self.read_from),
            Seen::Never => (Action::Read, self.read_from),
            Seen::Absent => (Action::Create, self.write_from),
            Seen::There { record, since } => match record.holder.as_deref() {
                Some(holder) if holder == self.me => (Action::Renew(record.version.clone()), self.write_from),
                // Emptied by hand under a leader: the leader takes it back.
                None => (Action::Acquire(record.version.clone()), self.write_from),
                Some(_) => self.wish_of_foreign(record, record.end(*since), now),
            },
        }
    }

    fn wish_of_foreign(&self, record: &Record, end: Duration, now: Duration) -> (Action, Duration) {
        if now >= end {
            return (Action::Acquire(record.version.clone()), self.write_from);
        }
        (Action::Read, self.read_from.min(end))
    }

    /// A read is being sent.
    pub fn reads(&mut self, now: Duration) {
        self.read_from = now + TIMING.retry;
    }

    /// A write is being sent. The answer is the `renewTime` that it must carry: the wall clock, unless that does not
    /// tell it from an earlier write of this process.
    pub fn writes(&mut self, now: Duration, wall: Mark) -> Mark {
        let mark = wall.max(Mark(self.last_mark.0.saturating_add(1)));
        self.last_mark = mark;
        self.unanswered = Some(Sent { at: now, mark });
        self.write_from = now + TIMING.retry;
        mark
    }

    /// An answer shows the Lease: to a read, or to a write that has succeeded.
    pub fn sees(&mut self, record: Option<Record>, now: Duration) {
        let sent = self.unanswered.take();
        self.stale = false;
        let Some(record) = record else {
            self.seen = Seen::Absent;
            return;
        };
        match (&record.holder, sent) {
            (Some(holder), _) if *holder != self.me => self.sees_other(holder.clone()),
            (Some(_), Some(sent)) if record.mark == Some(sent.mark) => self.holds_since(sent.at, now),
            _ => {}
        }
        self.seen = match &self.seen {
            Seen::There { record: before, since } if before.version == record.version => {
                Seen::There { record, since: *since }
            }
            _ => Seen::There { record, since: now },
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

    /// How long to wait for an answer. A leader keeps half of what it has left for another attempt.
    pub fn patience(&self, now: Duration, longest: Duration) -> Duration {
        let left = self.held.map(|sent| (sent + TIMING.renew).saturating_sub(now));
        left.map_or(longest, |left| longest.min(left / 2))
    }

    /// The sending of the last renewal, if it leads.
    pub fn leads_since(&self) -> Option<Duration> {
        self.held.filter(|_| self.lost.is_none())
    }

    /// Who holds the lease, as far as is known.
    pub fn holder(&self) -> Option<&str> {
        match &self.seen {
            Seen::There { record, .. } => record.holder.as_deref(),
            _ => None,
        }
    }

    /// Who leads, and until when that counts if nothing newer is seen. A replica that does not know whether the lease
    /// that it holds is still its own knows of nobody.
    pub fn leader(&self) -> Option<(&str, Duration)> {
        let Seen::There { record, since } = &self.seen else { return None };
        let holder = record.holder.as_deref()?;
        (holder != self.me || self.leads_since().is_some()).then(|| (holder, record.end(*since)))
    }
}

#[cfg(test)]
mod tests;
