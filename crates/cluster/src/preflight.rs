//! Checks whether a cluster is usable: version, kinds and rights. All problems are reported at once, each in one line
//! with the action that it requires.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use berth_core::ClusterName;
use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use strum::{Display, IntoStaticStr};
use thiserror::Error;
use tokio::time::timeout;

use crate::deadlines::READ_DEADLINE;
use crate::{Cluster, Kind, chain};

/// The oldest API server that knows all that our CRDs use.
const OLDEST: (u32, u32) = (1, 31);

/// The number of concurrent requests.
const AT_ONCE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, Display)]
#[strum(serialize_all = "snake_case")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

impl Verb {
    pub const READ: &'static [Self] = &[Self::Get, Self::List, Self::Watch];
    /// What a watch needs. A writer also needs [`Verb::Get`], to find out what became of a write without an answer.
    pub const FOLLOW: &'static [Self] = &[Self::List, Self::Watch];

    /// Whether a rule that names objects can allow it: an object that is to be created has no name yet when RBAC decides.
    pub(crate) fn can_be_limited_by_name(self) -> bool {
        self != Self::Create
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A resource as RBAC and the API name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) subresource: Option<&'static str>,
}

impl Resource {
    pub(crate) fn new(group: &str, version: &str, plural: &str) -> Self {
        let [group, version, plural] = [group, version, plural].map(str::to_owned);
        Self { group, version, plural, subresource: None }
    }

    pub(crate) fn of<K: Kind>() -> Self {
        Self::new(&K::group(&()), &K::version(&()), &K::plural(&()))
    }

    /// That of the status of objects of a kind.
    pub(crate) fn status_of<K: Kind>() -> Self {
        Self { subresource: Some("status"), ..Self::of::<K>() }
    }

    fn group_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// As it is called in RBAC and in the list of what a group serves.
    pub(crate) fn name(&self) -> String {
        self.subresource.map_or_else(|| self.plural.clone(), |sub| format!("{}/{sub}", self.plural))
    }

    /// The same with its group.
    fn full_name(&self) -> String {
        if self.group.is_empty() { self.name() } else { format!("{}.{}", self.name(), self.group) }
    }
}

/// A resource that must be served, and the required rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub(crate) resource: Resource,
    pub(crate) namespace: Option<String>,
    /// The objects that are meant; empty: all of them.
    pub(crate) names: BTreeSet<String>,
    pub(crate) verbs: BTreeSet<Verb>,
    pub(crate) optional: bool,
}

impl Need {
    pub fn kind<K: Kind>(verbs: &[Verb]) -> Self {
        Self::new(Resource::of::<K>(), None, verbs)
    }

    pub fn status<K: Kind>(verbs: &[Verb]) -> Self {
        Self::new(Resource::status_of::<K>(), None, verbs)
    }

    /// A resource of a namespace, for example `coordination.k8s.io`, `v1`, `leases`.
    pub fn namespaced(group: &str, version: &str, plural: &str, namespace: &str, verbs: &[Verb]) -> Self {
        Self::new(Resource::new(group, version, plural), Some(namespace), verbs)
    }

    fn new(resource: Resource, namespace: Option<&str>, verbs: &[Verb]) -> Self {
        let (namespace, verbs) = (namespace.map(str::to_owned), verbs.iter().copied().collect());
        Self { resource, namespace, names: BTreeSet::new(), verbs, optional: false }
    }

    /// The same need of a kind that need not be installed: where it is not served nothing is missing.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    fn described(&self, verbs: &[Verb]) -> String {
        let names: Vec<_> = self.names.iter().map(String::as_str).collect();
        let (verbs, resource) = (listed(verbs), self.resource.full_name());
        format!("{verbs} {resource}{}{}", named(&names), self.place())
    }

    fn place(&self) -> String {
        self.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default()
    }
}

fn listed(verbs: &[Verb]) -> String {
    verbs.iter().map(|verb| verb.as_str()).collect::<Vec<_>>().join(", ")
}

fn named(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!(" named {}", names.join(", ")) }
}

