//! The rights that code needs, declared once beside it. The preflight ([`needs`]) and the roles ([`roles`]) are derived
//! from them.

use std::collections::BTreeSet;

use berth_core::ClusterName;
use berth_telemetry::config;

use crate::gvk::gvk;
use crate::preflight::Resource;
use crate::{Kind, Need, Routes, Verb};

#[cfg(test)]
mod tests;

/// The prefix of roles, and the name of the cluster role and the service account.
const ACCOUNT: &str = "berth";

/// Events about cluster scoped objects are kept in this namespace.
const OF_EVENTS: &str = "default";

/// Something that must be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    resource: Resource,
    verbs: BTreeSet<Verb>,
    /// It is needed only in clusters that serve this kind.
    serving: Option<config::Kind>,
    home_only: bool,
    /// `None`: the resource is cluster scoped.
    namespace: Option<Namespace>,
    /// The objects that are meant; empty: all of them.
    names: BTreeSet<String>,
    optional: bool,
    role: Option<&'static str>,
    why: &'static str,
}

/// In which namespace something is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Namespace {
    Own,
    Fixed(String),
}

/// A Role, or a `ClusterRole` if it has no namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    /// Where it is; `None` is a `ClusterRole`.
    pub namespace: Option<String>,
    pub rules: Vec<Rule>,
}

/// A rule of a role, about one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: String,
    pub resource: String,
    /// The objects that it is limited to; empty: all of them.
    pub names: BTreeSet<String>,
    pub verbs: BTreeSet<Verb>,
    /// The purposes, in the order of the declarations.
    pub why: Vec<&'static str>,
    pub optional: bool,
}

impl Right {
    /// To objects of a kind, in every cluster that serves it.
    pub fn kind<K: Kind>(verbs: &[Verb]) -> Self {
        Self::new(Resource::of::<K>(), verbs).where_served::<K>()
    }

    /// To the status of objects of a kind, in every cluster that serves it.
    pub fn status<K: Kind>(verbs: &[Verb]) -> Self {
        Self::new(Resource::status_of::<K>(), verbs).where_served::<K>()
    }

    /// To any other resource, for example `coordination.k8s.io`, `v1`, `leases`, in every cluster.
    pub fn resource(group: &str, version: &str, plural: &str, verbs: &[Verb]) -> Self {
        Self::new(Resource::new(group, version, plural), verbs)
    }

    /// To publish events about objects of a kind, in every cluster that serves it.
    pub fn events_about<K: Kind>() -> Self {
        Self::resource("events.k8s.io", "v1", "events", &[Verb::Create, Verb::Patch])
            .where_served::<K>()
            .in_namespace(OF_EVENTS)
            .granted_by("events")
    }

    fn new(resource: Resource, verbs: &[Verb]) -> Self {
        Self {
            resource,
            verbs: verbs.iter().copied().collect(),
            serving: None,
            home_only: false,
            namespace: None,
            names: BTreeSet::new(),
            optional: false,
            role: None,
            why: "",
        }
    }

    /// Only in clusters that serve this kind.
    #[must_use]
    pub fn where_served<K: Kind>(self) -> Self {
        Self { serving: Some(gvk::<K>()), ..self }
    }

    /// Only in the home cluster.
    #[must_use]
    pub fn at_home(self) -> Self {
        Self { home_only: true, ..self }
    }

