//! A second implementation of the filters as predicates over one host: random clouds, random requests and random
//! pipelines, in which both must keep the same hosts and count the same removals. It shares only the types of hosts and
//! requests with the filters.

use berth_core::host::{Aggregate, Capabilities};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};

use super::*;
use crate::{Candidates, Destination, InstanceGroup, Param};

const ACCELERATORS: &str = "COMPUTE_ACCELERATORS";
const EXCLUSIVE: &str = "CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE";
const TRAITS: [&str; 4] = [ACCELERATORS, EXCLUSIVE, "CUSTOM_A", "CUSTOM_B"];
const HOSTS: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "ghost"];
const PROJECTS: [&str; 3] = ["p1", "p2", "p3"];
const VMS: [&str; 5] = ["vm", "a", "b", "c", "d"];
const EXCLUDED: [&str; 1] = ["h1"];

const FILTERS: [&str; 16] = [
    "filter_status_conditions",
    "filter_correct_az",
    "filter_host_instructions",
    "filter_image_properties",
    "filter_capabilities",
    "filter_has_requested_traits",
    "filter_has_accelerators",
    "filter_instance_group_affinity",
    "filter_instance_group_anti_affinity",
    "filter_allowed_projects",
    "filter_aggregate_metadata",
    "filter_live_migratable",
    "filter_requested_destination",
    "filter_external_customer",
    "filter_has_enough_capacity",
    "filter_exclude_hosts",
];

fn owned<T: From<String>>(texts: impl IntoIterator<Item = &'static str>) -> Vec<T> {
    texts.into_iter().map(|text| T::from(text.to_owned())).collect()
}

fn some_of<T: From<String> + std::fmt::Debug>(
    all: &'static [&'static str],
    most: usize,
) -> impl Strategy<Value = Vec<T>> {
    subsequence(all.to_vec(), 0..=most).prop_map(owned)
}

fn any_status() -> impl Strategy<Value = ConditionStatus> {
    select(vec![ConditionStatus::True, ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown])
}

fn any_conditions() -> impl Strategy<Value = BTreeMap<String, ConditionStatus>> {
    let usual = Just(BTreeMap::from([("Ready".to_owned(), ConditionStatus::True)]));
    let names = ["Ready", "Onboarding", "HypervisorDisabled", "Terminating", "Tainted"];
    let others = btree_map(select(names.to_vec()).prop_map(str::to_owned), any_status(), 0..3);
    prop_oneof![2 => usual, 1 => others]
}

fn any_capabilities() -> impl Strategy<Value = Capabilities> {
    let features = || some_of::<String>(&["avx", "sse"], 2);
    (select(vec!["ch", "ch", "kvm", "vmware", ""]), select(vec!["x86_64", "x86_64", "aarch64"]), features(), features())
        .prop_map(|(kind, arch, modes, features)| Capabilities {
            cpu_arch: arch.to_owned(),
            hypervisor_type: kind.to_owned(),
            cpu_modes: modes.into_iter().collect(),
            features: features.into_iter().collect(),
            devices: BTreeSet::new(),
        })
}

fn any_aggregate() -> impl Strategy<Value = Aggregate> {
    let tenants = select(vec!["", "p1", "p2, p1", " ,p3", ","]);
    (select(vec!["agg1", "agg2", "agg3"]), select(vec!["filter_tenant_id", "filter_tenant_id2", "other"]), tenants)
        .prop_map(|(uuid, key, tenants)| Aggregate {
            uuid: uuid.to_owned(),
            metadata: BTreeMap::from([(key.to_owned(), tenants.to_owned())]),
        })
}

