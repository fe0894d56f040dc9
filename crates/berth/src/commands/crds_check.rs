//! `berth crds check`: finds stored objects that our admission rules would refuse if they were created now. The API
//! servers evaluate the rules in dry runs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use berth_cluster::{Cluster, Fault, Kind, ReadError, Routes, Tried, refuses, try_stored};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, FlavorGroupCapacity, ProjectQuota, Reservation};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tokio::runtime;

use super::cluster_snapshot;
use super::output::{self, counted};
use crate::args::{CrdsCheckArguments, Output};
use crate::error::Error;
use crate::operator::user_agent;

/// Progress is printed after so many objects.
const MAX_FINDINGS: usize = 5000;

pub(super) fn run(arguments: &CrdsCheckArguments) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime.map_err(|source| Error::Runtime { source })?.block_on(check(arguments))?;
    output::show(arguments.output, &report, text)?;
    match report.is_good() {
        true => Ok(()),
        false if arguments.output == Output::Json => Err(Error::Wrong("the answer is on standard output".to_owned())),
        false => Err(Error::Wrong(report.summary())),
    }
}

async fn check(arguments: &CrdsCheckArguments) -> Result<CrdCheckReport, Error> {
    let configuration = cluster_snapshot::configured(&arguments.clusters)?;
    let routes = Routes::new(&configuration.api_servers);
    let kubeconfig = arguments.clusters.kubeconfig.as_deref();
    let agent = user_agent(&configuration);
    let clusters = Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers, None).await?;
    let mut report = CrdCheckReport::default();
    let (uuids, ignored) = (&mut SameUuid::default(), &mut |_: &str, _: &Value| {});
    for cluster in clusters.iter() {
        let inspect = &mut |name: &str, data: &Value| uuids.note(&cluster.name, name, data);
        report.extend(kind::<CommittedResource>(cluster, &routes, "committedresources", inspect).await);
        report.extend(kind::<Reservation>(cluster, &routes, "reservations", ignored).await);
        report.extend(kind::<FlavorGroupCapacity>(cluster, &routes, "flavorgroupcapacities", ignored).await);
        report.extend(kind::<ProjectQuota>(cluster, &routes, "projectquotas", ignored).await);
    }
    report.note_duplicates(uuids);
    Ok(report)
}

/// The commitments of all clusters by UUID, each as `<cluster>/<name>`.
#[derive(Debug, Default)]
struct SameUuid(BTreeMap<String, BTreeSet<String>>);

impl SameUuid {
    fn note(&mut self, cluster: &ClusterName, name: &str, data: &Value) {
        let uuid = data["spec"]["commitmentUUID"].as_str().unwrap_or_default().to_owned();
        self.0.entry(uuid).or_default().insert(format!("{cluster}/{name}"));
    }

    /// The other objects with the UUID of each object that is not the only one.
    fn others(&self) -> BTreeMap<&str, String> {
        let shared = self.0.values().filter(|all| all.len() > 1);
        let others = |one: &String, all: &BTreeSet<String>| {
            all.iter().filter(|other| *other != one).cloned().collect::<Vec<_>>().join(", ")
        };
        shared.flat_map(|all| all.iter().map(move |one| (one.as_str(), others(one, all)))).collect()
    }
}

/// The objects of one kind in a cluster, if the configuration says that it serves the kind.
async fn kind<K: Kind>(
    cluster: &Cluster,
    routes: &Routes,
    plural: &'static str,
    inspect: &mut dyn FnMut(&str, &Value),
) -> Option<Checked> {
    if !routes.serves::<K>(&cluster.name) {
        return None;
    }
    let kind = berth_cluster::kind_name::<K>();
    let mut reported = 0;
    let mut progress = |count: usize, left: Option<i64>| {
        if count / MAX_FINDINGS > reported {
            reported = count / MAX_FINDINGS;
            let left = left.map(|left| format!(", {left} left")).unwrap_or_default();
            eprintln!("berth: cluster {}: {count} objects of kind {kind} checked{left}", cluster.name);
        }
    };
    let tried = try_stored::<K>(cluster, inspect, &mut progress).await;
    let in_force = match &tried {
        Ok(_) => refuses::<K>(cluster, wrong::<K>()).await,
        Err(error) => Err(error.clone()),
    };
    let duplicates = BTreeMap::new();
    Some(Checked { cluster: cluster.name.to_string(), kind, plural, tried, in_force, duplicates })
}

/// An object that our rules refuse and those of the reference do not.
fn wrong<K: Kind>() -> Value {
    let text = "berth-crds-check";
    let spec = match K::kind(&()).as_ref() {
        "CommittedResource" => json!({
            "commitmentUUID": "another", "flavorGroupName": text, "resourceType": "memory", "amount": "1Gi",
            "availabilityZone": text, "projectID": text, "domainID": text, "state": "planned",
        }),
        "Reservation" => json!({ "type": "FailoverReservation" }),
        "FlavorGroupCapacity" => json!({ "flavorGroup": "", "availabilityZone": text }),
        _ => json!({ "projectID": text, "domainID": text, "availabilityZone": text, "quota": { "unit": -1 } }),
    };
    json!({ "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": { "name": text }, "spec": spec })
}

// The result of the check, with advice.

/// Fields that no change can correct, by kind.
const IMMUTABLE: [(&str, &str); 7] = [
    ("committedresources", "spec.commitmentUUID"),
    ("committedresources", "spec.resourceType"),
    ("reservations", "spec.type"),
    ("flavorgroupcapacities", "spec.flavorGroup"),
    ("flavorgroupcapacities", "spec.availabilityZone"),
    ("projectquotas", "spec.projectID"),
    ("projectquotas", "spec.availabilityZone"),
];