/// Something that a cluster lacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum Preflight {
    #[error("cluster {cluster}: the API server has version {found}; upgrade it to {}.{} or newer", OLDEST.0, OLDEST.1)]
    Version { cluster: ClusterName, found: String },
    #[error("cluster {cluster}: {resource} of {group_version} is not served; install its CRD (berth crds prints ours)")]
    NotServed { cluster: ClusterName, group_version: String, resource: String },
    #[error(
        "cluster {cluster}: we may not {verbs} {resource}{names}{place}; grant it with a {role} and a binding to our account"
    )]
    NotAllowed {
        cluster: ClusterName,
        verbs: String,
        resource: String,
        /// The names of the objects, as rendered in the text; empty for all of them.
        names: String,
        /// The namespace, as rendered in the text.
        place: String,
        /// The kind of role to be changed.
        role: &'static str,
    },
    #[error(
        "cluster {cluster}: the API server does not accept our credentials (401); renew the token or the client \
         certificate (remotes must accept those of the home cluster)"
    )]
    Unauthorized { cluster: ClusterName },
    #[error("cluster {cluster}: the API server does not answer: {reason}; check the address and the network")]
    Unreachable { cluster: ClusterName, reason: String },
    #[error("cluster {cluster}: cannot find out {question}: {reason}")]
    Unanswered { cluster: ClusterName, question: String, reason: String },
}

impl Preflight {
    /// True if both are the same news: in which words a server does not answer changes all the time.
    pub(crate) fn is_same_problem(&self, other: &Self) -> bool {
        let unreachable = |problem| matches!(problem, &Self::Unreachable { .. });
        self == other || (unreachable(self) && unreachable(other))
    }
}

/// What a cluster was asked, and what it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// What it has, one sentence each, in the order of the needs.
    pub fine: Vec<String>,
    /// What it lacks, sorted and without duplicates.
    pub problems: Vec<Preflight>,
}

/// Checks `cluster` against `needs` and returns all problems.
pub async fn preflight(cluster: &Cluster, needs: &[Need]) -> Result<(), Vec<Preflight>> {
    let Examination { problems, .. } = examine(cluster, needs).await;
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Checks `cluster` against `needs`. Of a server that is too old it says only that, because such a server need not have our CRDs.
pub async fn examine(cluster: &Cluster, needs: &[Need]) -> Examination {
    let resources = async {
        let mut found = Examination::default();
        let wanted = check_served(cluster, needs, &mut found).await;
        check_allowed(cluster, &wanted, &mut found).await;
        found
    };
    let (version, resources) = futures::join!(check_version(cluster), resources);
    let mut all = match version {
        Ok(version) => Examination { fine: vec![version], problems: Vec::new() },
        Err(problem @ Preflight::Version { .. }) => return Examination { fine: Vec::new(), problems: vec![problem] },
        Err(problem) => Examination { fine: Vec::new(), problems: vec![problem] },
    };
    all.fine.extend(resources.fine);
    all.problems.extend(resources.problems);
    all.problems.sort();
    all.problems.dedup_by(|later, earlier| later.is_same_problem(earlier));
    all
}

async fn check_version(cluster: &Cluster) -> Result<String, Preflight> {
    let info = ask(cluster, "its version", cluster.client.apiserver_version()).await?;
    let version = (number(&info.major), number(&info.minor));
    if version < OLDEST {
        return Err(Preflight::Version { cluster: cluster.name.clone(), found: info.git_version });
    }
    Ok(format!("the API server has version {}", info.git_version))
}

/// The leading digits: managed clusters report `31+`.
fn number(text: &str) -> u32 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Asks which kinds are served. The needs whose rights must be checked: all except those of optional kinds that are not installed.
async fn check_served<'n>(cluster: &Cluster, needs: &'n [Need], found: &mut Examination) -> Vec<&'n Need> {
    let groups: BTreeSet<String> = needs.iter().map(|need| need.resource.group_version()).collect();
    let answers = stream::iter(groups).map(|group| served(cluster, group)).buffer_unordered(AT_ONCE);
    let answers: BTreeMap<_, _> = answers.collect().await;
    found.problems.extend(answers.values().filter_map(|answer| answer.clone().err()));
    let mut wanted = Vec::new();
    for need in needs {
        if let Some(Ok(served)) = answers.get(&need.resource.group_version()) {
            if need.optional && !served.contains(&need.resource.plural) {
                found.note(format!("{} is not served, and need not be", need.resource.full_name()));
                continue;
            }
            match missing(cluster, need, served) {
                Some(problem) => found.problems.push(problem),
                None if served.contains(&need.resource.name()) => {
                    found.note(format!("{} is served", need.resource.full_name()));
                }
                None => {}
            }
        }
        wanted.push(need);
    }
    wanted
}

impl Examination {
    /// Needs that differ in their names or verbs only are about the same kind.
    fn note(&mut self, sentence: String) {
        if !self.fine.contains(&sentence) {
            self.fine.push(sentence);
        }
    }
}

