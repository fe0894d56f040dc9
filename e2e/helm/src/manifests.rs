//! The folder `config/rbac`, for those who do not use Helm: accounts and roles, as the chart renders them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::rendering::DOCUMENTED;
use crate::{Error, Tools, checkout, program};

/// A folder, and the values with which the chart renders what is in it.
struct Folder {
    path: &'static str,
    about: &'static str,
    values: &'static [&'static str],
    /// The roles that are meant; empty: everything.
    only: &'static str,
}

const FOLDERS: [Folder; 4] = [
    Folder { path: "config/rbac", about: "The rights of the operator, and roles for people.", values: &[], only: "" },
    Folder {
        path: "config/rbac/remote",
        about: "The rights in another cluster that accepts the tokens of the cluster that the operator runs in.",
        values: &["remoteCluster.enabled=true"],
        only: "",
    },
    Folder {
        path: "config/rbac/placement",
        about: "The rights of `berth placement` with --metrics-secure and with credentials of Keystone in a Secret.",
        values: &[
            "operator.enabled=false",
            "rbac.people=false",
            "placement.enabled=true",
            "placement.metrics.secure=true",
            "placement.config.keystoneSecretRef.name=keystone",
            "placement.config.keystoneSecretRef.namespace=berth-system",
        ],
        only: "",
    },
    Folder {
        path: "config/rbac/secrets",
        about: "What the operator needs besides, with credentials of Keystone in a Secret. Change its name and namespace to yours.",
        values: &["config.keystoneSecretRef.name=keystone", "config.keystoneSecretRef.namespace=berth-system"],
        only: "berth-secrets",
    },
];

/// The kinds that are kept.
const KINDS: [&str; 5] = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// What the files should be.
pub fn files(tools: &Tools) -> Result<Vec<(PathBuf, String)>, Error> {
    let mut all = vec![(checkout::root().join("config/rbac/00-namespace.yaml"), namespace())];
    for folder in &FOLDERS {
        let path = checkout::root().join(folder.path);
        let text = render(tools, folder)?;
        all.extend(split(&text, folder).into_iter().map(|(name, text)| (path.join(name), text)));
    }
    Ok(all)
}

/// The files in these folders that should not be there.
pub fn surplus(wanted: &[(PathBuf, String)]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for folder in &FOLDERS {
        let path = checkout::root().join(folder.path);
        if path.exists() {
            found.extend(checkout::yaml_files(&path)?);
        }
    }
    found.retain(|path| !wanted.iter().any(|(wanted, _)| wanted == path));
    Ok(found)
}

/// Helm creates it.
fn namespace() -> String {
    let name = DOCUMENTED.namespace;
    format!("# Where the operator runs.\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n")
}

fn render(tools: &Tools, folder: &Folder) -> Result<String, Error> {
    let mut helm = tools.command("helm");
    helm.args(["template", DOCUMENTED.release]).arg(checkout::chart()).args(["--namespace", DOCUMENTED.namespace]);
    helm.args(["--kube-version", "1.36.0"]);
    for value in folder.values {
        helm.args(["--set", value]);
    }
    program::text(&mut helm)
}

/// The documents that are kept, by the name of their file.
fn split(rendered: &str, folder: &Folder) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for document in rendered.split("---\n") {
        let Some((source, document)) = document.split_once('\n') else { continue };
        let Some(template) = source.strip_prefix("# Source: ") else { continue };
        let has_kind =
            document.lines().any(|line| line.strip_prefix("kind: ").is_some_and(|kind| KINDS.contains(&kind)));
        let is_meant = folder.only.is_empty() || document.contains(&format!("\n  name: {}\n", folder.only));
        if !has_kind || !is_meant {
            continue;
        }
        let text = files.entry(name(template)).or_insert_with(|| {
            format!(
                "# {}\n# Written by `make chart-files` from {}.\n",
                folder.about,
                template.replacen("berth", "charts/berth", 1)
            )
        });
        text.push_str("---\n");
        text.push_str(&normalized(document));
    }
    files
}

/// The roles of a component are called after it, others after their template.
fn name(template: &str) -> String {
    let mut parts = template.rsplit('/');
    let (file, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if file == "rbac.yaml" { format!("{folder}.yaml") } else { file.to_owned() }
}

/// Without the labels of Helm, and with a token for the pods that other manifests describe.
fn normalized(document: &str) -> String {
    let mut text = String::new();
    let mut is_in_labels = false;
    for line in document.lines().filter(|line| !line.is_empty()) {
        is_in_labels = line == "  labels:" || (is_in_labels && line.starts_with("    "));
        if !is_in_labels && !line.starts_with("automountServiceAccountToken:") {
            text += line;
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_roles_are_kept_without_the_labels_of_helm() {
        let rendered = "---\n# Source: berth/templates/operator/rbac.yaml\nkind: ServiceAccount\nmetadata:\n  name: berth\n  \
             labels:\n    a: b\nautomountServiceAccountToken: false\n---\n# Source: berth/templates/operator/rbac.yaml\n\
             kind: Role\nmetadata:\n  name: berth-a\n---\n# Source: berth/templates/people-roles.yaml\nkind: ClusterRole\n\
             ---\n# Source: berth/templates/operator/services.yaml\nkind: Service\n";
        let files = split(rendered, &FOLDERS[0]);
        assert_eq!(files.keys().collect::<Vec<_>>(), ["operator.yaml", "people-roles.yaml"]);
        let wanted = "from charts/berth/templates/operator/rbac.yaml.\n---\nkind: ServiceAccount\nmetadata:\n  name: berth\n\
             ---\nkind: Role\nmetadata:\n  name: berth-a\n";
        assert!(files["operator.yaml"].ends_with(wanted), "{files:#?}");
    }
}
