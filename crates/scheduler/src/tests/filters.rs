//! Worked examples of filters, filter by filter.

use berth_core::host::Aggregate;
use serde_json::{Value, json};

use super::*;
use crate::{Candidates, Destination, InstanceGroup, Param};

fn step(name: &str) -> StepSpec {
    StepSpec::new(name)
}

fn small() -> Request {
    request(1, 1024, &[])
}

fn named(names: &[&str]) -> Fleet {
    fleet(&names.iter().map(|name| host(name, gib(8, 8))).collect::<Vec<_>>(), &[])
}

/// Whether a step keeps a modified copy of the usual host.
fn keeps(name: &str, request: &Request, change: impl FnOnce(&mut Host)) -> bool {
    let mut host = host("h", gib(8, 8));
    change(&mut host);
    kept(&step(name), request, &fleet(&[host], &[])) == ["h"]
}

#[test]
fn hosts_out_of_service_are_removed() {
    use ConditionStatus::{False, True, Unknown};
    for (conditions, expected) in [
        (vec![("Ready", True), ("HypervisorDisabled", False)], true),
        (vec![("Ready", Unknown)], false),
        (vec![("Ready", True), ("Terminating", True)], false),
        (vec![("Ready", True), ("HypervisorDisabled", Unknown)], false),
        (vec![("Ready", True), ("Tainted", True)], true),
        (vec![], true),
        (vec![("Onboarding", True)], false),
        (vec![("Onboarding", False)], true),
        (vec![("Ready", True), ("Onboarding", True)], true),
    ] {
        let set = |host: &mut Host| {
            host.conditions = conditions.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect();
        };
        assert_eq!(keeps("filter_status_conditions", &small(), set), expected, "{conditions:?}");
    }
}

#[test]
fn hosts_in_other_zones_are_removed() {
    let ask = |zone: &str| Request { zone: zone.into(), ..small() };
    for (wanted, label, expected) in
        [("az-a", "az-a", true), ("az-a", "az-b", false), ("az-a", "", false), ("", "", true), ("", "az-a", true)]
    {
        let set = |host: &mut Host| host.zone = label.into();
        assert_eq!(keeps("filter_correct_az", &ask(wanted), set), expected, "{wanted} {label}");
    }
    let unknown = |zone| Request { candidates: Candidates::Listed(vec![("ghost".into(), 0.0)]), ..ask(zone) };
    assert!(kept(&step("filter_correct_az"), &unknown("az-a"), &named(&[])).is_empty());
    assert_eq!(kept(&step("filter_correct_az"), &unknown(""), &named(&[])), ["ghost"]);
}

#[test]
fn ignored_and_forced_hosts_are_followed() {
    let hosts = |names: &[&str]| names.iter().map(|name| HostName::from(*name)).collect::<Vec<_>>();
    for (ignored, forced, expected) in [
        (vec!["a"], vec![], vec!["b", "c"]),
        (vec![], vec!["a", "c"], vec!["a", "c"]),
        (vec!["a"], vec!["a", "b"], vec!["b"]),
        (vec![], vec![], vec!["a", "b", "c"]),
    ] {
        let ask = Request { ignore_hosts: hosts(&ignored), force_hosts: hosts(&forced), ..small() };
        assert_eq!(kept(&step("filter_host_instructions"), &ask, &named(&["a", "b", "c"])), expected);
    }
}

#[test]
fn hosts_that_do_not_suit_the_image_are_removed() {
    let ask = |properties: &Value| Request {
        image_properties: serde_json::from_value(properties.clone()).unwrap(),
        ..small()
    };
    for (properties, expected, undetermined) in [
        (json!({"img_hv_type": "KVM"}), true, false),
        (json!({"hypervisor_type": "vmware"}), false, false),
        (json!({"img_hv_type": "BareMetal"}), false, false),
        (json!({"img_hv_type": "xen", "hypervisor_type": "kvm"}), true, true),
        (json!({"img_hv_type": 3}), true, true),
        (json!({}), true, true),
    ] {
        let filter = pipeline(&[step("filter_image_properties")], &[]);
        let decision = run(&filter, &ask(&properties), &named(&["a"])).unwrap();
        assert_eq!((decision.hosts.len() == 1, !decision.events.is_empty()), (expected, undetermined), "{properties}");
        for event in decision.events {
            assert_eq!(event.event, "image_properties_hv_type_undetermined");
            assert_eq!(event.label, Some(("intent", "unknown".to_owned())));
        }
    }
    let slot = with_intent(ask(&json!({"hypervisor_type": "vmware"})), Intent::ReserveForCommittedResource);
    assert_eq!(kept(&step("filter_image_properties"), &slot, &named(&["a"])), ["a"]);
}

