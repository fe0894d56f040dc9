//! The measured clouds: the providers of each host and its consumers from the start. Everything is derived from the
//! number of the host, so two servers get the same cloud independently.

/// The number of aggregates, which hosts are spread over, and of sharing providers.
pub const AGGREGATES: u64 = 20;
const COMMON: [&str; 8] = [
    "COMPUTE_NODE",
    "COMPUTE_VOLUME_ATTACH",
    "COMPUTE_RESCUE_BFV",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "HW_CPU_X86_SSE42",
    "HW_CPU_X86_AVX",
    "HW_ARCH_X86_64",
];
pub const FAST: &str = "HW_CPU_X86_AVX2";
/// The trait of every tenth host, chosen independently of the other trait.
pub const OUT_OF_SERVICE: &str = "CUSTOM_MAINTENANCE";
/// The traits to create before the hosts.
pub const CUSTOM_TRAITS: [&str; 3] = [OUT_OF_SERVICE, "CUSTOM_PHYSNET_0", "CUSTOM_PHYSNET_1"];
/// More than all claims of a measurement use.
const SHARED_DISK: u64 = 2_000_000_000;

/// The shape of the provider trees of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Flat,
    /// A root with the disk; two NUMA nodes with cores and memory below it, a NIC below each.
    Nested,
    /// Cores and memory; the disk is shared by an aggregate.
    Shared,
}

impl Shape {
    pub const ALL: [Self; 3] = [Self::Flat, Self::Nested, Self::Shared];

    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Nested => "nested",
            Self::Shared => "shared",
        }
    }
}

/// What a key identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Host,
    /// A NUMA node: twice the number of the host, plus 0 or 1.
    Numa,
    /// A NIC, by the number of its NUMA node.
    Nic,
    Aggregate,
    Sharing,
    /// A consumer that is on a host from the start: a hundred times the number of the host, plus a number.
    Resident,
    Guest,
}

/// A pseudo-random number, the same for the same argument.
pub fn drawn(from: u64) -> u64 {
    fastrand::Rng::with_seed(from).u64(..)
}

/// A UUID for this key, version 4 in form.
pub fn key(of: Of, number: u64) -> String {
    let seed = ((of as u64) << 56) ^ number;
    let (high, low) = (drawn(seed), drawn(!seed));
    format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFF,
        low >> 52,
        low & 0xFFFF_FFFF_FFFF
    )
}

/// A record of inventory; `min_unit` and `step_size` are 1, `max_unit` is the total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inventory {
    pub class: &'static str,
    pub total: u64,
    pub reserved: u64,
    pub ratio: f64,
}

/// A provider with its inventories, traits and aggregates.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    pub key: String,
    pub name: String,
    pub parent: Option<String>,
    pub inventories: Vec<Inventory>,
    pub traits: Vec<&'static str>,
    pub aggregate: Option<u64>,
}

/// The amounts of one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    pub cores: u64,
    pub memory: u64,
    pub disk: u64,
}

/// The amounts of a consumer, by provider and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub consumer: String,
    /// The providers, with the amounts of each of their classes.
    pub from: Vec<(String, Vec<(&'static str, u64)>)>,
}

/// A cloud of `hosts` hosts.
#[derive(Clone, Copy, Debug)]
pub struct Cloud {
    pub shape: Shape,
    pub hosts: u64,
    /// The number of consumers on every second host from the start; below 100.
    pub residents: u64,
}

const RESIDENT: Amounts = Amounts { cores: 4, memory: 8192, disk: 40 };

impl Cloud {
    /// The sharing providers, which are created before those of any host.
    pub fn sharing(&self) -> Vec<Provider> {
        let shared = |aggregate| Provider {
            key: key(Of::Sharing, aggregate),
            name: format!("disk-{aggregate}"),
            parent: None,
            inventories: vec![plain("DISK_GB", SHARED_DISK)],
            traits: vec!["MISC_SHARES_VIA_AGGREGATE"],
            aggregate: Some(aggregate),
        };
        if self.shape == Shape::Shared { (0..AGGREGATES).map(shared).collect() } else { Vec::new() }
    }

    pub fn host(&self, number: u64) -> Vec<Provider> {
        let inventories = match self.shape {
            Shape::Flat => [compute(1), vec![plain("DISK_GB", 4000)]].concat(),
            Shape::Nested => vec![plain("DISK_GB", 4000)],
            Shape::Shared => compute(1),
        };
        let root = Provider {
            key: key(Of::Host, number),
            name: format!("{}-{number}", self.shape.name()),
            parent: None,
            inventories,
            traits: traits(number),
            aggregate: Some(number % AGGREGATES),
        };
        let mut providers = vec![root];
        if self.shape == Shape::Nested {
            providers.extend([0, 1].into_iter().flat_map(|node| numa(number, node)));
        }
        providers
    }

    /// The consumers on a host from the start.
    pub fn residents(&self, host: u64) -> Vec<Claim> {
        let occupied = drawn(host ^ 0x00C0_FFEE).is_multiple_of(2);
        let residents = if occupied { 0..self.residents } else { 0..0 };
        residents.map(|number| self.claim(key(Of::Resident, host * 100 + number), host, number % 2, RESIDENT)).collect()
    }

    /// Amounts for a consumer, on one of the two NUMA nodes where there are any.
    pub fn claim(&self, consumer: String, host: u64, node: u64, amounts: Amounts) -> Claim {
        let compute = vec![("VCPU", amounts.cores), ("MEMORY_MB", amounts.memory)];
        let disk = vec![("DISK_GB", amounts.disk)];
        let from = match self.shape {
            Shape::Flat => vec![(key(Of::Host, host), [compute, disk].concat())],
            Shape::Nested => vec![(key(Of::Numa, 2 * host + node), compute), (key(Of::Host, host), disk)],
            Shape::Shared => vec![(key(Of::Host, host), compute), (key(Of::Sharing, host % AGGREGATES), disk)],
        };
        Claim { consumer, from }
    }
}

fn plain(class: &'static str, total: u64) -> Inventory {
    Inventory { class, total, reserved: 0, ratio: 1.0 }
}

/// Cores and memory of a host, or of one of its parts.
fn compute(parts: u64) -> Vec<Inventory> {
    let cores = Inventory { class: "VCPU", total: 64 / parts, reserved: 0, ratio: 16.0 };
    vec![cores, Inventory { class: "MEMORY_MB", total: 524_288 / parts, reserved: 4096 / parts, ratio: 1.0 }]
}

fn traits(host: u64) -> Vec<&'static str> {
    let number = drawn(host);
    let mut traits = COMMON.to_vec();
    traits.extend((number.is_multiple_of(2)).then_some(FAST));
    traits.extend(((number >> 8).is_multiple_of(10)).then_some(OUT_OF_SERVICE));
    traits
}

