//! Who may do what (document 51 section 1.8): the rules of Placement with their defaults, changed by a policy file of
//! oslo.policy. It decides yes or no for a caller; who the caller is is up to `protocol::authentication`.

mod check;
mod file;
mod parse;
pub mod rules;

use std::collections::BTreeMap;

use check::Check;
pub use check::Target;
pub use file::PolicyError;

use crate::protocol::authentication::Caller;

/// All rules, ready to be asked.
#[derive(Debug, Clone)]
pub struct Policies {
    rules: BTreeMap<String, Check>,
}

/// Why a caller may not; 403 with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The rule says no.
    #[error("Policy does not allow {0} to be performed.")]
    Rule(&'static str),
    /// The rule is not for tokens of the whole system.
    #[error("{0}")]
    Scope(&'static str),
}

impl Policies {
    /// The defaults. Without `enforce_new_defaults` the role admin satisfies every rule, as it always did.
    pub fn defaults(enforce_new_defaults: bool) -> Self {
        let rules =
            rules::DEFAULTS.iter().map(|default| (default.name.to_owned(), default.check(enforce_new_defaults)));
        Self { rules: rules.collect() }
    }

    /// The same with what a policy file says instead.
    pub fn with_file(mut self, text: &str) -> Result<Self, PolicyError> {
        self.rules.extend(file::read(text)?);
        file::refuse_circles(&self.rules)?;
        Ok(self)
    }

    /// Whether the caller may, with regard to `target`.
    pub fn judge(&self, rule: &'static str, caller: &Caller, target: &Target<'_>) -> Result<(), Forbidden> {
        if caller.of_system {
            return Err(Forbidden::Scope(rule));
        }
        if check::holds(&Check::Rule(rule.to_owned()), &self.rules, caller, target) {
            Ok(())
        } else {
            Err(Forbidden::Rule(rule))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(roles: &str, project: &str) -> Caller {
        let roles = roles.split(',').map(str::to_owned).collect();
        Caller { user: "u".to_owned(), project: Some(project.to_owned()), roles, of_system: false }
    }

    fn may(policies: &Policies, rule: &'static str, roles: &str, of: Option<&str>) -> bool {
        policies.judge(rule, &caller(roles, "p"), &Target { project: of, user: Some("u") }).is_ok()
    }

    #[test]
    fn document_51_section_1_8_new_defaults() {
        let policies = Policies::defaults(true);
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
    fn document_51_section_1_8_old_defaults_let_admin_do_everything() {
        let policies = Policies::defaults(false);
        assert!(rules::ENDPOINT_RULES.iter().all(|rule| may(&policies, rule, "Admin", None)));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "reader", Some("p")));
        assert!(may(&policies, rules::RESHAPE, "service", None));
    }

    #[test]
    fn document_51_section_1_8_texts() {
        let policies = Policies::defaults(false);
        let target = Target::default();
        let no = policies.judge(rules::RESHAPE, &caller("reader", "p"), &target).unwrap_err();
        assert_eq!(no.to_string(), "Policy does not allow placement:reshaper:reshape to be performed.");
        let system = Caller { of_system: true, ..caller("admin", "p") };
        let no = policies.judge(rules::RESHAPE, &system, &target).unwrap_err();
        assert_eq!(no.to_string(), "placement:reshaper:reshape");
    }

    #[test]
    fn a_policy_file_says_it_anew() {
        let file = "placement:reshaper:reshape: '@'\n'placement:usages': 'user_id:%(user_id)s and not role:bad'\nadmin_or_service_api: rule:mine\nmine: (role:a or role:b) and role:c\n";
        let policies = Policies::defaults(true).with_file(file).unwrap();
        assert!(may(&policies, rules::RESHAPE, "", None));
        assert!(may(&policies, rules::USAGES, "x", None));
        assert!(!may(&policies, rules::USAGES, "bad", None));
        assert!(may(&policies, rules::PROVIDERS_LIST, "b,c", None));
        assert!(!may(&policies, rules::PROVIDERS_LIST, "admin", None));
        let json = Policies::defaults(false).with_file(r#"{"placement:usages": "!"}"#).unwrap();
        assert!(!may(&json, rules::USAGES, "admin", None));
    }
}