#[test]
fn hosts_without_the_capabilities_are_removed() {
    let kinds = |names: &[&str]| {
        let hosts: Vec<Host> = names
            .iter()
            .map(|name| {
                let mut host = host(name, gib(8, 8));
                host.capabilities.hypervisor_type = (*name).to_owned();
                host.capabilities.cpu_arch = "x86_64".to_owned();
                host
            })
            .collect();
        fleet(&hosts, &[])
    };
    let fleet = kinds(&["ch", "kvm", "xen"]);
    for (specs, expected) in [
        (vec![("capabilities:hypervisor_type", "CH")], vec!["ch"]),
        (vec![("capabilities:hypervisor_type", "ch")], vec!["ch"]),
        (vec![("capabilities:hypervisor_type", "qemu")], vec!["kvm"]),
        (vec![("capabilities:hypervisor_type", "CH"), ("capabilities:cpu_arch", "x86_64")], vec!["ch"]),
        (vec![("capabilities:hypervisor_type", "CH"), ("capabilities:cpu_arch", "X86_64")], vec![]),
        (vec![("capabilities:cpu_arch", "s== x86_64")], vec!["ch", "kvm", "xen"]),
        (vec![("capabilities:foo", "1")], vec![]),
    ] {
        let ask = request(1, 1024, &specs);
        assert_eq!(kept(&step("filter_capabilities"), &ask, &fleet), expected, "{specs:?}");
    }
    let filter = pipeline(&[step("filter_capabilities")], &[]);
    let events = run(&filter, &small(), &fleet).unwrap().events;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event, "filter_capabilities_unknown_hypervisor_type");
    assert_eq!(events[0].label, Some(("hypervisor_type", "xen".to_owned())));
}

#[test]
fn hosts_without_the_traits_are_removed() {
    let ask = request(1, 1024, &[("trait:A", "required"), ("trait:B", "forbidden"), ("trait:C", "Required")]);
    for (traits, expected) in [(vec!["A"], true), (vec!["A", "B"], false), (vec![], false), (vec!["A", "D"], true)] {
        let set = |host: &mut Host| host.traits = traits.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(keeps("filter_has_requested_traits", &ask, set), expected, "{traits:?}");
    }
}

#[test]
fn hosts_for_external_customers_are_kept_for_them() {
    let prefixes = vec!["iaas-".to_owned()];
    let param = |key: &str, list| Param { key: key.to_owned(), string_list_value: Some(list), ..Param::default() };
    let filter = step("filter_external_customer").with(param("domainNamePrefixes", prefixes));
    let exclusive = Host { traits: ["CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE".to_owned()].into(), ..host("x", gib(8, 8)) };
    let fleet = fleet(&[exclusive, host("y", gib(8, 8))], &[]);
    let ask = |domain: &str| Request { hints: Hints::default().with("domain_name", domain), ..small() };
    assert_eq!(kept(&filter, &ask("iaas-acme"), &fleet), ["x"]);
    assert_eq!(kept(&filter, &ask("iaas-"), &fleet), ["x"]);
    assert_eq!(kept(&filter, &ask("acme"), &fleet), ["x", "y"]);
    assert_eq!(kept(&filter, &small(), &fleet), ["x", "y"]);
    let ignoring = filter.clone().with(param("ignoredDomainNames", vec!["iaas-acme".to_owned()]));
    assert_eq!(kept(&ignoring, &ask("iaas-acme"), &fleet), ["x", "y"]);
    let for_slot = |domain| Request { hints: Hints::for_slot(Some(domain)), ..small() };
    assert_eq!(kept(&filter, &for_slot("iaas-acme"), &fleet), ["x"]);
}

#[test]
fn hosts_without_accelerators_are_removed() {
    let ask = request(1, 1024, &[("accel:device_profile", "")]);
    assert!(!keeps("filter_has_accelerators", &ask, |_| {}));
    assert!(keeps("filter_has_accelerators", &ask, |host| host.traits = ["COMPUTE_ACCELERATORS".to_owned()].into()));
    assert!(keeps("filter_has_accelerators", &small(), |_| {}));
}