    /// In the namespace that the process runs in.
    #[must_use]
    pub fn in_own_namespace(self) -> Self {
        Self { namespace: Some(Namespace::Own), ..self }
    }

    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(Namespace::Fixed(namespace.to_owned())), ..self }
    }

    /// Only for objects of these names. RBAC cannot limit `create` by name, so `create` is checked and granted for all
    /// names.
    #[must_use]
    pub fn named<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// For an optional kind: where the kind is not served, the right is not required.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The Role of its namespace that grants it is called `berth-<name>`. Without this it is called after the resource.
    #[must_use]
    pub fn granted_by(self, name: &'static str) -> Self {
        Self { role: Some(name), ..self }
    }

    /// A sentence with the purpose, which is rendered beside the rule.
    #[must_use]
    pub fn because(self, why: &'static str) -> Self {
        Self { why, ..self }
    }

    /// Whether a cluster that the process does not run in may need it, with some configuration.
    fn is_for_remotes(&self) -> bool {
        !self.home_only && self.serving.as_ref().is_none_or(|kind| !kind.is_at_home())
    }

    fn applies(&self, routes: &Routes, cluster: &ClusterName) -> bool {
        let served = self.serving.as_ref().is_none_or(|kind| routes.serves_kind(kind, cluster));
        served && (!self.home_only || *cluster == ClusterName::home())
    }

    /// The verbs with the names that they are limited to.
    fn limits(&self) -> impl Iterator<Item = (BTreeSet<Verb>, BTreeSet<String>)> {
        let (limited, unlimited): (BTreeSet<Verb>, _) =
            self.verbs.iter().partition(|verb| !self.names.is_empty() && verb.can_be_limited_by_name());
        [(unlimited, BTreeSet::new()), (limited, self.names.clone())].into_iter().filter(|(verbs, _)| !verbs.is_empty())
    }

    fn namespace(&self, own: &str) -> Option<String> {
        self.namespace.as_ref().map(|namespace| match namespace {
            Namespace::Own => own.to_owned(),
            Namespace::Fixed(name) => name.clone(),
        })
    }

    fn needs(&self, own: &str) -> impl Iterator<Item = Need> {
        self.limits().map(|(verbs, names)| Need {
            resource: self.resource.clone(),
            namespace: self.namespace(own),
            names,
            verbs,
            optional: self.optional,
        })
    }

    fn rules(&self) -> impl Iterator<Item = Rule> {
        self.limits().map(|(verbs, names)| Rule {
            group: self.resource.group.clone(),
            resource: self.resource.name(),
            names,
            verbs,
            why: Some(self.why).filter(|why| !why.is_empty()).into_iter().collect(),
            optional: self.optional,
        })
    }

    /// The name of the role that grants it.
    fn role(&self) -> String {
        match (&self.namespace, self.role) {
            (None, _) => ACCOUNT.to_owned(),
            (Some(_), Some(role)) => format!("{ACCOUNT}-{role}"),
            (Some(_), None) => format!("{ACCOUNT}-{}", self.resource.plural),
        }
    }
}

impl Need {
    /// Takes over what `other` needs if it is about the same objects; whether it was.
    fn absorb(&mut self, other: &Self) -> bool {
        let is_same =
            (&self.resource, &self.namespace, &self.names) == (&other.resource, &other.namespace, &other.names);
        if is_same {
            self.verbs.extend(&other.verbs);
            self.optional &= other.optional;
        }
        is_same
    }
}

impl Rule {
    /// Takes over what `other` allows if it is about the same objects; whether it was.
    fn absorb(&mut self, other: &Self) -> bool {
        let is_same = (&self.group, &self.resource, &self.names) == (&other.group, &other.resource, &other.names);
        if is_same {
            self.verbs.extend(&other.verbs);
            self.optional &= other.optional;
            let new = other.why.iter().filter(|why| !self.why.contains(why)).copied().collect::<Vec<_>>();
            self.why.extend(new);
        }
        is_same
    }
}

/// The needs that follow from `rights` in one cluster, for a process that runs in the namespace `own_namespace`: one
/// for each resource, namespace and set of names.
pub fn needs(rights: &[Right], routes: &Routes, cluster: &ClusterName, own_namespace: &str) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let here = rights.iter().filter(|right| right.applies(routes, cluster));
    for need in here.flat_map(|right| right.needs(own_namespace)) {
        if !needs.iter_mut().any(|known| known.absorb(&need)) {
            needs.push(need);
        }
    }
    needs
}

/// The rights that clusters may need that the process does not run in.
pub fn in_remotes(rights: &[Right]) -> Vec<Right> {
    rights.iter().filter(|right| right.is_for_remotes()).cloned().collect()
}

/// The roles that grant `rights` in a cluster that serves everything, to a process that runs in the namespace `own_namespace`,
/// in the order of the declarations, with rules in alphabetical order.
pub fn roles(rights: &[Right], own_namespace: &str) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for right in rights {
        let (name, namespace) = (right.role(), right.namespace(own_namespace));
        let known = roles.iter().position(|role| role.name == name && role.namespace == namespace);
        let at = known.unwrap_or_else(|| {
            roles.push(Role { name, namespace, rules: Vec::new() });
            roles.len() - 1
        });
        right.rules().for_each(|rule| roles[at].allow(rule));
    }
    roles.iter_mut().for_each(Role::sort);
    roles
}

impl Role {
    fn allow(&mut self, rule: Rule) {
        if !self.rules.iter_mut().any(|known| known.absorb(&rule)) {
            self.rules.push(rule);
        }
    }

    fn sort(&mut self) {
        self.rules.sort_by(|a, b| (&a.group, &a.resource, &a.names).cmp(&(&b.group, &b.resource, &b.names)));
    }
}
