//! The faults of a seed, and which of them it must have met at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_testkit::{Fault, Random, Rule, Server, Verb};

const HUNDREDTHS: u32 = 10;

/// The faults of a write, except a permanent refusal.
const WRITE_FAULTS: [Fault; 9] = [
    Fault::Conflict,
    Fault::TooMany { retry_after: 1 },
    Fault::Internal,
    Fault::Unavailable,
    Fault::Timeout,
    Fault::TimeoutAfterwards,
    Fault::LoseAnswer,
    Fault::CutBefore,
    Fault::Hang,
];

/// Enables every kind of fault with a small probability, and latencies.
pub fn plague(server: &Server, random: &mut Random) {
    let millis = Duration::from_millis;
    server.latency(Duration::ZERO..=millis(30), Duration::ZERO..=millis(30));
    server.late_watches(Duration::ZERO..=millis(400));
    let some = |random: &mut Random| 1 + u32::try_from(random.below(3)).unwrap_or(0);
    for fault in WRITE_FAULTS.into_iter().chain([Fault::Forbidden]) {
        server.rule(Rule::new(fault).writes().per_mille(some(random) * HUNDREDTHS));
    }
    for fault in [Fault::Internal, Fault::CutBefore, Fault::Hang] {
        server.rule(Rule::new(fault).per_mille(some(random) * HUNDREDTHS));
    }
    for fault in [Fault::BreakWatch { after: 5 }, Fault::EndWatch { after: 5 }, Fault::LateWatch { by: millis(3000) }] {
        server.rule(Rule::new(fault).per_mille(some(random) * 10 * HUNDREDTHS));
    }
}

/// Writes fail or have an unknown outcome, and requests take time; but watch events are late by less than a second, and
/// no write is refused permanently.
pub fn disturbance(server: &Server, random: &mut Random) {
    let millis = Duration::from_millis;
    server.latency(Duration::ZERO..=millis(30), Duration::ZERO..=millis(30));
    server.late_watches(Duration::ZERO..=millis(400));
    for fault in WRITE_FAULTS {
        let some = 1 + u32::try_from(random.below(2)).unwrap_or(0);
        server.rule(Rule::new(fault).writes().per_mille(some * HUNDREDTHS));
    }
}

/// Enables every kind of fault with a small probability. No request takes longer than a crashed process is down.
pub fn everything(server: &Server, random: &mut Random) {
    let millis = Duration::from_millis;
    server.latency(Duration::ZERO..=millis(30), Duration::ZERO..=millis(30));
    server.late_watches(Duration::ZERO..=millis(400));
    let mut some = |most| u32::try_from(random.below(most)).unwrap_or(0);
    for fault in WRITE_FAULTS.into_iter().chain([Fault::Forbidden]) {
        server.rule(Rule::new(fault).writes().per_mille(some(40)));
    }
    server.rule(Rule::new(Fault::Late { by: millis(900) }).per_mille(some(40)));
    let slow = Fault::Slow { before: millis(900), after: millis(900) };
    for fault in [Fault::Unauthorized, Fault::Internal, Fault::CutBefore, Fault::Hang, slow] {
        server.rule(Rule::new(fault).per_mille(some(20)));
    }
    server.rule(Rule::new(Fault::Gone).verb(Verb::List).per_mille(some(100)));
    for fault in [
        Fault::Gone,
        Fault::BreakWatch { after: 5 },
        Fault::EndWatch { after: 5 },
        Fault::LateWatch { by: millis(3000) },
    ] {
        server.rule(Rule::new(fault).verb(Verb::Watch).per_mille(some(200)));
    }
}

const KINDS: usize = 9;
/// A list that is too old.
const STALE: Fault = Fault::Stale { versions: 3 };

/// All watches have to start again with a list, which shows an older state.
pub fn stale_lists(server: &Server) {
    server.rule(Rule::new(STALE).verb(Verb::List).always());
    for _ in 0..KINDS {
        server.rule(Rule::new(Fault::Gone).verb(Verb::Watch));
    }
    server.break_watches("");
}

/// Lists show the current state. The first list is never an older state: it is a consistent read, on which everything
/// relies.
pub fn true_lists(server: &Server) {
    server.without(STALE);
}

pub fn add(all: &mut BTreeMap<&'static str, u64>, server: &Server) {
    for (name, count) in server.fault_counts() {
        *all.entry(name).or_default() += count;
    }
}