fn group(policy: &str, members: &[&str], hosts: &[&str]) -> InstanceGroup {
    InstanceGroup {
        policy: policy.to_owned(),
        members: members.iter().map(|vm| (*vm).into()).collect(),
        hosts: hosts.iter().map(|host| (*host).into()).collect(),
        ..InstanceGroup::default()
    }
}

#[test]
fn affinity_keeps_hosts_of_the_group() {
    let ask = |group| Request { group: Some(group), ..small() };
    let fleet = named(&["a", "b"]);
    assert_eq!(kept(&step("filter_instance_group_affinity"), &ask(group("affinity", &[], &["b"])), &fleet), ["b"]);
    assert_eq!(kept(&step("filter_instance_group_affinity"), &ask(group("affinity", &[], &[])), &fleet), ["a", "b"]);
    let probe = with_intent(ask(group("affinity", &[], &["b"])), Intent::CapacityProbe);
    assert_eq!(kept(&step("filter_instance_group_affinity"), &probe, &fleet), ["a", "b"]);
}

#[test]
fn anti_affinity_counts_members_per_host() {
    let ask = |rule: Option<Value>| {
        let mut group = group("anti-affinity", &["v1", "v2"], &[]);
        group.rules.extend(rule.map(|rule| ("max_server_per_host".to_owned(), rule)));
        Request { instance: "v9".into(), group: Some(group), ..small() }
    };
    for (rule, vms, expected) in [
        (None, vec!["v1"], false),
        (None, vec!["v3"], true),
        (None, vec!["v9", "v1"], true),
        (Some(json!(2)), vec!["v1"], true),
        (Some(json!("2")), vec!["v1"], true),
        (Some(json!("2")), vec!["v1", "v2"], false),
        (Some(json!(0)), vec!["v3"], true),
        (Some(json!(0)), vec!["v1"], false),
        (Some(json!(2.5)), vec!["v1"], false),
    ] {
        let set = |host: &mut Host| host.instances = vms.iter().map(|vm| ((*vm).into(), false)).collect();
        let kept = keeps("filter_instance_group_anti_affinity", &ask(rule.clone()), set);
        assert_eq!(kept, expected, "{rule:?} {vms:?}");
    }
}

#[test]
fn hosts_for_other_projects_are_removed() {
    for (allowed, project, expected) in
        [(vec![], "p2", true), (vec!["p2"], "p2", true), (vec!["p1"], "p2", false), (vec!["p1"], "", true)]
    {
        let ask = Request { project: project.into(), ..small() };
        let set = |host: &mut Host| host.allowed_projects = allowed.iter().map(|p| (*p).into()).collect();
        assert_eq!(keeps("filter_allowed_projects", &ask, set), expected, "{allowed:?} {project}");
    }
}

#[test]
fn hosts_outside_of_the_aggregates_of_the_tenant_are_removed() {
    let aggregate = |key: &str, value: &str| Aggregate {
        metadata: [(key.to_owned(), value.to_owned())].into(),
        ..Aggregate::default()
    };
    let ask = |project: &str| Request { project: project.into(), ..small() };
    for (aggregates, project, expected) in [
        (vec![aggregate("other", "p2")], "p1", true),
        (vec![aggregate("filter_tenant_id", "p2")], "p1", false),
        (vec![aggregate("filter_tenant_id", "p2"), aggregate("filter_tenant_id1", " p1 ,p3")], "p1", true),
        (vec![aggregate("filter_tenant_id", " , ")], "p1", true),
        (vec![aggregate("filter_tenant_id", "p2")], "", false),
    ] {
        let set = |host: &mut Host| host.aggregates.clone_from(&aggregates);
        assert_eq!(keeps("filter_aggregate_metadata", &ask(project), set), expected, "{aggregates:?}");
    }
}

