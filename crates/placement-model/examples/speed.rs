//! Measures how long answers about candidates take at 10,000 hosts: `cargo run --release --example speed`. It prints
//! the median and the largest of some hundred answers, and what a claim costs the model.
#![allow(clippy::cast_precision_loss, clippy::disallowed_methods, reason = "for people")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use berth_placement_model::provider::{Aggregate, Held};
use berth_placement_model::question::GenerationOptions;
use berth_placement_model::{ClassName, Inventory, Key, Model, ProviderId, ProviderState, TraitName, Version, parse};
use jiff::Timestamp;

const HOSTS: i64 = 10_000;
const CLASSES: [&str; 5] = ["VCPU", "MEMORY_MB", "DISK_GB", "PCI_DEVICE", "SRIOV_NET_VF"];
const TRAITS: [&str; 13] = [
    "COMPUTE_NODE",
    "COMPUTE_VOLUME_ATTACH",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "HW_CPU_X86_SSE42",
    "HW_CPU_X86_AVX",
    "HW_ARCH_X86_64",
    "HW_CPU_X86_AVX2",
    "CUSTOM_MAINTENANCE",
    "MISC_SHARES_VIA_AGGREGATE",
    "HW_NUMA_ROOT",
    "HW_NIC_SRIOV",
];

fn mix(number: i64) -> u64 {
    fastrand::Rng::with_seed(number.unsigned_abs()).u64(..)
}

fn aggregate(number: i64) -> String {
    format!("a6600000-0000-4000-8000-{:012x}", number % 20)
}

fn held(total: u64, used: u64, ratio: f64) -> Held {
    let inventory =
        Inventory { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: ratio };
    Held { inventory, used, created_at: Timestamp::UNIX_EPOCH, updated_at: None }
}

struct Cloud {
    model: Model,
    states: Vec<ProviderState>,
}

impl Cloud {
    fn new() -> Self {
        Self { model: Model::new(&CLASSES, &TRAITS), states: Vec::new() }
    }

    fn add(&mut self, parent: Option<usize>, held: &[(&str, Held)], traits: &[&str], member: Option<i64>) -> usize {
        let number = self.states.last().map_or(1, |last| last.id.0 + 1);
        let parent = parent.map(|parent| &self.states[parent]);
        let state = ProviderState {
            id: ProviderId(number),
            uuid: Key::new(&format!("{:08x}-0000-4000-8000-{number:012x}", mix(number) >> 32)),
            name: format!("provider-{number:06}"),
            generation: 3,
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(ProviderId(number), |parent| parent.root),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: None,
            inventories: held.iter().map(|(class, held)| (ClassName::new(class), *held)).collect(),
            traits: traits.iter().map(|name| TraitName::new(name)).collect(),
            aggregates: member
                .map(aggregate)
                .map(|sent| Aggregate { key: Key::new(&sent), sent })
                .into_iter()
                .collect(),
        };
        self.model.put(&state);
        self.states.push(state);
        self.states.len() - 1
    }

    fn host(&mut self, shape: &str, number: i64) {
        let used = mix(number) % 3 * 4;
        let mut traits = TRAITS[..8].to_vec();
        traits.extend(TRAITS[8..9].iter().filter(|_| mix(number).is_multiple_of(2)));
        traits.extend(TRAITS[9..10].iter().filter(|_| (mix(number) / 2).is_multiple_of(10)));
        let cpu = |parts: u64| {
            [("VCPU", held(64 / parts, used, 16.0)), ("MEMORY_MB", held(524_288 / parts, used * 2048, 1.0))]
        };
        let disk = [("DISK_GB", held(4000, used * 10, 1.0))];
        match shape {
            "flat" => {
                self.add(None, &[&cpu(1)[..], &disk].concat(), &traits, Some(number));
            }
            "shared" => {
                self.add(None, &cpu(1), &traits, Some(number));
            }
            _ => {
                let root = self.add(None, &disk, &traits, Some(number));
                for _ in 0..2 {
                    let node = self.add(Some(root), &cpu(2), &["HW_NUMA_ROOT"], None);
                    self.add(Some(node), &[("SRIOV_NET_VF", held(64, 0, 1.0))], &["HW_NIC_SRIOV"], None);
                }
            }
        }
    }

    fn of(shape: &str) -> Self {
        let mut cloud = Self::new();
        if shape == "shared" {
            for number in 0..20 {
                cloud.add(
                    None,
                    &[("DISK_GB", held(2_000_000_000, 0, 1.0))],
                    &["MISC_SHARES_VIA_AGGREGATE"],
                    Some(number),
                );
            }
        }
        (0..HOSTS).for_each(|number| cloud.host(shape, number));
        cloud
    }
}

fn median(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let micros = |place: usize| times[place].as_secs_f64() * 1e6;
    (micros(times.len() / 2), micros(times.len() - 1))
}

fn measure(model: &Model, name: &str, query: &str) {
    let pairs: Vec<_> = query
        .split('&')
        .filter_map(|part| part.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    let mut times = [Vec::new(), Vec::new()];
    let (mut count, mut bytes) = (0, 0);
    for _ in 0..400 {
        let start = Instant::now();
        let question = parse::candidates(&pairs, Version::NEWEST);
        let found = question.ok().and_then(|asked| model.candidates(&asked, &GenerationOptions::default()).ok());
        let Some(found) = found else { return println!("{name}: refused") };
        times[0].push(start.elapsed());
        count = found.len();
        bytes = black_box(found.body()).len();
        times[1].push(start.elapsed());
    }
    let [search, all] = times.map(median);
    println!(
        "{name:10} {count:6} requests {bytes:8} bytes: search {:7.1} us, with body {:7.1} us (largest {:7.1})",
        search.0, all.0, all.1
    );
}

fn claims(cloud: &mut Cloud) {
    let mut times = Vec::new();
    let mut copies = Vec::new();
    for number in 0..2000_usize {
        let place = number * 7 % cloud.states.len();
        let state = &mut cloud.states[place];
        state.generation += 1;
        state.inventories.values_mut().for_each(|held| held.used += 1);
        copies.truncate(1);
        copies.insert(0, cloud.model.clone());
        let start = Instant::now();
        cloud.model.put(&cloud.states[place]);
        times.push(start.elapsed());
    }
    let (half, most) = median(times);
    println!("put        while somebody reads: {half:7.1} us (largest {most:7.1})");
}

fn main() {
    let plain = "limit=1000&resources=VCPU:1,MEMORY_MB:512,DISK_GB:10";
    let start = Instant::now();
    let mut flat = Cloud::of("flat");
    println!("built in {:?}", start.elapsed());
    measure(&flat.model, "plain", plain);
    measure(&flat.model, "all", &plain[11..]);
    measure(&flat.model, "traits", &format!("{plain}&required=HW_CPU_X86_AVX2,!CUSTOM_MAINTENANCE"));
    measure(&flat.model, "member_of", &format!("{plain}&member_of={}", aggregate(3)));
    measure(
        &flat.model,
        "nothing",
        "limit=1000&resources=VCPU:64,MEMORY_MB:524288,DISK_GB:4000&required=CUSTOM_MAINTENANCE",
    );
    claims(&mut flat);
    drop(flat);
    measure(&Cloud::of("shared").model, "shared", plain);
    let nested = Cloud::of("nested");
    let granular = "limit=1000&resources=DISK_GB:10&resources1=VCPU:1,MEMORY_MB:512&resources2=SRIOV_NET_VF:1&group_policy=isolate";
    measure(&nested.model, "granular", granular);
    measure(&nested.model, "all", &granular[11..]);
}
