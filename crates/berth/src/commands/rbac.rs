//! `berth rbac`: prints the namespace, service account, roles and bindings of an operator. The rights are declared
//! beside the code that needs them (`wiring::rights`); the rules of the chart are made from the output of this command.

use std::fmt::{self, Display, Write as _};

use berth_cluster::{Role, Rule, in_remotes, roles};

use self::people::{PathRole, Place, path_roles};
use super::output;
use crate::args::RbacArguments;
use crate::error::Error;
use crate::wiring::all_rights;

mod people;
#[cfg(test)]
mod tests;

const ACCOUNT: &str = "berth";

/// The words that YAML takes for something else than text, as far as they can be names.
const NO_TEXT: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

pub(super) fn run(arguments: &RbacArguments) -> Result<(), Error> {
    let place = if arguments.remote { Place::Remote } else { Place::Home };
    let documents = documents(place, &arguments.namespace);
    output::print(&documents.iter().flat_map(|document| ["---\n", document]).collect::<String>())
}

/// The namespace comes first, for those who apply the documents in their order.
fn documents(place: Place, namespace: &str) -> Vec<String> {
    let (mut documents, rights) = match place {
        Place::Home => (account(&Scalar(namespace)), all_rights()),
        Place::Remote => (Vec::new(), in_remotes(&all_rights())),
    };
    let mut roles = roles(&rights, namespace);
    roles.sort_by(|a, b| a.name.cmp(&b.name));
    documents.extend(roles.iter().flat_map(|role| role_and_binding(role, namespace)));
    documents.extend(path_roles(place).iter().map(people_role));
    documents
}

fn account(namespace: &Scalar<'_>) -> Vec<String> {
    vec![
        format!("# Where the operator runs.\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n"),
        format!(
            "# As whom it runs.\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {ACCOUNT}\n  namespace: {namespace}\n"
        ),
    ]
}

fn role_and_binding(role: &Role, account_namespace: &str) -> [String; 2] {
    let binding = Binding { role, account_namespace: Scalar(account_namespace) };
    [format!("{}{}", about(role), Definition(role)), binding.to_string()]
}

/// Roles without bindings: the user knows whom to bind.
fn people_role(PathRole { role, about, paths }: &PathRole) -> String {
    format!("{about}{}{}", Definition(role), Paths(paths))
}

/// The rule that allows to get these paths of our listeners.
struct Paths<'a>(&'a [&'a str]);

impl Display for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let paths = joined(self.0.iter().map(|path| format!("\"{path}\"")));
        writeln!(f, "- nonResourceURLs: [{paths}]\n  verbs: [get]")
    }
}

/// The description of a role.
fn about(role: &Role) -> &'static str {
    match role.name.as_str() {
        ACCOUNT => {
            "# What `berth operator` may do with cluster scoped objects, whatever is configured, and no more. At its start it\n\
             # asks for what its configuration needs and names what is missing.\n"
        }
        "berth-events" => "# Events about cluster scoped objects go to the namespace `default`.\n",
        "berth-configmaps" => {
            "# What Nova was promised and what Limes is told about resources, in the namespace that the operator runs in.\n"
        }
        "berth-leader-election" => {
            "# The lease that replicas compete for with --leader-elect, in the namespace that they run in.\n"
        }
        _ => "",
    }
}

/// A role as a document.
struct Definition<'a>(&'a Role);

impl Display for Definition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("apiVersion: rbac.authorization.k8s.io/v1\n")?;
        writeln!(f, "kind: {}", kind(self.0))?;
        metadata(f, self.0)?;
        f.write_str("rules:\n")?;
        self.0.rules.iter().try_for_each(|rule| write!(f, "{}", Allowed(rule)))
    }
}

/// A rule, below the reasons for it.
struct Allowed<'a>(&'a Rule);

impl Display for Allowed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { group, resource, names, verbs, why, optional } = self.0;
        why.iter().try_for_each(|why| writeln!(f, "# {why}"))?;
        if *optional {
            f.write_str("# The kind need not be installed.\n")?;
        }
        writeln!(f, "- apiGroups: [{}]", Scalar(group))?;
        writeln!(f, "  resources: [{}]", Scalar(resource))?;
        if !names.is_empty() {
            writeln!(f, "  resourceNames: [{}]", joined(names.iter().map(|name| Scalar(name))))?;
        }
        writeln!(f, "  verbs: [{}]", joined(verbs))
    }
}

/// The binding of a role to the service account.
struct Binding<'a> {
    role: &'a Role,
    account_namespace: Scalar<'a>,
}

impl Display for Binding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = kind(self.role);
        writeln!(f, "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}Binding")?;
        metadata(f, self.role)?;
        writeln!(f, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {}", self.role.name)?;
        writeln!(f, "subjects:\n- kind: ServiceAccount\n  name: {ACCOUNT}\n  namespace: {}", self.account_namespace)
    }
}

fn kind(role: &Role) -> &'static str {
    if role.namespace.is_some() { "Role" } else { "ClusterRole" }
}

fn metadata(f: &mut fmt::Formatter<'_>, Role { name, namespace, .. }: &Role) -> fmt::Result {
    writeln!(f, "metadata:\n  name: {name}")?;
    namespace.iter().try_for_each(|namespace| writeln!(f, "  namespace: {}", Scalar(namespace)))
}

/// A text that is the same text in YAML.
struct Scalar<'a>(&'a str);

impl Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.starts_with(|first: char| first.is_ascii_lowercase())
            && self.0.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./".contains(c))
            && !NO_TEXT.contains(&self.0);
        if plain { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0) }
    }
}

fn joined(all: impl IntoIterator<Item = impl Display>) -> String {
    let mut line = String::new();
    for one in all {
        let separator = if line.is_empty() { "" } else { ", " };
        // Writing to a String does not fail.
        let _ = write!(line, "{separator}{one}");
    }
    line
}