#[test]
fn hosts_with_another_cpu_are_removed_for_live_migrations() {
    let with_modes = |name: &str, arch: &str, modes: &[&str]| {
        let mut host = host(name, gib(8, 8));
        host.capabilities.cpu_arch = arch.to_owned();
        host.capabilities.cpu_modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
        host
    };
    let hosts = [
        with_modes("source", "x", &["m1", "m2"]),
        with_modes("more", "x", &["m1", "m2", "m3"]),
        with_modes("less", "x", &["m1"]),
        with_modes("other", "y", &["m1", "m2"]),
    ];
    let fleet = fleet(&hosts, &[]);
    let ask = |source: &str| Request {
        hints: Hints::for_intent(Intent::LiveMigration).with("source_host", source),
        ..small()
    };
    assert_eq!(kept(&step("filter_live_migratable"), &ask("source"), &fleet), ["more", "source"]);
    assert_eq!(kept(&step("filter_live_migratable"), &ask(""), &fleet).len(), 4);
    let bare = super::fleet(&[with_modes("source", "x", &[]), with_modes("same", "x", &[])], &[]);
    assert_eq!(kept(&step("filter_live_migratable"), &ask("source"), &bare), ["same", "source"]);
    let failed = run(&pipeline(&[step("filter_live_migratable")], &[]), &ask("ghost"), &fleet).unwrap().failed;
    assert_eq!(failed.unwrap().to_string(), "filter_live_migratable failed: source host hypervisor not found");
}

#[test]
fn hosts_outside_of_the_requested_destination_are_removed() {
    let ask = |host: &str, aggregates: &[&str]| Request {
        destination: Some(Destination {
            host: host.into(),
            aggregates: aggregates.iter().map(|uuid| (*uuid).to_owned()).collect(),
        }),
        ..small()
    };
    for (uuids, expected) in [(vec!["u1", "u3"], true), (vec!["u1"], false), (vec!["u2", "u3"], false)] {
        let set = |host: &mut Host| {
            let aggregate = |uuid: &&str| Aggregate { uuid: (*uuid).to_owned(), ..Aggregate::default() };
            host.aggregates = uuids.iter().map(aggregate).collect();
        };
        assert_eq!(keeps("filter_requested_destination", &ask("", &["u1", "u2,u3"]), set), expected, "{uuids:?}");
    }
    assert!(kept(&step("filter_requested_destination"), &ask("h9", &[]), &named(&["a", "b"])).is_empty());
    assert_eq!(kept(&step("filter_requested_destination"), &ask("b", &[]), &named(&["a", "b"])), ["b"]);
}

#[test]
fn excluded_hosts_are_removed() {
    let list = Some(vec!["a".to_owned()]);
    let param = Param { key: "excludedHosts".to_owned(), string_list_value: list, ..Param::default() };
    assert_eq!(kept(&step("filter_exclude_hosts").with(param), &small(), &named(&["a", "b"])), ["b"]);
    assert_eq!(kept(&step("filter_exclude_hosts"), &small(), &named(&["a", "b"])), ["a", "b"]);
}