fn numa(host: u64, node: u64) -> [Provider; 2] {
    let number = 2 * host + node;
    let numa = Provider {
        key: key(Of::Numa, number),
        name: format!("nested-{host}-numa{node}"),
        parent: Some(key(Of::Host, host)),
        inventories: compute(2),
        traits: vec!["HW_NUMA_ROOT"],
        aggregate: None,
    };
    let network = if node == 0 { "CUSTOM_PHYSNET_0" } else { "CUSTOM_PHYSNET_1" };
    let nic = Provider {
        key: key(Of::Nic, number),
        name: format!("nested-{host}-nic{node}"),
        parent: Some(numa.key.clone()),
        inventories: vec![plain("SRIOV_NET_VF", 64)],
        traits: vec!["HW_NIC_SRIOV", network],
        aggregate: None,
    };
    [numa, nic]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cloud(shape: Shape) -> Cloud {
        Cloud { shape, hosts: 200, residents: 2 }
    }

    #[test]
    fn keys_are_uuids_and_differ() {
        let kinds = [Of::Host, Of::Numa, Of::Nic, Of::Aggregate, Of::Sharing, Of::Resident, Of::Guest];
        let keys: BTreeSet<String> = kinds.iter().flat_map(|of| (0..1000).map(|number| key(*of, number))).collect();
        assert_eq!(keys.len(), 7000);
        assert!(keys.iter().all(|key| key.len() == 36 && key.as_bytes()[14] == b'4'));
    }

    #[test]
    fn hosts_have_the_providers_of_their_shape() {
        for (shape, providers, sharing) in [(Shape::Flat, 1, 0), (Shape::Nested, 5, 0), (Shape::Shared, 1, 20)] {
            assert_eq!((cloud(shape).host(7).len(), cloud(shape).sharing().len()), (providers, sharing));
        }
        let nested = cloud(Shape::Nested).host(7);
        assert_eq!(nested[2].parent.as_ref(), Some(&nested[1].key));
        assert_eq!(nested[1].parent.as_ref(), Some(&nested[0].key));
    }

    #[test]
    fn half_of_the_hosts_are_fast_a_tenth_out_of_service_and_half_have_residents() {
        let hosts = 10_000;
        let share = |has: &dyn Fn(u64) -> bool| (0..hosts).filter(|host| has(*host)).count() * 100 / 10_000;
        assert!((48..=52).contains(&share(&|host| traits(host).contains(&FAST))));
        assert!((9..=11).contains(&share(&|host| traits(host).contains(&OUT_OF_SERVICE))));
        assert!((4..=6).contains(&share(&|host| traits(host).ends_with(&[FAST, OUT_OF_SERVICE]))));
        assert!((48..=52).contains(&share(&|host| !cloud(Shape::Flat).residents(host).is_empty())));
    }

    #[test]
    fn a_claim_names_providers_of_its_host() {
        for shape in Shape::ALL {
            let cloud = cloud(shape);
            let known: BTreeSet<String> =
                [cloud.host(9), cloud.sharing()].concat().into_iter().map(|provider| provider.key).collect();
            let claim = cloud.claim("x".to_owned(), 9, 1, RESIDENT);
            assert!(claim.from.iter().all(|(provider, _)| known.contains(provider)), "{shape:?}");
            assert_eq!(claim.from.iter().map(|(_, taken)| taken.len()).sum::<usize>(), 3);
        }
    }
}
