//! The rules of the chart's roles, from those of `config/rbac`, which `berth rbac` prints.

use std::fmt::Write as _;

use crate::{Error, checkout};

/// What the operator does in its own cluster only, whatever the others serve.
const AT_HOME: [&str; 3] =
    ["apiGroups: [authentication.k8s.io]", "apiGroups: [authorization.k8s.io]", "resources: [commitmentchanges"];
/// What a process needs that asks the API server about its callers.
const CALLERS: &[&str] = &["resources: [tokenreviews]", "resources: [subjectaccessreviews]"];

/// The text of `templates/_rules.tpl`.
pub fn template() -> Result<String, Error> {
    let mut text =
        "{{/* Written by `make chart-files` from config/rbac. Arguments have `root` and `remote`. */}}\n".to_owned();
    for path in checkout::yaml_files(&checkout::root().join("config/rbac"))? {
        for document in checkout::read(&path)?.split("---\n") {
            text += &definition(document);
        }
    }
    Ok(text)
}

/// The rules of a role as named templates; nothing for other documents.
fn definition(document: &str) -> String {
    let Some((head, rules)) = document.split_once("rules:\n") else { return String::new() };
    let name = head.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap_or_default();
    let rules = split(rules);
    let of_callers: String = rules.iter().filter(|rule| has(rule, CALLERS)).cloned().collect();
    let all: String = rules.iter().map(|rule| conditional(rule)).collect();
    let mut text = define(name, &all);
    if !of_callers.is_empty() {
        text += &define("callers", &of_callers);
    }
    text
}

fn define(name: &str, rules: &str) -> String {
    let name = if name == "callers" { "berth.rules.callers".to_owned() } else { format!("berth.rules.{name}") };
    format!("\n{{{{- define \"{name}\" -}}}}\n{rules}{{{{- end -}}}}\n")
}

/// Each rule with the comments above it.
fn split(rules: &str) -> Vec<String> {
    let (mut all, mut current) = (Vec::new(), String::new());
    let mut is_inside = false;
    for line in rules.lines() {
        let is_first = is_inside && (line.starts_with('#') || line.starts_with("- "));
        if is_first {
            all.push(std::mem::take(&mut current));
        }
        is_inside = line.starts_with("- ") || (is_inside && !is_first);
        // Writing to a String does not fail.
        let _ = writeln!(current, "{line}");
    }
    all.push(current);
    all
}

fn has(rule: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| rule.contains(mark))
}

fn conditional(rule: &str) -> String {
    let is_lease = rule.contains("resources: [leases]");
    let lease = "resourceNames: [{{ include \"berth.lease\" .root | quote }}]";
    let rule = if is_lease { rule.replace("resourceNames: [berth]", lease) } else { rule.to_owned() };
    if has(&rule, &AT_HOME) { format!("{{{{- if not .remote }}}}\n{rule}{{{{- end }}}}\n") } else { rule }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_keep_the_comments_above_them() {
        let rules =
            split("# One.\n# Two.\n- apiGroups: [a]\n  verbs: [get]\n- apiGroups: [b]\n# Three.\n- apiGroups: [c]\n");
        assert_eq!(
            rules,
            [
                "# One.\n# Two.\n- apiGroups: [a]\n  verbs: [get]\n",
                "- apiGroups: [b]\n",
                "# Three.\n- apiGroups: [c]\n"
            ]
        );
    }

    #[test]
    fn what_is_at_home_is_left_out_for_a_remote_and_a_lease_has_the_configured_name() {
        let text = definition(
            "kind: ClusterRole\nmetadata:\n  name: berth\nrules:\n- apiGroups: [authorization.k8s.io]\n  resources: [subjectaccessreviews]\n\
             - apiGroups: [coordination.k8s.io]\n  resources: [leases]\n  resourceNames: [berth]\n",
        );
        assert!(text.contains("{{- if not .remote }}\n- apiGroups: [authorization.k8s.io]"), "{text}");
        assert!(text.contains("[{{ include \"berth.lease\" .root | quote }}]"), "{text}");
        assert!(text.contains("define \"berth.rules.callers\""), "{text}");
    }
}
