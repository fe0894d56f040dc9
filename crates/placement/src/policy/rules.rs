//! The rules of Placement with their defaults. Names are those of Placement.

use berth_openstack::policy::Check;

macro_rules! names {
    ($($constant:ident = $name:literal),* $(,)?) => {
        $(#[doc = concat!("`placement:", $name, "`")] pub const $constant: &str = concat!("placement:", $name);)*
        /// All rules that endpoints check.
        pub const ENDPOINT_RULES: &[&str] = &[$($constant),*];
    };
}

names! {
    PROVIDERS_LIST = "resource_providers:list",
    PROVIDERS_CREATE = "resource_providers:create",
    PROVIDERS_SHOW = "resource_providers:show",
    PROVIDERS_UPDATE = "resource_providers:update",
    PROVIDERS_DELETE = "resource_providers:delete",
    INVENTORIES_LIST = "resource_providers:inventories:list",
    INVENTORIES_CREATE = "resource_providers:inventories:create",
    INVENTORIES_SHOW = "resource_providers:inventories:show",
    INVENTORIES_UPDATE = "resource_providers:inventories:update",
    INVENTORIES_DELETE = "resource_providers:inventories:delete",
    AGGREGATES_LIST = "resource_providers:aggregates:list",
    AGGREGATES_UPDATE = "resource_providers:aggregates:update",
    PROVIDER_TRAITS_LIST = "resource_providers:traits:list",
    PROVIDER_TRAITS_UPDATE = "resource_providers:traits:update",
    PROVIDER_TRAITS_DELETE = "resource_providers:traits:delete",
    PROVIDERS_USAGES = "resource_providers:usages",
    PROVIDER_ALLOCATIONS_LIST = "resource_providers:allocations:list",
    CLASSES_LIST = "resource_classes:list",
    CLASSES_CREATE = "resource_classes:create",
    CLASSES_SHOW = "resource_classes:show",
    CLASSES_UPDATE = "resource_classes:update",
    CLASSES_DELETE = "resource_classes:delete",
    TRAITS_LIST = "traits:list",
    TRAITS_SHOW = "traits:show",
    TRAITS_UPDATE = "traits:update",
    TRAITS_DELETE = "traits:delete",
    ALLOCATIONS_MANAGE = "allocations:manage",
    ALLOCATIONS_LIST = "allocations:list",
    ALLOCATIONS_UPDATE = "allocations:update",
    ALLOCATIONS_DELETE = "allocations:delete",
    CANDIDATES_LIST = "allocation_candidates:list",
    USAGES = "usages",
    RESHAPE = "reshaper:reshape",
}

const ADMIN: &str = "admin_api";
const SERVICE: &str = "service_api";
const ADMIN_OR_SERVICE: &str = "admin_or_service_api";
const PROJECT_READER: &str = "project_reader_api";
const ADMIN_OR_READER_OR_SERVICE: &str = "admin_or_project_reader_or_service_api";

pub const HELPERS: &[&str] = &[ADMIN, SERVICE, ADMIN_OR_SERVICE, PROJECT_READER, ADMIN_OR_READER_OR_SERVICE];

/// A rule that does not exist.
pub struct Default {
    pub name: &'static str,
    check: fn() -> Check,
    /// Whether it was only the role admin once.
    was_admin: bool,
}

impl Default {
    pub fn check(&self, enforce_new_defaults: bool) -> Check {
        let says = (self.check)();
        if enforce_new_defaults || !self.was_admin { says } else { Check::Any(vec![role("admin"), says]) }
    }
}

fn role(name: &str) -> Check {
    Check::Role(name.to_owned())
}

fn rule(name: &str) -> Check {
    Check::Rule(name.to_owned())
}

fn check_project() -> Check {
    Check::Equal { left: "project_id".to_owned(), right: "%(project_id)s".to_owned() }
}

pub const DEFAULTS: &[Default] = &{
    const fn helper(name: &'static str, says: fn() -> Check) -> Default {
        Default { name, check: says, was_admin: true }
    }
    const fn plain(name: &'static str) -> Default {
        Default { name, check: || rule(ADMIN_OR_SERVICE), was_admin: false }
    }
    let mut all = [const { plain("") }; ENDPOINT_RULES.len() + HELPERS.len()];
    let mut place = 0;
    while place < ENDPOINT_RULES.len() {
        all[place] = plain(ENDPOINT_RULES[place]);
        place += 1;
    }
    all[place - 1] = Default { name: RESHAPE, check: || rule(SERVICE), was_admin: false };
    all[place - 2] = Default { name: USAGES, check: || rule(ADMIN_OR_READER_OR_SERVICE), was_admin: false };
    all[place] = Default { name: ADMIN, check: || role("admin"), was_admin: false };
    all[place + 1] = helper(SERVICE, || role("service"));
    all[place + 2] = helper(ADMIN_OR_SERVICE, || Check::Any(vec![role("admin"), role("service")]));
    all[place + 3] = helper(PROJECT_READER, || Check::All(vec![role("reader"), check_project()]));
    all[place + 4] =
        helper(ADMIN_OR_READER_OR_SERVICE, || Check::Any(vec![role("admin"), rule(PROJECT_READER), role("service")]));
    all
};
