//! How checks are attached to a CRD; the checks are in `checks`.
//!
//! Checks stand at properties of `spec`, never at the spec type, because the copy in `status.acceptedSpec` must not be
//! checked: a status write never fails because of an old spec.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, ValidationRule,
};

use crate::normalise::{at, root};

/// Whole and non-negative quantities in canonical form: no sign and no fraction.
pub const WHOLE_QUANTITY_PATTERN: &str = "^(0|[1-9][0-9]*([KMGTPE]i|[kMGTPE])?)$";

/// One check of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    /// The kind that is checked.
    pub(crate) kind: &'static str,
    /// The field that is checked; see [`at`].
    pub(crate) path: &'static str,
    /// What must hold.
    pub(crate) what: What,
}

/// What must hold for a field.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// A rule in CEL.
    Rule(Rule),
    /// The text is not empty.
    NotEmpty,
    /// The integer is not negative.
    NotNegative,
    /// The quantity is whole and not negative.
    WholeQuantity,
    /// There is at most one condition of each type.
    ConditionMap,
}

/// A rule in CEL and what to tell the one who breaks it.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    cel: &'static str,
    message: &'static str,
    /// A text in CEL that says what was found; the API server falls back to `message`.
    expression: Option<&'static str>,
    /// The field at fault, relative to the field that the rule stands at.
    field: Option<&'static str>,
    /// `oldSelf` is an optional value, which is empty on creation. It has times as text.
    optional_old: bool,
}

impl Rule {
    pub(crate) const fn new(cel: &'static str, message: &'static str) -> Self {
        Self { cel, message, expression: None, field: None, optional_old: false }
    }

    pub(crate) const fn field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }

    pub(crate) const fn expression(self, expression: &'static str) -> Self {
        Self { expression: Some(expression), ..self }
    }

    pub(crate) const fn optional_old(self) -> Self {
        Self { optional_old: true, ..self }
    }

    fn printed(self) -> ValidationRule {
        ValidationRule {
            rule: self.cel.to_owned(),
            message: Some(self.message.to_owned()),
            message_expression: self.expression.map(str::to_owned),
            field_path: self.field.map(str::to_owned),
            optional_old_self: self.optional_old.then_some(true),
            reason: None,
        }
    }
}

pub(crate) fn attach(crd: &mut CustomResourceDefinition, checks: &[Check]) {
    let kind = crd.spec.names.kind.clone();
    let Some(root) = root(crd) else { return };
    for check in checks.iter().filter(|check| check.kind == kind) {
        at(root, check.path, |schema| enforce(schema, check.what));
    }
}

fn enforce(schema: &mut JSONSchemaProps, what: What) {
    match what {
        What::Rule(rule) => schema.x_kubernetes_validations.get_or_insert_default().push(rule.printed()),
        What::NotEmpty => schema.min_length = Some(1),
        What::NotNegative => schema.minimum = Some(0.0),
        What::WholeQuantity => {
            schema.pattern = Some(WHOLE_QUANTITY_PATTERN.to_owned());
            // The pattern is for strings; a quantity may be an integer as well.
            schema.minimum = Some(0.0);
        }
        What::ConditionMap => {
            schema.x_kubernetes_list_type = Some("map".to_owned());
            schema.x_kubernetes_list_map_keys = Some(vec!["type".to_owned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::attach;
    use crate::{checks, generate};

    /// `at` does nothing for a path that does not exist; this makes sure that no check is lost that way.
    #[test]
    fn every_check_finds_its_field() {
        for check in checks::OURS {
            let before = generate::without_rules().into_iter().find(|crd| crd.spec.names.kind == check.kind).unwrap();
            let mut after = before.clone();
            attach(&mut after, &[*check]);
            assert_ne!(before, after, "{} {}", check.kind, check.path);
        }
    }

    #[test]
    fn the_checks_of_the_hypervisor_find_their_fields() {
        let crds = serde_json::to_string(&generate::without_rules()).unwrap();
        assert_eq!(crds.matches("\"rule\":").count(), checks::OF_OWNERS.len());
    }
}
