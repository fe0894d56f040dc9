//! No component has rights of another, and none has more than it may have.

use serde_json::Value;

use crate::rendering::{Rendering, title};

/// What no set of values may grant.
pub fn excesses(rendering: &Rendering) -> Vec<String> {
    let roles = rendering.of_kind("ClusterRole").chain(rendering.of_kind("Role"));
    roles
        .flat_map(|role| excesses_of(role).into_iter().map(|text| rendering.problem(&text)).collect::<Vec<_>>())
        .collect()
}

fn excesses_of(role: &Value) -> Vec<String> {
    let component = &role["metadata"]["labels"]["app.kubernetes.io/component"];
    let rules = role["rules"].as_array().into_iter().flatten();
    let has = |rule: &Value, list: &str, words: &[&str]| {
        rule[list].as_array().is_some_and(|all| all.iter().any(|one| words.iter().any(|word| one == word)))
    };
    let mut found = Vec::new();
    for rule in rules {
        if has(rule, "verbs", &["*"]) || has(rule, "resources", &["*"]) || has(rule, "apiGroups", &["*"]) {
            found.push(format!("{} has a rule for everything", title(role)));
        }
        if has(rule, "resources", &["hypervisors"]) && !only(rule, &["list", "watch"]) {
            found.push(format!("{} may do more with hosts than follow them", title(role)));
        }
        if has(rule, "resources", &["secrets"]) && (rule["resourceNames"].is_null() || !only(rule, &["get"])) {
            found.push(format!("{} may do more with Secrets than get those that are named", title(role)));
        }
        if component == "placement" && has(rule, "apiGroups", &["cortex.cloud", "kvm.cloud.sap"]) {
            found.push(format!("{} has rights to objects of the operator", title(role)));
        }
    }
    found
}

fn only(rule: &Value, verbs: &[&str]) -> bool {
    rule["verbs"].as_array().is_some_and(|all| all.iter().all(|one| verbs.iter().any(|verb| one == verb)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_role_may_have_is_found() {
        let found = |component: &str, group: &str, resource: &str, verbs: &[&str]| {
            let rule = json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
            let labels = json!({ "app.kubernetes.io/component": component });
            excesses_of(&json!({ "metadata": { "labels": labels }, "rules": [rule] })).len()
        };
        assert_eq!(found("operator", "kvm.cloud.sap", "hypervisors", &["list", "watch"]), 0);
        assert_eq!(found("operator", "kvm.cloud.sap", "hypervisors", &["list", "patch"]), 1);
        assert_eq!(found("placement", "cortex.cloud", "reservations", &["list"]), 1);
        assert_eq!(found("operator", "", "secrets", &["get"]), 1);
        assert_eq!(found("operator", "", "*", &["get"]), 1);
    }
}
