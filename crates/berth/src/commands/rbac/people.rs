//! Roles for people and for Prometheus: what `berth explain`, `berth schedule` and `berth crds` call. They are bound to nobody.

use berth_cluster::{Kind, Right, Role, Verb, in_remotes, roles};
use berth_crds::{
    CommitmentChange, CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, ProjectQuota,
    Reservation,
};
use berth_liquid::info;
use berth_scheduler_api::claims;
use berth_telemetry::config::Configuration;

/// The cluster that the operator runs in, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Home,
    Remote,
}

/// A role, and the paths that its bearers may get.
pub(super) struct PathRole {
    pub(super) role: Role,
    pub(super) about: &'static str,
    pub(super) paths: &'static [&'static str],
}

/// The roles, in the order in which they are printed. What is asked of the operator itself is asked in its own cluster.
pub(super) fn path_roles(place: Place) -> Vec<PathRole> {
    let mut all = vec![
        PathRole {
            role: cluster_role("berth-explain", place, &explain_rights()),
            about: "# For people who run `berth explain` and `berth schedule`.\n",
            paths: if place == Place::Home { &["/v1/explain/*"] } else { &[] },
        },
        PathRole {
            role: cluster_role("berth-crds-check", place, &check_rights()),
            about: "# For people who run `berth crds check` and `berth crds --check-only`. The objects are created as dry runs only, which\n\
                    # RBAC cannot tell from creating them.\n",
            paths: &[],
        },
    ];
    if place == Place::Home {
        all.push(PathRole {
            role: cluster_role("berth-metrics", place, &[]),
            about: "# For Prometheus: the metrics of `berth operator` and `berth placement` with --metrics-secure.\n",
            paths: &["/metrics"],
        });
    }
    all
}

fn cluster_role(name: &str, place: Place, rights: &[Right]) -> Role {
    let rights = if place == Place::Remote { in_remotes(rights) } else { rights.to_vec() };
    let rules = roles(&rights, "").into_iter().flat_map(|role| role.rules).collect();
    Role { name: name.to_owned(), namespace: None, rules }
}

fn explain_rights() -> Vec<Right> {
    let lease = Configuration::default().common.leader_election_id;
    let found = &[Verb::Get, Verb::List];
    vec![
        list::<CommitmentChange>(),
        list::<CommittedResource>(),
        list::<FlavorGroupCapacity>(),
        list::<Hypervisor>(),
        list::<Knowledge>(),
        list::<Pipeline>().at_home().optional(),
        list::<ProjectQuota>(),
        list::<Reservation>(),
        Right::resource("", "v1", "configmaps", found)
            .at_home()
            .named([claims::NAME])
            .because("The capacity that Nova was promised."),
        Right::resource("", "v1", "configmaps", found)
            .at_home()
            .named([info::NAME])
            .because("The units in which Limes counts."),
        Right::resource("coordination.k8s.io", "v1", "leases", found)
            .at_home()
            .named([lease])
            .because("Where the leader answers."),
    ]
}

fn list<K: Kind>() -> Right {
    Right::kind::<K>(&[Verb::List])
}

fn check_rights() -> Vec<Right> {
    const LIST_AND_TRY: &[Verb] = &[Verb::List, Verb::Create];
    vec![
        Right::kind::<CommittedResource>(LIST_AND_TRY),
        Right::kind::<FlavorGroupCapacity>(LIST_AND_TRY),
        Right::kind::<ProjectQuota>(LIST_AND_TRY),
        Right::kind::<Reservation>(LIST_AND_TRY),
        Right::resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", &[Verb::Get])
            .because("For --check-only."),
    ]
}