/// The result for all clusters.
#[derive(Debug, Default, Serialize)]
struct CrdCheckReport {
    checked: Vec<Checked>,
}

/// The result for one kind in one cluster.
#[derive(Debug)]
struct Checked {
    cluster: String,
    kind: String,
    /// The name of the kind for kubectl.
    plural: &'static str,
    tried: Result<Tried, ReadError>,
    in_force: Result<bool, ReadError>,
    /// The commitments whose UUID others have as well, with the names of those.
    duplicates: BTreeMap<String, String>,
}

/// One field of one object.
#[derive(Debug, Serialize)]
struct Finding<'r> {
    kind: &'r str,
    cluster: &'r str,
    name: &'r str,
    field: &'r str,
    found: &'r str,
    expected: &'r str,
    advice: String,
}

impl Extend<Checked> for CrdCheckReport {
    fn extend<T: IntoIterator<Item = Checked>>(&mut self, checked: T) {
        self.checked.extend(checked);
    }
}

impl CrdCheckReport {
    fn note_duplicates(&mut self, uuids: &SameUuid) {
        for (name, others) in uuids.others() {
            let (cluster, name) = name.split_once('/').unwrap_or_default();
            let commitments = self.checked.iter_mut().filter(|one| one.kind == "CommittedResource");
            for one in commitments.filter(|one| one.cluster == cluster) {
                one.duplicates.insert(name.to_owned(), others.clone());
            }
        }
    }

    fn is_good(&self) -> bool {
        self.checked.iter().all(|one| {
            one.in_force == Ok(true)
                && one.tried.as_ref().is_ok_and(|tried| tried.refused.is_empty() && tried.untried.is_empty())
        })
    }

    fn summary(&self) -> String {
        let tried = || self.checked.iter().filter_map(|one| one.tried.as_ref().ok());
        let sum = |count: fn(&Tried) -> usize| tried().map(count).sum::<usize>();
        let (objects, refused) = (sum(|tried| tried.objects), sum(|tried| tried.refused.len()));
        let untried = sum(|tried| tried.untried.len());
        let kinds = self.checked.iter().filter(|one| one.in_force != Ok(true)).count();
        let mut text = format!("{} checked, {} would be refused", counted(objects, "object"), refused);
        if untried > 0 {
            text.extend([format!("; {} could not be tried", counted(untried, "object"))]);
        }
        if kinds > 0 {
            text.extend([format!("; {} could not be checked against our rules", counted(kinds, "kind"))]);
        }
        text
    }
}

impl Checked {
    fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        let refused = self.tried.iter().flat_map(|tried| &tried.refused);
        refused.flat_map(|one| one.faults.iter().map(|fault| self.finding(&one.name, fault)))
    }

    fn finding<'r>(&'r self, name: &'r str, Fault { field, found, expected }: &'r Fault) -> Finding<'r> {
        let advice = self.advice(name, field);
        Finding { kind: &self.kind, cluster: &self.cluster, name, field, found, expected, advice }
    }

    /// Old objects are served as they are: rules are checked for changes.
    fn advice(&self, name: &str, field: &str) -> String {
        let plural = self.plural;
        if let Some(others) = self.duplicates.get(name).filter(|_| field == "metadata.name") {
            return format!("delete it or {others}: they have the same spec.commitmentUUID, and only one is served");
        }
        if IMMUTABLE.contains(&(plural, field)) {
            return format!("delete it and create another object: {field} cannot be changed");
        }
        match field {
            "metadata.name" => {
                "leave it until it ends: a name cannot be changed, and it is served under this one".to_owned()
            }
            "status.conditions" => "nothing: the next write of a condition removes the others".to_owned(),
            _ => format!("kubectl edit {plural} {name}; until then changes of its spec may be refused"),
        }
    }

    fn describe_failure(&self) -> Option<String> {
        match (&self.tried, &self.in_force) {
            (Err(error), _) | (_, Err(error)) => Some(error.why.clone()),
            (Ok(_), Ok(false)) => Some(
                "its CRD lacks our rules: install it (berth crds prints it) and check again; objects that are stored \
                 already are served all the same"
                    .to_owned(),
            ),
            (Ok(_), Ok(true)) => None,
        }
    }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let untried = self.tried.iter().flat_map(|tried| &tried.untried);
        let untried: Vec<_> = untried.map(|one| BTreeMap::from([("name", &one.name), ("why", &one.why)])).collect();
        let mut object = serializer.serialize_struct("Checked", 6)?;
        object.serialize_field("cluster", &self.cluster)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("objects", &self.tried.as_ref().map_or(0, |tried| tried.objects))?;
        object.serialize_field("failure", &self.describe_failure())?;
        object.serialize_field("refused", &self.findings().collect::<Vec<_>>())?;
        object.serialize_field("untried", &untried)?;
        object.end()
    }
}

/// One line for each field, then what could not be checked.
fn text(report: &CrdCheckReport) -> String {
    let mut text = String::new();
    for one in &report.checked {
        for Finding { kind, cluster, name, field, found, expected, advice } in one.findings() {
            let found = if found.is_empty() { "nothing" } else { found };
            let field = if field.is_empty() { "object" } else { field };
            text.extend([format!("{kind} {cluster}/{name}\n  {field} is {found}: {expected}\n  to do: {advice}\n")]);
        }
        for untried in one.tried.iter().flat_map(|tried| &tried.untried) {
            text.extend([format!("{} {}/{}\n  not checked: {}\n", one.kind, one.cluster, untried.name, untried.why)]);
        }
        if let Some(failure) = one.describe_failure() {
            text.extend([format!("{} objects of cluster {}\n  not checked: {failure}\n", one.kind, one.cluster)]);
        }
    }
    if report.is_good() {
        text.extend([format!("{}.\n", report.summary())]);
    }
    text
}
