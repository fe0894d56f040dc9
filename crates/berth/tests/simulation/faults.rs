//! What goes wrong while a seed lives, and what it must have met at the end.

use std::{collections::BTreeMap, time::Duration};

use berth_testkit::{Fault, Random, Rule, Server};

const HUNDREDTHS: u32 = 10;

/// What can become of a write, apart from a refusal for good.
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

/// Every kind of fault, each with a small probability, and everything takes its time.
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

/// Writes fail, their outcome is not known, and everything takes its time; but news are late by less than a second, and
/// nothing is refused for good.
pub fn trouble(server: &Server, random: &mut Random) {
    let millis = Duration::from_millis;
    server.latency(Duration::ZERO..=millis(30), Duration::ZERO..=millis(30));
    server.late_watches(Duration::ZERO..=millis(400));
    for fault in WRITE_FAULTS {
        let some = 1 + u32::try_from(random.below(2)).unwrap_or(0);
        server.rule(Rule::new(fault).writes().per_mille(some * HUNDREDTHS));
    }
}

/// Adds up what hit.
pub fn add(all: &mut BTreeMap<&'static str, u64>, server: &Server) {
    for (name, count) in server.fault_counts() {
        *all.entry(name).or_default() += count;
    }
}
