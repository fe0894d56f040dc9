//! The rules of the chart's roles: those that `berth rbac` prints for the cluster that the operator runs in, and for others.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::{Error, program};

/// What a process needs that asks the API server about its callers.
const CALLERS: [&str; 2] = ["resources: [tokenreviews]", "resources: [subjectaccessreviews]"];

/// The rules of a role, each with the comments above it.
#[derive(Debug, PartialEq)]
struct Role {
    name: String,
    rules: Vec<String>,
}

/// The text of `templates/_rules.tpl`.
pub fn template(berth: &Path) -> Result<String, Error> {
    let at_home = program::text(Command::new(berth).arg("rbac"))?;
    let elsewhere = program::text(Command::new(berth).args(["rbac", "--remote"]))?;
    Ok(of_printed(&at_home, &elsewhere))
}

fn of_printed(at_home: &str, elsewhere: &str) -> String {
    let mut text =
        "{{/* Written by `make chart-files` from `berth rbac`. Arguments have `root` and `remote`. */}}\n".to_owned();
    let elsewhere: Vec<_> = elsewhere.split("---\n").filter_map(role).collect();
    for role in at_home.split("---\n").filter_map(role) {
        let other = elsewhere.iter().find(|other| other.name == role.name);
        text += &definitions(&role, other.map(|other| other.rules.as_slice()));
    }
    text
}

/// The rules of a document; nothing for one that has none.
fn role(document: &str) -> Option<Role> {
    let (head, rules) = document.split_once("rules:\n")?;
    let name = head.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap_or_default();
    Some(Role { name: name.to_owned(), rules: split(rules) })
}

/// The rules of a role as named templates. Without `elsewhere` other clusters do not have the role.
fn definitions(role: &Role, elsewhere: Option<&[String]>) -> String {
    let mut all = String::new();
    for rule in &role.rules {
        all += &match elsewhere.map(|others| others.iter().find(|other| body(other) == body(rule))) {
            None => named_lease(rule),
            Some(Some(other)) if other == rule => named_lease(rule),
            // The reasons differ.
            Some(Some(other)) => only_if("not .remote", &named_lease(rule)) + &only_if(".remote", other),
            Some(None) => only_if("not .remote", &named_lease(rule)),
        };
    }
    let is_known = |other: &&String| role.rules.iter().any(|rule| body(rule) == body(other));
    for other in elsewhere.into_iter().flatten().filter(|other| !is_known(other)) {
        all += &only_if(".remote", other);
    }
    let of_callers: String = role.rules.iter().filter(|rule| has(rule, &CALLERS)).cloned().collect();
    let callers = if of_callers.is_empty() { String::new() } else { define("callers", &of_callers) };
    define(&role.name, &all) + &callers
}

fn define(name: &str, rules: &str) -> String {
    format!("\n{{{{- define \"berth.rules.{name}\" -}}}}\n{rules}{{{{- end -}}}}\n")
}

fn only_if(condition: &str, rule: &str) -> String {
    format!("{{{{- if {condition} }}}}\n{rule}{{{{- end }}}}\n")
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

/// A rule without its comments.
fn body(rule: &str) -> Vec<&str> {
    rule.lines().filter(|line| !line.starts_with('#')).collect()
}

fn has(rule: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| rule.contains(mark))
}

/// The Lease has the name that is configured.
fn named_lease(rule: &str) -> String {
    let lease = "resourceNames: [{{ include \"berth.lease\" .root | quote }}]";
    let is_lease = rule.contains("resources: [leases]");
    if is_lease { rule.replace("resourceNames: [berth]", lease) } else { rule.to_owned() }
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
    fn what_other_clusters_do_not_need_is_left_out_there_and_a_lease_has_the_configured_name() {
        let at_home = "kind: ClusterRole\nmetadata:\n  name: berth\nrules:\n\
             # Who.\n- apiGroups: [authorization.k8s.io]\n  resources: [subjectaccessreviews]\n\
             # Both.\n- apiGroups: [a]\n  verbs: [get]\n- apiGroups: [b]\n  verbs: [get, list]\n\
             - apiGroups: [coordination.k8s.io]\n  resources: [leases]\n  resourceNames: [berth]\n\
             # Reasons.\n- apiGroups: [d]\n\
             ---\nkind: Role\nmetadata:\n  name: berth-own\nrules:\n- apiGroups: [c]\n";
        let elsewhere = "kind: ClusterRole\nmetadata:\n  name: berth\nrules:\n\
             # Both.\n- apiGroups: [a]\n  verbs: [get]\n- apiGroups: [b]\n  verbs: [get]\n\
             # Other reasons.\n- apiGroups: [d]\n";
        let text = of_printed(at_home, elsewhere);
        for part in [
            "{{- if not .remote }}\n# Who.\n- apiGroups: [authorization.k8s.io]",
            "{{- end }}\n# Both.\n- apiGroups: [a]\n  verbs: [get]\n{{- if not .remote }}\n- apiGroups: [b]\n  verbs: [get, list]",
            "{{- if .remote }}\n- apiGroups: [b]\n  verbs: [get]\n{{- end }}",
            "[{{ include \"berth.lease\" .root | quote }}]",
            "{{- if not .remote }}\n# Reasons.\n- apiGroups: [d]\n{{- end }}\n{{- if .remote }}\n# Other reasons.\n- apiGroups: [d]",
            "define \"berth.rules.callers\" -}}\n# Who.",
            "{{- define \"berth.rules.berth-own\" -}}\n- apiGroups: [c]\n{{- end -}}",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