fn any_host(name: &'static str) -> impl Strategy<Value = Host> {
    let sizes = (0_i64..6, 0_i64..6, 0_i64..3);
    let lists =
        (some_of::<String>(&TRAITS, 4), some_of(&PROJECTS, 1), some_of::<VmId>(&VMS, 2), vec(any_aggregate(), 0..2));
    (sizes, select(vec!["az", "az", "other", ""]), any_conditions(), any_capabilities(), lists).prop_map(
        move |((cpu, memory, used), zone, conditions, capabilities, (traits, projects, vms, aggregates))| Host {
            zone: zone.into(),
            allocation: gib(used, used).into(),
            conditions,
            capabilities,
            traits: traits.into_iter().collect(),
            allowed_projects: projects.into_iter().collect(),
            instances: vms.into_iter().map(|vm| (vm, true)).collect(),
            aggregates,
            ..host(name, gib(cpu, memory))
        },
    )
}

fn any_cloud() -> impl Strategy<Value = Vec<Host>> {
    HOSTS[..5].iter().map(|name| any_host(name)).collect::<Vec<_>>()
}

fn any_specs() -> impl Strategy<Value = BTreeMap<String, String>> {
    let known = vec![
        ("capabilities:hypervisor_type", "CH"),
        ("capabilities:hypervisor_type", "qemu"),
        ("capabilities:hypervisor_type", "<in> ch"),
        ("capabilities:cpu_arch", "x86_64"),
        ("capabilities:color", "red"),
        ("trait:CUSTOM_A", "required"),
        ("trait:CUSTOM_A", "forbidden"),
        ("trait:CUSTOM_B", "forbidden"),
        ("trait:CUSTOM_B", "wanted"),
        ("accel:device_profile", "gpu"),
    ];
    vec(select(known), 0..3)
        .prop_map(|all| all.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

fn any_group() -> impl Strategy<Value = InstanceGroup> {
    let policy = select(vec!["affinity", "anti-affinity", "soft-affinity"]);
    let rule = select(vec![json!(null), json!(2), json!("2"), json!("x"), json!(0)]);
    (policy, btree_set(select(VMS.to_vec()), 0..4), some_of(&HOSTS, 2), rule).prop_map(
        |(policy, members, hosts, rule)| InstanceGroup {
            policy: policy.to_owned(),
            members: members.into_iter().map(VmId::from).collect(),
            hosts: hosts.into_iter().collect(),
            rules: BTreeMap::from([("max_server_per_host".to_owned(), rule)]),
        },
    )
}

fn any_destination() -> impl Strategy<Value = Destination> {
    let aggregates = select(vec![vec![], vec!["agg1"], vec!["agg1,agg2"], vec!["agg1", "agg2"], vec!["nowhere"]]);
    (select(vec!["", "h0", "ghost"]), aggregates)
        .prop_map(|(host, aggregates)| Destination { host: host.into(), aggregates: owned(aggregates) })
}

fn any_hints() -> impl Strategy<Value = Hints> {
    let intent = prop_oneof![1 => Just(None), 3 => select(Intent::ALL.to_vec()).prop_map(Some)];
    (intent, select(vec!["", "iaas-acme", "acme", "iaas-ignored"]), select(vec!["", "h0", "h2"])).prop_map(
        |(intent, domain, source)| {
            let hints = intent.map(Hints::for_intent).unwrap_or_default();
            let hints = if domain.is_empty() { hints } else { hints.with("domain_name", domain) };
            if source.is_empty() { hints } else { hints.with("source_host", source) }
        },
    )
}

fn any_image() -> impl Strategy<Value = BTreeMap<String, Value>> {
    let kind = select(vec!["kvm", "KVM", "vmware", "baremetal", "other"]);
    let entry = (select(vec!["img_hv_type", "hypervisor_type"]), kind);
    vec(entry, 0..2).prop_map(|all| all.into_iter().map(|(key, kind)| (key.to_owned(), json!(kind))).collect())
}

fn any_request() -> impl Strategy<Value = Request> {
    let desired_objects = (any_group(), any_destination(), any::<[bool; 2]>());
    let names = (some_of(&HOSTS, 2), some_of(&HOSTS, 1), select(vec!["", "az", "other"]), select(vec!["", "p1", "p2"]));
    let size = (1_u64..4, 1_u64..4, 0_u64..3);
    (desired_objects, names, size, any_hints(), any_image(), any_specs()).prop_map(
        |((group, destination, [is_grouped, is_aimed]), names, (cpu, memory, instances), hints, image, specs)| {
            let (ignore_hosts, force_hosts, zone, project) = names;
            let flavor = Flavor { extra_specs: specs, ..flavor(u32::try_from(cpu).unwrap(), memory * 1024, &[]) };
            Request {
                project: project.into(),
                zone: zone.into(),
                instances,
                hints,
                ignore_hosts,
                force_hosts,
                image_properties: image,
                destination: is_aimed.then_some(destination),
                group: is_grouped.then_some(group),
                candidates: Candidates::Listed(HOSTS.iter().map(|name| ((*name).into(), 0.0)).collect()),
                ..Request::new("vm", flavor)
            }
        },
    )
}

/// A step with its required parameters.
fn step(name: &str) -> StepSpec {
    let list = |key: &str, texts: &[&str]| Param {
        key: key.to_owned(),
        string_list_value: Some(texts.iter().map(|text| (*text).to_owned()).collect()),
        ..Param::default()
    };
    match name {
        "filter_exclude_hosts" => StepSpec::new(name).with(list("excludedHosts", &EXCLUDED)),
        "filter_external_customer" => StepSpec::new(name)
            .with(list("domainNamePrefixes", &["iaas-"]))
            .with(list("ignoredDomainNames", &["iaas-ignored"])),
        _ => StepSpec::new(name),
    }
}

/// The naive filters over one host, with or without a Hypervisor.
struct Naive<'a> {
    request: &'a Request,
    intent: Option<Intent>,
    cloud: &'a [Host],
}

impl Naive<'_> {
    fn is_of_a_vm(&self) -> bool {
        use Intent::{CapacityProbe, ReserveForFailover, ReuseFailoverReservation};
        !matches!(self.intent, Some(CapacityProbe | ReserveForFailover | ReuseFailoverReservation))
    }

    fn is_of_a_vm_and_no_slot(&self) -> bool {
        self.is_of_a_vm() && self.intent != Some(Intent::ReserveForCommittedResource)
    }

    fn hint(&self, name: &str) -> &str {
        self.request.hints.get(name).unwrap_or_default()
    }

    fn spec(&self, name: &str) -> Option<&str> {
        self.request.flavor.extra_specs.get(name).map(String::as_str)
    }

    /// Whether a filter keeps a host. `None` is a host without a Hypervisor: filters that do not need the object keep
    /// it.
    fn keeps(&self, filter: &str, name: &HostName, host: Option<&Host>) -> bool {
        let request = self.request;
        let asked = |is_active: bool, checker: &dyn Fn(&Host) -> bool| !is_active || host.is_some_and(checker);
        let asked_if_known = |is_active: bool, checker: &dyn Fn(&Host) -> bool| !is_active || host.is_none_or(checker);
        match filter {
            "filter_status_conditions" => asked(true, &Self::is_in_service),
            "filter_correct_az" => asked(!request.zone.is_empty(), &|host| host.zone == request.zone),
            "filter_host_instructions" => {
                !request.ignore_hosts.contains(name)
                    && (request.force_hosts.is_empty() || request.force_hosts.contains(name))
            }
            "filter_image_properties" => asked_if_known(self.is_of_a_vm_and_no_slot(), &|_| self.suits_the_image()),
            "filter_capabilities" => self.provides(host),
            "filter_has_requested_traits" => self.has_traits(host),
            "filter_has_accelerators" => {
                asked(self.spec("accel:device_profile").is_some(), &|host| host.traits.contains(ACCELERATORS))
            }
            "filter_instance_group_affinity" => match self.group("affinity") {
                Some(group) if !group.hosts.is_empty() => group.hosts.contains(name),
                _ => true,
            },
            "filter_instance_group_anti_affinity" => match self.group("anti-affinity") {
                Some(group) if !group.members.is_empty() => host.is_some_and(|host| self.is_apart(group, host)),
                _ => true,
            },
            "filter_allowed_projects" => asked_if_known(self.is_of_a_vm() && !request.project.is_empty(), &|host| {
                host.allowed_projects.is_empty() || host.allowed_projects.contains(&request.project)
            }),
            "filter_aggregate_metadata" => asked_if_known(self.is_of_a_vm(), &|host| self.is_tenant(host)),
            "filter_live_migratable" => {
                let source = self.cloud.iter().find(|source| source.name.as_str() == self.hint("source_host"));
                let is_active = self.intent == Some(Intent::LiveMigration) && source.is_some();
                asked(is_active, &|host| source.is_some_and(|source| Self::takes_over(host, source)))
            }
            "filter_requested_destination" => self.is_destination(name, host),
            "filter_external_customer" => {
                let domain = self.hint("domain_name");
                let is_external = domain.starts_with("iaas-") && domain != "iaas-ignored";
                asked(self.is_of_a_vm() && is_external, &|host| host.traits.contains(EXCLUSIVE))
            }
            "filter_has_enough_capacity" => asked(true, &|host| self.has_capacity(host)),
            "filter_exclude_hosts" => !EXCLUDED.contains(&name.as_str()),
            other => panic!("{other} is no filter"),
        }
    }

    fn is_in_service(host: &Host) -> bool {
        let status = |name: &str| host.conditions.get(name).copied();
        let is_off = |name: &str| status(name).is_none_or(|status| status == ConditionStatus::False);
        let is_ready = match status("Ready") {
            None => is_off("Onboarding"),
            Some(status) => status == ConditionStatus::True,
        };
        is_ready && is_off("HypervisorDisabled") && is_off("Terminating")
    }

    fn suits_the_image(&self) -> bool {
        let image = &self.request.image_properties;
        let kind = image.get("img_hv_type").or(image.get("hypervisor_type")).and_then(Value::as_str);
        !matches!(kind.map(str::to_lowercase).as_deref(), Some("vmware" | "baremetal"))
    }

    fn provides(&self, host: Option<&Host>) -> bool {
        let wanted: Vec<(&str, &str)> = (self.request.flavor.extra_specs.iter())
            .filter_map(|(key, value)| Some((key.strip_prefix("capabilities:")?, value.as_str())))
            .collect();
        if wanted.is_empty() || wanted.iter().any(|(_, value)| value.contains("<in>")) {
            return true;
        }
        let Some(host) = host else { return false };
        let kind = match host.capabilities.hypervisor_type.as_str() {
            "ch" => "ch",
            "kvm" => "qemu",
            _ => return false,
        };
        wanted.into_iter().all(|(key, value)| match key {
            "hypervisor_type" => value.to_lowercase() == kind,
            "cpu_arch" => value == host.capabilities.cpu_arch,
            _ => false,
        })
    }

    fn has_traits(&self, host: Option<&Host>) -> bool {
        let specs = self.request.flavor.extra_specs.iter();
        let mut traits = specs.filter_map(|(key, desired)| Some((key.strip_prefix("trait:")?, desired.as_str())));
        traits.all(|(name, desired)| match (desired, host) {
            ("required" | "forbidden", None) => false,
            ("required", Some(host)) => host.traits.contains(name),
            ("forbidden", Some(host)) => !host.traits.contains(name),
            _ => true,
        })
    }

    fn group(&self, policy: &str) -> Option<&InstanceGroup> {
        let group = self.request.group.as_ref()?;
        (group.policy == policy && self.is_of_a_vm_and_no_slot()).then_some(group)
    }

    fn is_apart(&self, group: &InstanceGroup, host: &Host) -> bool {
        let here = group.members.iter().filter(|vm| host.instances.contains_key(*vm)).count();
        let limit = match &group.rules["max_server_per_host"] {
            Value::String(text) => text.parse().unwrap_or(1),
            number => number.as_u64().unwrap_or(1),
        };
        let is_own = host.instances.contains_key(&self.request.instance);
        is_own || u64::try_from(here).unwrap() < limit.max(1)
    }

    fn is_tenant(&self, host: &Host) -> bool {
        let lists = host.aggregates.iter().flat_map(|aggregate| &aggregate.metadata);
        let lists = lists.filter(|(key, _)| key.starts_with("filter_tenant_id")).map(|(_, list)| list);
        let tenants: Vec<&str> =
            lists.flat_map(|list| list.split(',')).map(str::trim).filter(|one| !one.is_empty()).collect();
        tenants.is_empty() || tenants.contains(&self.request.project.as_str())
    }

    fn takes_over(host: &Host, source: &Host) -> bool {
        let (to, from) = (&host.capabilities, &source.capabilities);
        let has = |all: &BTreeSet<String>, wanted: &BTreeSet<String>| wanted.iter().all(|one| all.contains(one));
        to.cpu_arch == from.cpu_arch && has(&to.cpu_modes, &from.cpu_modes) && has(&to.features, &from.features)
    }

    fn is_destination(&self, name: &HostName, host: Option<&Host>) -> bool {
        let Some(wanted) = self.request.destination.as_ref().filter(|_| self.is_of_a_vm_and_no_slot()) else {
            return true;
        };
        let is_in = |host: &Host, any: &str| {
            any.split(',').any(|uuid| host.aggregates.iter().any(|aggregate| aggregate.uuid == uuid))
        };
        let is_in_all = wanted.aggregates.is_empty()
            || host.is_some_and(|host| wanted.aggregates.iter().all(|any| is_in(host, any)));
        is_in_all && (wanted.host.is_empty() || wanted.host == *name)
    }

    fn has_capacity(&self, host: &Host) -> bool {
        let count = i64::try_from(self.request.instances.max(1)).unwrap();
        let (capacity, used, one) = (host.capacity.or_zero(), host.allocation.or_zero(), self.request.size);
        capacity.memory.get() - used.memory.get() >= one.memory.get() * count
            && capacity.cpu.get() - used.cpu.get() >= one.cpu.get() * count
    }
}

