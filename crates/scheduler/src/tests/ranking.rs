//! With one weigher the hosts come in the order of its scores, which the test computes independently from the objects.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::{InstanceGroup, Param};

const VMS: [&str; 4] = ["a", "b", "c", "d"];

fn any_host(number: usize) -> impl Strategy<Value = Host> {
    let guests = proptest::sample::subsequence(VMS.to_vec(), 0..=4);
    (8_i64..40, 8_i64..40, 0_i64..8, 0_i64..8, guests).prop_map(move |(cpu, memory, used_cpu, used_memory, guests)| {
        Host {
            allocation: gib(used_cpu, used_memory).into(),
            instances: guests.into_iter().map(|vm| (VmId::from(vm), true)).collect(),
            ..host(&format!("h{number}"), gib(cpu, memory))
        }
    })
}

fn any_cloud() -> impl Strategy<Value = Vec<Host>> {
    (0..5).map(any_host).collect::<Vec<_>>()
}

fn weigher(name: &str, multiplier: f64, weights: &BTreeMap<&str, f64>) -> StepSpec {
    let weights = weights.iter().map(|(resource, weight)| ((*resource).to_owned(), *weight)).collect();
    let param = Param { key: "resourceWeights".to_owned(), float_map_value: Some(weights), ..Param::default() };
    StepSpec { multiplier, ..StepSpec::new(name).with(param) }
}

/// The names of the hosts, the highest score first, equal ones by name.
fn by_score(cloud: &[Host], score: impl Fn(&Host) -> f64) -> Vec<String> {
    let mut scored: Vec<(f64, String)> = cloud.iter().map(|host| (score(host), host.name.to_string())).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, name)| name).collect()
}

/// The weighted mean of one number for each resource.
#[expect(clippy::cast_precision_loss, reason = "a few GiB")]
fn mean(weights: &BTreeMap<&str, f64>, host: &Host, number: impl Fn(&str, f64, f64) -> f64) -> f64 {
    let (all, used) = (host.capacity.or_zero(), host.allocation.or_zero());
    let figures = |resource: &str| match resource {
        "memory" => (used.memory.get() as f64, all.memory.get() as f64),
        _ => (used.cpu.get() as f64, all.cpu.get() as f64),
    };
    let parts = weights.iter().map(|(resource, weight)| {
        let (used, all) = figures(resource);
        weight * number(resource, used, all)
    });
    parts.sum::<f64>() / weights.values().sum::<f64>()
}

fn ranked(step: StepSpec, request: &Request, cloud: &[Host]) -> Vec<String> {
    names(&run(&pipeline(&[], &[step]), request, &fleet(cloud, &[])).unwrap().hosts)
}

