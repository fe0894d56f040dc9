//! Measures the split of the free capacity of a zone between groups that share all of its hosts, beside the plain way: a walk
//! through the hosts of a group for each slot.

use std::hint::black_box;
use std::time::{Duration, Instant};

use berth_core::capacity::{SharingGroup, slots, split};
use berth_core::{Bytes, Cores, Resources};

use crate::table::{Goal, Row};
use crate::times::Times;

const GROUPS: usize = 40;
/// The free capacity of a host, in slots of the average group.
const SLOTS_PER_HOST: usize = 50;
const RUNS: usize = 11;
/// The larger zones have more groups per change of a host in the cache, so the time per slot grows a little.
const GROWTH: f64 = 1.2;
const MIB: i64 = 1 << 20;

/// A zone, and how long its split may take.
struct Size {
    hosts: usize,
    limit: Duration,
}

const SIZES: [Size; 2] =
    [Size { hosts: 700, limit: Duration::from_millis(60) }, Size { hosts: 3000, limit: Duration::from_millis(400) }];

/// One row with both zones, and the cost of a slot in a zone of a tenth of the hosts.
pub fn measure() -> Row {
    let [small, large] = SIZES.map(|size| compared(&size));
    let what = format!("the free capacity of a zone is split between {GROUPS} groups that share its hosts");
    Row { letter: 'y', what, goals: [small, large, vec![growth()]].concat() }
}

fn compared(size: &Size) -> Vec<Goal> {
    let (groups, free) = zone(size.hosts);
    let taken: u64 = split(&groups, &free).slots.iter().sum();
    let fast = repeated(RUNS, || drop(black_box(split(black_box(&groups), black_box(&free))))).median();
    let plain =
        repeated(1, || assert_eq!(walked(&groups, &free), split(&groups, &free).slots, "both are equal")).median();
    let plain = plain.saturating_sub(fast);
    let times = fast.as_secs_f64() / plain.as_secs_f64();
    let what = format!("{} hosts, {taken} slots", size.hosts);
    let [limit, found, plain] = [size.limit, fast, plain].map(|took| took.as_secs_f64() * 1e3);
    vec![
        Goal::wanted(format!("{what}: under {limit:.0} ms"), format!("{found:.1} ms"), fast < size.limit),
        Goal::new(format!("shown: {what}, beside a walk for each slot"), format!("{times:.2} times ({plain:.0} ms)")),
    ]
}

fn growth() -> Goal {
    let hosts = SIZES[1].hosts;
    let [small, large] = [hosts / 10, hosts].map(|hosts| {
        let (groups, free) = zone(hosts);
        let took = repeated(RUNS, || drop(black_box(split(black_box(&groups), black_box(&free))))).median();
        let slots: u64 = split(&groups, &free).slots.iter().sum();
        took.as_secs_f64() * 1e9 / f64::from(u32::try_from(slots).unwrap_or(u32::MAX))
    });
    Goal::wanted(
        format!("a slot at {hosts} hosts: at most {GROWTH} times a slot at {}", hosts / 10),
        format!("{:.2} times ({large:.0} ns to {small:.0} ns)", large / small),
        large / small <= GROWTH,
    )
}

/// Every group may use every host. The needs differ, and each host has another rest of memory.
fn zone(hosts: usize) -> (Vec<SharingGroup>, Vec<Resources>) {
    let mut random = fastrand::Rng::with_seed(41);
    let need = |gib: i64| Resources::new(Bytes::new((gib * 1024 - 16) * MIB), Cores::new(gib / 4));
    let group = |at: usize| SharingGroup {
        name: format!("group-{at:02}").into(),
        need: need(8 + 4 * i64::try_from(at % 13).unwrap_or_default()),
        candidates: (0..hosts).collect(),
    };
    let average = 32 * i64::try_from(SLOTS_PER_HOST).unwrap_or_default();
    let mut host = || {
        let gib = average + random.i64(-400..400);
        Resources::new(Bytes::new(gib * 1024 * MIB), Cores::new(gib / 4 + random.i64(0..40)))
    };
    ((0..GROUPS).map(group).collect(), (0..hosts).map(|_| host()).collect())
}

/// The slots of each group by the plain way.
fn walked(groups: &[SharingGroup], free: &[Resources]) -> Vec<u64> {
    let mut left = free.to_vec();
    let fitting = |group: &SharingGroup| -> Vec<usize> {
        group.candidates.iter().copied().filter(|host| slots(free[*host], group.need) > 0).collect()
    };
    let mut remaining: Vec<Vec<usize>> = groups.iter().map(fitting).collect();
    let mut taken = vec![0; groups.len()];
    loop {
        let mut order: Vec<usize> = (0..groups.len()).filter(|group| !remaining[*group].is_empty()).collect();
        if order.is_empty() {
            return taken;
        }
        order.sort_by_key(|at| {
            let SharingGroup { name, need, .. } = &groups[*at];
            (remaining[*at].len(), -need.memory.get(), -need.cpu.get(), name)
        });
        for group in order {
            let need = groups[group].need;
            let key = |host: &usize| {
                let Resources { memory, cpu } = left[*host];
                (memory.get() % need.memory.get(), memory, cpu, *host)
            };
            let Some(host) = remaining[group].iter().copied().min_by_key(key) else { continue };
            left[host] -= need;
            taken[group] += 1;
            for (other, hosts) in groups.iter().zip(&mut remaining) {
                if !other.need.fits(left[host]) {
                    hosts.retain(|one| *one != host);
                }
            }
        }
    }
}

fn repeated(runs: usize, work: impl Fn()) -> Times {
    let mut times = Times::default();
    for _ in 0..runs {
        let began = Instant::now();
        work();
        times.add(began.elapsed());
    }
    times
}
