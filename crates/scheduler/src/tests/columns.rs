//! Columns and sets equal the hosts, whatever their rows contained before.

use berth_capacity_view::{HostSet, Question};
use berth_core::host::Aggregate;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;
use crate::{Candidates, Destination, InstanceGroup};

fn any_host() -> impl Strategy<Value = Host> {
    let names = |of: &'static [&'static str]| subsequence(of, 0..of.len());
    (
        0_usize..4,
        (0_usize..3, prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        (names(&["t1", "t2", "t3"]), names(&["u1", "u2"]), names(&["p1", "p2"]), names(&["v1", "v2", "v3"])),
        (1_i64..9, 0_i64..4),
    )
        .prop_map(
            |(number, (zone, ready, sense, known), (traits, aggregates, projects, vms), (capacity, used))| {
                let mut host = host(&format!("h{number}"), gib(capacity, capacity));
                host.zone = ["", "az", "b"][zone].into();
                let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
                host.conditions.insert("Ready".to_owned(), status);
                host.invalid_amount = (!sense).then(|| "odd".to_owned());
                host.capabilities.hypervisor_type = if known { "ch" } else { "xen" }.to_owned();
                host.traits = traits.into_iter().map(str::to_owned).collect();
                let tenants = projects.first().map(|project| ("filter_tenant_id".to_owned(), (*project).to_owned()));
                let aggregate =
                    |uuid: &str| Aggregate { uuid: uuid.to_owned(), metadata: tenants.clone().into_iter().collect() };
                host.aggregates = aggregates.into_iter().map(aggregate).collect();
                host.allowed_projects = projects.iter().skip(1).map(|project| (*project).into()).collect();
                host.instances = vms.into_iter().map(|vm| (vm.into(), true)).collect();
                host.allocation = gib(used, used).into();
                host
            },
        )
}

/// `None` removes a host.
fn any_events() -> impl Strategy<Value = Vec<(usize, Option<Host>)>> {
    vec((0_usize..4, prop::option::weighted(0.8, any_host())), 1..20)
}

fn requests() -> Vec<Request> {
    let small = || Request { instance: "v9".into(), zone: "az".into(), ..request(1, 1024, &[]) };
    let group = |policy: &str| InstanceGroup {
        policy: policy.to_owned(),
        members: ["v1".into(), "v2".into()].into(),
        ..InstanceGroup::default()
    };
    let destination = Destination { aggregates: vec!["u1,u2".to_owned()], ..Destination::default() };
    let named = |name: &str| (HostName::from(name), 1.0);
    vec![
        small(),
        Request { zone: "".into(), project: "p1".into(), ..small() },
        request(1, 1024, &[("trait:t1", "required"), ("trait:t2", "forbidden")]),
        Request { group: Some(group("anti-affinity")), ..small() },
        Request { group: Some(group("soft-affinity")), ..small() },
        Request { destination: Some(destination), ..small() },
        Request {
            candidates: Candidates::Listed(vec![named("h1"), named("ghost"), named("h3"), named("h1")]),
            ..small()
        },
    ]
}

fn steps() -> Vec<StepSpec> {
    let spec = crate::shipped::specs().into_iter().find(|spec| spec.name == crate::shipped::GENERAL_PURPOSE).unwrap();
    spec.filters
}

proptest! {
    #[test]
    fn what_stood_in_a_place_before_does_not_matter(events in any_events()) {
        let mut fleet = Fleet::default();
        let mut hosts: BTreeMap<HostName, Host> = BTreeMap::new();
        for (number, event) in events {
            if let Some(host) = event {
                hosts.insert(host.name.clone(), host.clone());
                fleet.set_host(host);
            } else {
                let name = HostName::new(format!("h{number}"));
                hosts.remove(&name);
                fleet.remove_host(&name);
            }
        }
        let anew = super::fleet(&hosts.into_values().collect::<Vec<_>>(), &[]);
        let weigher = StepSpec::new("kvm_instance_group_soft_affinity");
        for filters in std::iter::once(steps()).chain(steps().into_iter().map(|step| vec![step])) {
            let pipeline = pipeline(&filters, std::slice::from_ref(&weigher));
            for request in requests() {
                let (kept, expected) = (run(&pipeline, &request, &fleet), run(&pipeline, &request, &anew));
                let counted = |decision: &Result<Decision, _>| decision.as_ref().map(|decision| {
                    (decision.hosts.clone(), decision.removed.clone(), decision.events.len())
                }).map_err(SchedulerError::to_string);
                prop_assert_eq!(counted(&kept), counted(&expected), "{:?} {:?}", filters, request);
            }
        }
    }

    #[test]
    fn hosts_that_fit_are_those_with_the_capacity(
        hosts in vec(any_host(), 1..4),
        slots in vec((0_usize..4, 1_i64..6, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()), 0..12),
        (need, empty, ignored) in (1_i64..9, any::<bool>(), any::<bool>()),
    ) {
        let reservations: Vec<Reservation> = slots.iter().zip(0..).map(|((on, size, own, is_failover, ready, has_vm), number)| {
            let (name, on) = (format!("s{number}"), format!("h{on}"));
            let vms = if *has_vm { vec![("v1", gib(1, 1))] } else { vec![] };
            let slot = match is_failover {
                true => failover(&name, &on, gib(*size, *size), &["v9"]),
                false => slot(&name, &on, gib(*size, *size), &vms),
            };
            Reservation { ready: *ready, group: if *own { "g1" } else { "" }.into(), ..slot }
        }).collect();
        let fleet = fleet(&hosts, &reservations);
        let (project, group, vm) = ("p1".into(), "g1".into(), "v9".into());
        for (own, evacuated) in [(false, false), (true, false), (true, true)] {
            let question = Question {
                assume_empty: empty,
                ignore_committed: ignored,
                owner: own.then_some((&project, &group)),
                own_failover: evacuated,
                vm: Some(&vm),
                ..Question::default()
            };
            let overlay = fleet.view.overlay();
            let free_capacities = overlay.free_capacities(&question);
            let mut fitting = fleet.view.present().clone();
            free_capacities.keep_fitting(gib(need, need), &mut fitting);
            let fits = |free: Option<Resources>| free.is_some_and(|free| gib(need, need).fits(free));
            let expected = fleet.view.hosts().map(|(id, _)| id).filter(|id| fits(free_capacities.at(*id)));
            prop_assert_eq!(fitting.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
        prop_assert!(!fleet.view.present().is_empty() && HostSet::none().is_empty());
    }
}