fn intents() -> [(&'static str, Option<Intent>); 9] {
    [
        ("none", None),
        ("create", Some(Intent::Create)),
        ("resize", Some(Intent::Resize)),
        ("live", Some(Intent::LiveMigration)),
        ("evacuate", Some(Intent::Evacuate)),
        ("failover", Some(Intent::ReserveForFailover)),
        ("reuse", Some(Intent::ReuseFailoverReservation)),
        ("slot", Some(Intent::ReserveForCommittedResource)),
        ("probe", Some(Intent::CapacityProbe)),
    ]
}

#[test]
fn which_filter_applies_to_which_intent() {
    const ALL: &[&str] = &["none", "create", "resize", "live", "evacuate", "failover", "reuse", "slot", "probe"];
    const VMS: &[&str] = &["none", "create", "resize", "live", "evacuate"];
    const VMS_AND_SLOTS: &[&str] = &["none", "create", "resize", "live", "evacuate", "slot"];
    let aggregate =
        Aggregate { metadata: [("filter_tenant_id".to_owned(), "p9".to_owned())].into(), ..Aggregate::default() };
    let mut bad = Host { zone: "other".into(), ..host("bad", gib(0, 0)) };
    bad.conditions.insert("Ready".to_owned(), ConditionStatus::False);
    bad.capabilities.hypervisor_type = "xen".to_owned();
    (bad.aggregates, bad.allowed_projects) = (vec![aggregate], ["p9".into()].into());
    bad.instances = [("v1".into(), true)].into();
    let mut source = host("source", gib(8, 8));
    source.capabilities.cpu_arch = "x".to_owned();
    let fleet = fleet(&[bad, source], &[]);
    let list = |key: &str, names: &[&str]| Param {
        key: key.to_owned(),
        string_list_value: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..Param::default()
    };
    let exclusive = step("filter_external_customer").with(list("domainNamePrefixes", &["iaas-"]));
    for (filter, applies) in [
        (step("filter_status_conditions"), ALL),
        (step("filter_correct_az"), ALL),
        (step("filter_host_instructions"), ALL),
        (step("filter_image_properties"), VMS),
        (step("filter_capabilities"), ALL),
        (step("filter_has_requested_traits"), ALL),
        (exclusive, VMS_AND_SLOTS),
        (step("filter_has_accelerators"), ALL),
        (step("filter_instance_group_affinity"), VMS),
        (step("filter_instance_group_anti_affinity"), VMS),
        (step("filter_has_enough_capacity"), ALL),
        (step("filter_allowed_projects"), VMS_AND_SLOTS),
        (step("filter_aggregate_metadata"), VMS_AND_SLOTS),
        (step("filter_live_migratable"), &["live"][..]),
        (step("filter_requested_destination"), VMS),
        (step("filter_exclude_hosts").with(list("excludedHosts", &["bad"])), ALL),
    ] {
        let policy = if filter.name.contains("anti") { "anti-affinity" } else { "affinity" };
        for (name, intent) in intents() {
            let hints = intent.map_or_else(Hints::default, Hints::for_intent);
            let ask = Request {
                zone: "az".into(),
                hints: hints.with("domain_name", "iaas-x").with("source_host", "source"),
                ignore_hosts: vec!["bad".into()],
                image_properties: [("img_hv_type".to_owned(), json!("vmware"))].into(),
                group: Some(group(policy, &["v1"], &["source"])),
                destination: Some(Destination { host: "source".into(), ..Destination::default() }),
                ..request(1, 1024, &[("trait:A", "required"), ("accel:device_profile", "")])
            };
            let removes = !kept(&filter, &ask, &fleet).contains(&"bad".to_owned());
            assert_eq!(removes, applies.contains(&name), "{} {name}", filter.name);
        }
    }
}

#[test]
fn hosts_without_hypervisor_checked_by_name_or_by_active_steps() {
    let listed = Candidates::Listed(vec![("ghost".into(), 0.0), ("spirit".into(), 0.0)]);
    let destination = |host: &str, aggregates: &[&str]| {
        let aggregates = aggregates.iter().map(|uuid| (*uuid).to_owned()).collect();
        Some(Destination { host: host.into(), aggregates })
    };
    let hints = Hints::for_intent(Intent::LiveMigration).with("source_host", "a");
    let ask = || Request { candidates: listed.clone(), ..small() };
    for (name, ask, expected) in [
        ("filter_host_instructions", Request { ignore_hosts: vec!["ghost".into()], ..ask() }, &["spirit"][..]),
        ("filter_host_instructions", Request { force_hosts: vec!["ghost".into()], ..ask() }, &["ghost"]),
        (
            "filter_instance_group_affinity",
            Request { group: Some(group("affinity", &[], &["ghost"])), ..ask() },
            &["ghost"],
        ),
        (
            "filter_instance_group_anti_affinity",
            Request { group: Some(group("anti-affinity", &["v"], &[])), ..ask() },
            &[],
        ),
        ("filter_requested_destination", Request { destination: destination("ghost", &[]), ..ask() }, &["ghost"]),
        ("filter_requested_destination", Request { destination: destination("", &["u1"]), ..ask() }, &[]),
        ("filter_live_migratable", Request { hints, ..ask() }, &[]),
        (
            "filter_image_properties",
            Request { image_properties: [("img_hv_type".to_owned(), json!("vmware"))].into(), ..ask() },
            &["ghost", "spirit"],
        ),
    ] {
        assert_eq!(kept(&step(name), &ask, &named(&["a"])), expected, "{name}");
    }
}

#[test]
fn hosts_without_hypervisor() {
    let ask = Request {
        zone: "az".into(),
        candidates: Candidates::Listed(vec![("ghost".into(), 0.0)]),
        ..request(1, 1024, &[("trait:A", "forbidden"), ("accel:device_profile", "x")])
    };
    for (name, kept_host) in [
        ("filter_status_conditions", false),
        ("filter_has_enough_capacity", false),
        ("filter_correct_az", false),
        ("filter_capabilities", false),
        ("filter_has_requested_traits", false),
        ("filter_has_accelerators", false),
        ("filter_allowed_projects", true),
        ("filter_aggregate_metadata", true),
        ("filter_image_properties", true),
        ("filter_host_instructions", true),
    ] {
        assert_eq!(!kept(&step(name), &ask, &named(&[])).is_empty(), kept_host, "{name}");
    }
}
