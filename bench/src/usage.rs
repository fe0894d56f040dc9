//! Measures how long it takes to assign the VMs of a whole cloud to its commitments, beside sorting the same VMs: spread
//! over places (zone and flavor group), and all in one.

use std::hint::black_box;
use std::time::Instant;

use berth_core::commitment::ResourceType;
use berth_core::usage::{ProjectVm, UsableCommitment, assign};
use jiff::Timestamp;

use crate::table::{Goal, Row};
use crate::times::Times;

const VMS: usize = 100_000;
const COMMITMENTS: usize = 5_000;
const GIB: i64 = 1 << 30;
const RUNS: usize = 21;
const TIMES_A_SORT: f64 = 3.0;

/// One row with both distributions.
pub fn measure() -> Row {
    let goals = [(100, "spread over 100 places"), (1, "all in one place")].map(|(places, what)| compared(places, what));
    let what = format!("usage: {VMS} VMs are assigned to {COMMITMENTS} commitments");
    Row { letter: 'u', what, goals: goals.into() }
}

fn compared(places: usize, what: &str) -> Goal {
    let (vms, commitments) = cloud(places);
    let assigning = repeated(|| drop(black_box(assign(black_box(&commitments), black_box(&vms)))));
    let sorting = repeated(|| drop(black_box(sorted(black_box(&vms)))));
    let [assigned, sorted] = [assigning, sorting].map(|times| times.median().as_secs_f64() * 1e3);
    let times = assigned / sorted;
    Goal::wanted(
        format!("{what}: at most {TIMES_A_SORT} times sorting them"),
        format!("{times:.1} times ({assigned:.1} ms, a sort {sorted:.1} ms)"),
        times <= TIMES_A_SORT,
    )
}

/// In random order, and four fifths as large as the commitments together, so that many of these are full at the end.
fn cloud(places: usize) -> (Vec<ProjectVm>, Vec<UsableCommitment>) {
    let mut random = fastrand::Rng::with_seed(40);
    let mut place = || {
        (format!("zone-{}", random.usize(..places.div_ceil(10))), format!("group-{}", random.usize(..places.min(10))))
    };
    let places: Vec<(String, String)> = (0..VMS + COMMITMENTS).map(|_| place()).collect();
    let (of_vms, of_commitments) = places.split_at(VMS);
    let vm = |(zone, group): &(String, String)| ProjectVm {
        id: format!("{:032x}", random.u128(..)).into(),
        created: Timestamp::from_second(1_700_000_000 + random.i64(..100_000_000)).ok(),
        memory_mib: 16_384 << random.u32(..5),
        vcpus: 4 << random.u32(..5),
        zone: zone.as_str().into(),
        group: Some(group.as_str().into()),
        is_held: false,
    };
    let vms = of_vms.iter().map(vm).collect();
    let commitment = |(at, (zone, group)): (usize, &(String, String))| UsableCommitment {
        uuid: format!("commitment-{at:06}").into(),
        resource: if at % 10 == 0 { ResourceType::Cores } else { ResourceType::Memory },
        zone: zone.as_str().into(),
        group: group.as_str().into(),
        amount: if at % 10 == 0 { 8_000 } else { 2_000 * GIB },
        start: None,
    };
    let commitments = of_commitments.iter().enumerate().map(commitment).collect();
    (vms, commitments)
}

/// By the same order as the assignment.
fn sorted(vms: &[ProjectVm]) -> Vec<&ProjectVm> {
    let mut all: Vec<&ProjectVm> = vms.iter().collect();
    all.sort_unstable_by(|a, b| {
        a.created.cmp(&b.created).then_with(|| b.memory_mib.cmp(&a.memory_mib)).then_with(|| a.id.cmp(&b.id))
    });
    all
}

fn repeated(work: impl Fn()) -> Times {
    let mut times = Times::default();
    for _ in 0..RUNS {
        let began = Instant::now();
        work();
        times.add(began.elapsed());
    }
    times
}