/// The names of the feasible hosts, and how many hosts each filter has removed.
fn run_naively(
    filters: &[&'static str],
    request: &Request,
    cloud: &[Host],
) -> (Vec<String>, Vec<(&'static str, usize)>) {
    let naive = Naive { request, intent: request.hints.intent(), cloud };
    let mut left: Vec<HostName> = HOSTS.iter().map(|name| (*name).into()).collect();
    let mut removed = Vec::new();
    for filter in filters {
        let before = left.len();
        left.retain(|name| naive.keeps(filter, name, cloud.iter().find(|host| host.name == *name)));
        removed.push((*filter, before - left.len()));
    }
    left.sort();
    (names(&left), removed.into_iter().filter(|(_, count)| *count > 0).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn filters_keep_the_hosts_that_the_naive_ones_keep(
        cloud in any_cloud(),
        request in any_request(),
        filters in subsequence(FILTERS.to_vec(), 1..=16),
        turned in any::<Index>(),
    ) {
        let mut filters = filters;
        let first = turned.index(filters.len());
        filters.rotate_left(first);
        let steps: Vec<StepSpec> = filters.iter().map(|name| step(name)).collect();
        let decision = run(&pipeline(&steps, &[]), &request, &fleet(&cloud, &[])).unwrap();
        let mut hosts = names(&decision.hosts);
        hosts.sort();
        let removed: Vec<_> = decision.removed.removed.iter().map(|(filter, count)| (filter.step, *count)).collect();
        prop_assert_eq!((hosts, removed), run_naively(&filters, &request, &cloud));
    }

    #[test]
    fn the_order_of_the_filters_does_not_matter_for_what_is_left(
        cloud in any_cloud(),
        request in any_request(),
        filters in subsequence(FILTERS.to_vec(), 1..=16).prop_shuffle(),
    ) {
        let steps: Vec<StepSpec> = filters.iter().map(|name| step(name)).collect();
        let turned: Vec<StepSpec> = steps.iter().rev().cloned().collect();
        let fleet = fleet(&cloud, &[]);
        let hosts = |steps: &[StepSpec]| run(&pipeline(steps, &[]), &request, &fleet).unwrap().hosts;
        prop_assert_eq!(hosts(&steps), hosts(&turned));
    }
}