async fn served(cluster: &Cluster, group_version: String) -> (String, Result<BTreeSet<String>, Preflight>) {
    let question = format!("what {group_version} serves");
    let answer = async {
        let answer = match group_version.as_str() {
            "v1" => cluster.client.list_core_api_resources("v1").await,
            other => cluster.client.list_api_group_resources(other).await,
        };
        match answer {
            Ok(list) => Ok(list.resources.into_iter().map(|resource| resource.name).collect()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    };
    let served = ask(cluster, &question, answer).await;
    (group_version, served)
}

fn missing(cluster: &Cluster, need: &Need, served: &BTreeSet<String>) -> Option<Preflight> {
    let resource = need.resource.name();
    // Where a kind is missing, that its subresources are missing as well is no news.
    let known = need.resource.subresource.is_none() || served.contains(&need.resource.plural);
    (known && !served.contains(&resource)).then(|| Preflight::NotServed {
        cluster: cluster.name.clone(),
        group_version: need.resource.group_version(),
        resource,
    })
}

async fn check_allowed(cluster: &Cluster, needs: &[&Need], found: &mut Examination) {
    let questions: Vec<_> = needs.iter().map(|need| denied(cluster, need)).collect();
    let answers = stream::iter(questions).buffered(AT_ONCE).collect::<Vec<_>>().await;
    for (need, problems) in needs.iter().zip(answers) {
        if problems.is_empty() {
            found.note(format!("we may {}", need.described(&need.verbs.iter().copied().collect::<Vec<_>>())));
        }
        found.problems.extend(problems);
    }
}

/// The missing rights: one problem, or one for the names of each set of missing verbs.
async fn denied(cluster: &Cluster, need: &Need) -> Vec<Preflight> {
    let names: Vec<_> = need.names.iter().map(|name| Some(name.as_str())).collect();
    let names = if names.is_empty() { vec![None] } else { names };
    let mut missing: BTreeMap<Vec<Verb>, Vec<&str>> = BTreeMap::new();
    for name in names {
        match denied_verbs(cluster, need, name).await {
            Ok(verbs) if verbs.is_empty() => {}
            Ok(verbs) => missing.entry(verbs).or_default().extend(name),
            Err(problem) => return vec![problem],
        }
    }
    missing.iter().map(|(verbs, names)| not_allowed(cluster, need, verbs, names)).collect()
}

async fn denied_verbs(cluster: &Cluster, need: &Need, name: Option<&str>) -> Result<Vec<Verb>, Preflight> {
    let mut denied = Vec::new();
    for verb in &need.verbs {
        let name = name.filter(|_| verb.can_be_limited_by_name());
        if !is_allowed(cluster, need, *verb, name).await? {
            denied.push(*verb);
        }
    }
    Ok(denied)
}

fn not_allowed(cluster: &Cluster, need: &Need, verbs: &[Verb], names: &[&str]) -> Preflight {
    Preflight::NotAllowed {
        cluster: cluster.name.clone(),
        verbs: listed(verbs),
        resource: need.resource.full_name(),
        names: named(names),
        place: need.place(),
        role: if need.namespace.is_some() { "Role" } else { "ClusterRole" },
    }
}

async fn is_allowed(cluster: &Cluster, need: &Need, verb: Verb, name: Option<&str>) -> Result<bool, Preflight> {
    let Resource { group, version, plural, subresource } = &need.resource;
    let attributes = ResourceAttributes {
        group: Some(group.clone()),
        version: Some(version.clone()),
        resource: Some(plural.clone()),
        subresource: subresource.map(str::to_owned),
        namespace: need.namespace.clone(),
        name: name.map(str::to_owned),
        verb: Some(verb.as_str().to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), non_resource_attributes: None };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let api: Api<SelfSubjectAccessReview> = Api::all(cluster.client.clone());
    let question = format!("whether we may {verb} {}", need.resource.name());
    let answer = ask(cluster, &question, api.create(&PostParams::default(), &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

async fn ask<T>(
    cluster: &Cluster,
    question: &str,
    answer: impl Future<Output = kube::Result<T>>,
) -> Result<T, Preflight> {
    let cluster = cluster.name.clone();
    let unanswered = |cluster, reason| Preflight::Unanswered { cluster, question: question.to_owned(), reason };
    Err(match timeout(READ_DEADLINE, answer).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => Preflight::Unauthorized { cluster },
        Ok(Err(kube::Error::Api(status))) => unanswered(cluster, format!("{} ({})", status.message, status.code)),
        Ok(Err(error @ (kube::Error::Service(_) | kube::Error::HyperError(_)))) => {
            Preflight::Unreachable { cluster, reason: chain(&error) }
        }
        Ok(Err(error)) => unanswered(cluster, chain(&error)),
        Err(_) => Preflight::Unreachable { cluster, reason: format!("no answer within {} s", READ_DEADLINE.as_secs()) },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Reply, Request, Thing, scripted};

    fn needs() -> [Need; 3] {
        let events = Need::namespaced("events.k8s.io", "v1", "events", "default", &[Verb::Create, Verb::Patch]);
        [Need::kind::<Thing>(&[Verb::Get, Verb::Delete]), Need::status::<Thing>(&[Verb::Patch]), events]
    }

    fn version(minor: &str) -> Value {
        json!({
            "major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.0"), "gitCommit": "", "gitTreeState": "",
            "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
        })
    }

    fn resources(names: &[&str]) -> Value {
        let resource = |name| json!({ "name": name, "singularName": "", "namespaced": false, "kind": "", "verbs": [] });
        json!({ "groupVersion": "", "resources": names.iter().map(resource).collect::<Vec<_>>() })
    }

    fn review(request: &Request, denied: &[&str]) -> Reply {
        let verb = request.body.pointer("/spec/resourceAttributes/verb").and_then(Value::as_str).unwrap();
        let allowed = !denied.contains(&verb);
        Reply::Json(201, json!({ "metadata": {}, "spec": {}, "status": { "allowed": allowed } }))
    }

    async fn problems(
        minor: &'static str,
        things: &'static [&'static str],
        denied: &'static [&'static str],
    ) -> Vec<String> {
        problems_with(&needs(), minor, things, denied).await
    }

    async fn problems_with(
        needs: &[Need],
        minor: &'static str,
        things: &'static [&'static str],
        denied: &'static [&'static str],
    ) -> Vec<String> {
        let cluster = scripted(move |request| match request.path.as_str() {
            "/version" => Reply::Json(200, version(minor)),
            "/apis/test.berth/v1" => Reply::Json(200, resources(things)),
            "/apis/events.k8s.io/v1" => Reply::Json(200, resources(&["events"])),
            _ => review(request, denied),
        });
        match preflight(&cluster, needs).await {
            Ok(()) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        }
    }

    #[tokio::test]
    async fn a_kind_that_need_not_be_installed_is_no_problem_and_its_rights_count_only_where_it_is() {
        let needs = needs().map(Need::optional);
        assert!(problems_with(&needs[..2], "31", &["others"], &["delete", "patch"]).await.is_empty());
        let found = problems_with(&needs[..2], "31", &["things"], &["delete"]).await;
        assert_eq!(
            found,
            [
                "cluster home: things/status of test.berth/v1 is not served; install its CRD (berth crds prints ours)",
                "cluster home: we may not delete things.test.berth; grant it with a ClusterRole and a binding to our account",
            ]
        );
    }

    #[tokio::test]
    async fn a_fit_cluster_has_no_problems() {
        assert!(problems("31+", &["things", "things/status"], &[]).await.is_empty());
    }

    #[tokio::test]
    async fn every_problem_is_reported_and_reports_what_to_do() {
        let found = problems("31", &["things"], &["delete", "patch"]).await;
        assert_eq!(
            found,
            [
                "cluster home: things/status of test.berth/v1 is not served; install its CRD (berth crds prints ours)",
                "cluster home: we may not delete things.test.berth; grant it with a ClusterRole and a binding to our account",
                "cluster home: we may not patch events.events.k8s.io in namespace default; grant it with a Role and a binding \
                 to our account",
                "cluster home: we may not patch things/status.test.berth; grant it with a ClusterRole and a binding to our \
                 account",
            ]
        );
    }

    #[tokio::test]
    async fn of_a_server_that_is_too_old_nothing_else_is_reported() {
        let found = problems("30", &["things"], &["delete", "patch"]).await;
        assert_eq!(found, ["cluster home: the API server has version v1.30.0; upgrade it to 1.31 or newer"]);
    }

    async fn problems_of(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Vec<String> {
        let cluster = scripted(move |_| reply());
        let problems = preflight(&cluster, &[Need::kind::<Thing>(&[Verb::Get])]).await.unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn an_unanswered_question_is_a_problem() {
        let found = problems_of(|| Reply::error(500, "InternalError", "out of order")).await;
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|problem| problem.starts_with("cluster home: cannot find out ")), "{found:#?}");
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_or_does_not_know_us_is_one_problem() {
        let found = problems_of(|| Reply::Cut).await;
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].starts_with("cluster home: the API server does not answer: "), "{found:#?}");
        let found = problems_of(|| Reply::error(401, "Unauthorized", "Unauthorized")).await;
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].starts_with("cluster home: the API server does not accept our credentials"), "{found:#?}");
    }
}
