//! An external request and its response. [`crate::BuiltIn::answer`] decides; the API encodes requests and responses and
//! writes bookings.

use std::time::Duration;

use berth_core::HostName;
use jiff::Timestamp;

use crate::{Booking, ClaimLimits, ClaimRefusal, Coverage, Decision, Explanation, Guest, Request, Stopwatch};

/// How answers to requests from outside are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSettings {
    /// `novaLimitHostsToRequest`: answers hold only hosts of the request.
    pub limit_to_request: bool,
    /// `evacuationShuffleK`: so many hosts at the head of the answer to an evacuation are shuffled.
    pub shuffle_first: usize,
    /// `scheduler.assumeTTLReservation`: how long an answer about a slot counts as taken.
    pub slot_ttl: Duration,
    /// `scheduler.assumeTTLInstance`: how long an answer about a VM counts as taken.
    pub instance_ttl: Duration,
    /// What the claims of a project may take; `None` is everything.
    pub claim_limits: Option<ClaimLimits>,
}

impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            limit_to_request: false,
            shuffle_first: 0,
            slot_ttl: Duration::from_secs(30),
            instance_ttl: Duration::from_secs(600),
            claim_limits: None,
        }
    }
}

/// One request with what a decision about it needs besides the view.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// The request. Without `read_only` a claim holds the first host of the response.
    pub request: &'c Request,
    pub now: Duration,
    /// The same by the wall clock, for users and for the next process.
    pub time: Timestamp,
    /// The wall clock, if decisions may depend on it. Without it nothing has ended and everything has begun.
    pub trusted_time: Option<Timestamp>,
    /// A random number: the order of shuffled hosts follows from it.
    pub chance: u64,
    /// The VM as a guest of its project's commitments; `None` when its flavor is in no group, or nothing is tracked.
    pub guest: Option<&'c Guest>,
    /// The answer has the hosts one by one.
    pub explain: bool,
    /// With a stopwatch the decision has a trace of every step.
    pub stopwatch: Option<&'c dyn Stopwatch>,
}

impl<'c> Call<'c> {
    /// A call at a time that can be trusted, of an instance that is no guest.
    pub fn new(request: &'c Request, (now, time): (Duration, Timestamp)) -> Self {
        let trusted_time = Some(time);
        Self { request, now, time, trusted_time, chance: 0, guest: None, explain: false, stopwatch: None }
    }
}

/// The response to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The hosts, best first: limited to those of the request, trimmed, and for evacuations shuffled.
    pub hosts: Vec<HostName>,
    /// The run before that: all hosts in their order, what removed the others, events, trace.
    pub decision: Decision,
    /// Why there are no hosts although the run found some: the project has claimed enough.
    pub refused: Option<ClaimRefusal>,
    /// The slot on the first host that the VM is to be written into.
    pub booking: Option<Booking>,
    /// Whether the commitments of its project cover the VM; `None` for other instances and for a run that failed.
    pub coverage: Option<Coverage>,
    /// The result for each host, if the call requests it.
    pub explanation: Option<Explanation>,
}
