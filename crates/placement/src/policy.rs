//! The rules of Placement with their defaults.

pub mod rules;

use berth_openstack::policy::{Policies, SystemTokens};

/// The defaults. Without `enforce_new_defaults` the role admin satisfies every rule, as it always did.
pub fn defaults(enforce_new_defaults: bool) -> Policies {
    let rules = rules::DEFAULTS.iter().map(|default| (default.name.to_owned(), default.check(enforce_new_defaults)));
    Policies::new(SystemTokens::Refused, rules)
}

#[cfg(test)]
mod tests {
    use berth_openstack::authentication::Caller;
    use berth_openstack::policy::Target;
    use berth_openstack::testing::{caller, may};

    use super::*;

    #[test]
    fn the_default_policy_has_reader_and_service_roles() {
        let policies = defaults(true);
        for (roles, list, reshape, usages) in [
            ("admin,member,reader", true, false, true),
            ("service", true, true, true),
            ("member,reader", false, false, true),
            ("member", false, false, false),
            ("", false, false, false),
        ] {
            assert_eq!(may(&policies, rules::PROVIDERS_LIST, roles, Some("p")), list, "{roles}");
            assert_eq!(may(&policies, rules::RESHAPE, roles, Some("p")), reshape, "{roles}");
            assert_eq!(may(&policies, rules::USAGES, roles, Some("p")), usages, "{roles}");
        }
        assert!(!may(&policies, rules::USAGES, "reader", Some("other")));
        assert!(!may(&policies, rules::USAGES, "reader", None));
    }

    #[test]
    fn old_defaults_let_admin_do_everything() {
        let policies = defaults(false);
        assert!(rules::ENDPOINT_RULES.iter().all(|rule| may(&policies, rule, "Admin", None)));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "reader", Some("p")));
        assert!(may(&policies, rules::RESHAPE, "service", None));
    }

    #[test]
    fn refusals_name_the_rule() {
        let policies = defaults(false);
        let target = Target::default();
        let no = policies.authorize(rules::RESHAPE, &caller("reader", "p"), &target).unwrap_err();
        assert_eq!(no.to_string(), "Policy does not allow placement:reshaper:reshape to be performed.");
        let system = Caller { of_system: true, ..caller("admin", "p") };
        let no = policies.authorize(rules::RESHAPE, &system, &target).unwrap_err();
        assert_eq!(no.to_string(), "placement:reshaper:reshape");
    }

    #[test]
    fn a_policy_file_reports_it_anew() {
        let file = "placement:reshaper:reshape: '@'\n'placement:usages': 'user_id:%(user_id)s and not role:bad'\nadmin_or_service_api: rule:mine\nmine: (role:a or role:b) and role:c\n";
        let policies = defaults(true).with_file(file).unwrap();
        assert!(may(&policies, rules::RESHAPE, "", None));
        assert!(may(&policies, rules::USAGES, "x", None));
        assert!(!may(&policies, rules::USAGES, "bad", None));
        assert!(may(&policies, rules::PROVIDERS_LIST, "b,c", None));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "admin", None));
        let json = defaults(false).with_file(r#"{"placement:usages": "!"}"#).unwrap();
        assert!(!may(&json, rules::USAGES, "admin", None));
    }

    #[test]
    fn a_circle_through_the_defaults_is_refused() {
        let text = "admin_or_service_api: rule:placement:usages\nplacement:usages: rule:admin_or_service_api";
        assert!(defaults(true).with_file(text).unwrap_err().to_string().contains("refers to itself"));
    }
}