fn any_weights() -> impl Strategy<Value = BTreeMap<&'static str, f64>> {
    btree_map(select(vec!["memory", "cpu"]), select(vec![1.0, 2.0]), 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn binpacking_prefers_the_fuller_host_and_spreading_the_emptier_one(cloud in any_cloud(), weights in any_weights(), spreads in any::<bool>()) {
        let request = request(1, 1024, &[]);
        let multiplier = if spreads { -1.0 } else { 1.0 };
        let vm = |resource: &str| if resource == "memory" { f64::from(1 << 30) } else { 1.0 };
        let score = |name: &String| {
            let host = cloud.iter().find(|host| host.name.as_str() == name).unwrap();
            multiplier * mean(&weights, host, |resource, used, all| (used + vm(resource)) / all)
        };
        let scores: Vec<f64> = ranked(weigher("kvm_binpack", multiplier, &weights), &request, &cloud).iter().map(score).collect();
        // Equal sums of fractions can differ by the order in which they are rounded.
        prop_assert!(scores.len() == cloud.len() && scores.is_sorted_by(|a, b| *a >= b - 1e-12), "{:?}", scores);
    }

    #[test]
    fn smaller_hosts_come_first(cloud in any_cloud(), resource in select(vec!["memory", "cpu"])) {
        let weights = BTreeMap::from([(resource, 1.0)]);
        let found = ranked(weigher("kvm_prefer_smaller_hosts", 1.0, &weights), &request(1, 1024, &[]), &cloud);
        prop_assert_eq!(found, by_score(&cloud, |host| -mean(&weights, host, |_, _, all| all)));
    }

    #[test]
    fn members_of_a_group_are_drawn_together_or_apart(cloud in any_cloud(), together in any::<bool>(), members in vec(select(VMS.to_vec()), 1..4)) {
        let policy = if together { "soft-affinity" } else { "soft-anti-affinity" };
        let members: BTreeSet<VmId> = members.into_iter().map(VmId::from).collect();
        let group = InstanceGroup { policy: policy.to_owned(), members: members.clone(), ..InstanceGroup::default() };
        let request = Request { group: Some(group), ..request(1, 1024, &[]) };
        let found = ranked(StepSpec::new("kvm_instance_group_soft_affinity"), &request, &cloud);
        let sign = if together { 1.0 } else { -1.0 };
        let count = |host: &Host| members.iter().filter(|vm| host.instances.contains_key(*vm)).count();
        prop_assert_eq!(found, by_score(&cloud, |host| sign * f64::from(u32::try_from(count(host)).unwrap())));
    }

    #[test]
    fn hosts_with_a_free_slot_of_the_project_come_first(cloud in any_cloud(), slots in vec((0_usize..5, 1_i64..6, any::<[bool; 2]>()), 0..5)) {
        let asked = Request { project: "p1".into(), zone: "az".into(), ..request(1, 2048, &[("quota:hw_version", "g1")]) };
        let made: Vec<Reservation> = (0..).zip(&slots).map(|(number, (on, memory, [ready, own]))| Reservation {
            ready: *ready,
            project: if *own { "p1" } else { "p2" }.into(),
            ..slot(&format!("s{number}"), &format!("h{on}"), gib(1, *memory), &[])
        }).collect();
        let is_good = |host: &Host| made.iter().any(|slot| {
            slot.ready && slot.project.as_str() == "p1" && slot.size.memory >= gib(1, 2).memory && slot.status_host.as_ref() == Some(&host.name)
        });
        let step = StepSpec::new("kvm_committed_resource_reservation");
        let found = names(&run(&pipeline(&[], &[step]), &asked, &fleet(&cloud, &made)).unwrap().hosts);
        prop_assert_eq!(found, by_score(&cloud, |host| f64::from(u8::from(is_good(host)))));
    }

    #[test]
    fn failover_slots_are_gathered_but_not_those_of_one_group(cloud in any_cloud(), slots in vec((0_usize..5, any::<bool>()), 1..8)) {
        let hints = Hints::for_intent(Intent::ReserveForFailover).with("_cortex_resource_group", "g1");
        let asked = Request { hints, ..request(1, 1024, &[]) };
        let made: Vec<Reservation> = (0..).zip(&slots).map(|(number, (on, same))| Reservation {
            group: if *same { "g1" } else { "g2" }.into(),
            ..failover(&format!("f{number}"), &format!("h{on}"), gib(1, 1), &["x"])
        }).collect();
        let of = |host: &Host| made.iter().filter(|slot| slot.status_host.as_ref() == Some(&host.name)).count();
        let same = |host: &Host| {
            made.iter().filter(|slot| slot.status_host.as_ref() == Some(&host.name) && slot.group.as_str() == "g1").count()
        };
        let step = StepSpec::new("kvm_failover_reservation_consolidation");
        let found = names(&run(&pipeline(&[], &[step]), &asked, &fleet(&cloud, &made)).unwrap().hosts);
        // Ten of one group weigh as much as one slot less.
        let score = |host: &Host| f64::from(u32::try_from(10 * of(host)).unwrap()) - f64::from(u32::try_from(same(host)).unwrap());
        prop_assert_eq!(found, by_score(&cloud, score));
    }
}
