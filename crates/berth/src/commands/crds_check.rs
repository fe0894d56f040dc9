//! `berth crds check`: stored objects that the admission rules of our kinds would refuse if they were created now (U16). The
//! rules are those of the API servers themselves, which are asked by dry runs; what there is to do is decided in `report`.

mod report;
#[cfg(test)]
mod tests;

use berth_cluster::{Cluster, Kind, Routes, refuses, try_stored};
use berth_crds::{CommittedResource, FlavorGroupCapacity, ProjectQuota, Reservation};
use serde_json::{Value, json};
use tokio::runtime;

use super::{looking, output};
use crate::{
    args::{CrdsCheckArguments, Output},
    error::Error,
    operator::user_agent,
};
use report::{Checked, Report};

/// Progress is told after so many objects.
const TOLD: usize = 5000;

pub(super) fn run(arguments: &CrdsCheckArguments) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime.map_err(|source| Error::Runtime { source })?.block_on(check(arguments))?;
    output::show(arguments.output, &report, report::text)?;
    match report.is_good() {
        true => Ok(()),
        false if arguments.output == Output::Json => Err(Error::Wrong("the answer is on standard output".to_owned())),
        false => Err(Error::Wrong(report.summary())),
    }
}

async fn check(arguments: &CrdsCheckArguments) -> Result<Report, Error> {
    let configuration = looking::configured(&arguments.clusters)?;
    let routes = Routes::new(&configuration.api_servers);
    let kubeconfig = arguments.clusters.kubeconfig.as_deref();
    let agent = user_agent(&configuration);
    let clusters = Cluster::connect_all(kubeconfig, &agent, &configuration.api_servers).await?;
    let mut report = Report::default();
    for cluster in clusters.iter() {
        report.extend(kind::<CommittedResource>(cluster, &routes, "committedresources").await);
        report.extend(kind::<Reservation>(cluster, &routes, "reservations").await);
        report.extend(kind::<FlavorGroupCapacity>(cluster, &routes, "flavorgroupcapacities").await);
        report.extend(kind::<ProjectQuota>(cluster, &routes, "projectquotas").await);
    }
    Ok(report)
}

/// The objects of one kind in a cluster, if the configuration says that it serves the kind.
async fn kind<K: Kind>(cluster: &Cluster, routes: &Routes, plural: &'static str) -> Option<Checked> {
    if !routes.serves::<K>(&cluster.name) {
        return None;
    }
    let kind = berth_cluster::kind_name::<K>();
    let mut told = 0;
    let mut progress = |count: usize, left: Option<i64>| {
        if count / TOLD > told {
            told = count / TOLD;
            let left = left.map(|left| format!(", {left} left")).unwrap_or_default();
            eprintln!("berth: cluster {}: {count} objects of kind {kind} checked{left}", cluster.name);
        }
    };
    let tried = try_stored::<K>(cluster, &mut progress).await;
    let in_force = match &tried {
        Ok(_) => refuses::<K>(cluster, wrong::<K>()).await,
        Err(error) => Err(error.clone()),
    };
    Some(Checked { cluster: cluster.name.to_string(), kind: kind.clone(), plural, tried, in_force })
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
