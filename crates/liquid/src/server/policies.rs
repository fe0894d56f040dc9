//! Who may call which endpoint: the rules of LIQUID with their defaults.

use berth_openstack::policy::{Check, Policies, SystemTokens};

use super::endpoint::Endpoint;

const GET_INFO: &str = "liquid:get_info";
const GET_CAPACITY: &str = "liquid:get_capacity";
const GET_USAGE: &str = "liquid:get_usage";
const SET_QUOTA: &str = "liquid:set_quota";
const CHANGE_COMMITMENTS: &str = "liquid:change_commitments";

/// Never `reader` or `member`: every customer has them in a project of their own.
const CHANGING_ROLES: [&str; 3] = ["admin", "service", "cloud_resource_admin"];
const VIEWER: &str = "cloud_resource_viewer";

/// The rules without a policy file. The scope of a token does not matter.
pub fn default_policies() -> Policies {
    let endpoints = [Endpoint::Info, Endpoint::Capacity, Endpoint::Usage, Endpoint::Quota, Endpoint::Change];
    let rules = endpoints.map(|endpoint| (rule(endpoint).to_owned(), default(endpoint)));
    Policies::new(SystemTokens::Allowed, rules)
}

pub(super) fn rule(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Info => GET_INFO,
        Endpoint::Capacity => GET_CAPACITY,
        Endpoint::Usage => GET_USAGE,
        Endpoint::Quota => SET_QUOTA,
        Endpoint::Change => CHANGE_COMMITMENTS,
    }
}

fn default(endpoint: Endpoint) -> Check {
    let viewer = endpoint.is_read().then_some(VIEWER);
    let roles = CHANGING_ROLES.into_iter().chain(viewer);
    Check::Any(roles.map(|role| Check::Role(role.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use berth_openstack::authentication::Caller;
    use berth_openstack::policy::Target;

    use super::*;

    const ALL: [Endpoint; 5] = [Endpoint::Info, Endpoint::Capacity, Endpoint::Usage, Endpoint::Quota, Endpoint::Change];

    fn allowed(role: &str, of_system: bool) -> Vec<Endpoint> {
        let caller = Caller { roles: vec![role.to_owned()], of_system, ..Caller::default() };
        let policies = default_policies();
        let may = |endpoint: &Endpoint| policies.authorize(rule(*endpoint), &caller, &Target::default()).is_ok();
        ALL.into_iter().filter(may).collect()
    }

    #[test]
    fn limes_may_everything_viewers_may_read_and_customers_may_nothing() {
        for role in ["admin", "service", "cloud_resource_admin", "Cloud_Resource_Admin"] {
            assert_eq!((allowed(role, false), allowed(role, true)), (ALL.to_vec(), ALL.to_vec()), "{role}");
        }
        assert_eq!(allowed("cloud_resource_viewer", false), [Endpoint::Info, Endpoint::Capacity, Endpoint::Usage]);
        for role in ["reader", "member", "resource_admin", ""] {
            assert_eq!(allowed(role, false), [], "{role}");
        }
    }
}
