//! Compares the CRDs of other deployments in a cluster with what is read of their objects.

use berth_core::ClusterName;
use berth_crds::{generate, lacks};
use berth_telemetry::config;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt};
use tokio::time::timeout;

use crate::deadlines::READ_DEADLINE;
use crate::read_once::Failure;
use crate::{Cluster, Routes};

/// The CRD of a kind that belongs to another deployment, in a cluster that the configuration names for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub cluster: ClusterName,
    pub kind: String,
    pub state: DefinitionState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionState {
    /// What it lacks, line by line.
    Installed(Vec<String>),
    Absent,
    /// It could not be read, and why.
    Unread(String),
}

/// The CRDs of the kinds that the cluster serves according to the configuration.
pub async fn definitions_of_others(cluster: &Cluster, routes: &Routes) -> Vec<Definition> {
    let api = Api::all(cluster.client.clone());
    let mut all = Vec::new();
    for needed in generate::of_others() {
        let kind = kind_of(&needed);
        if routes.serves_kind(&kind, &cluster.name) {
            let state = compare(&api, &needed).await;
            all.push(Definition { cluster: cluster.name.clone(), kind: kind.kind, state });
        }
    }
    all
}

fn kind_of(crd: &CustomResourceDefinition) -> config::Kind {
    let version = crd.spec.versions.first().map(|version| version.name.clone());
    config::Kind {
        group: crd.spec.group.clone(),
        version: version.unwrap_or_default(),
        kind: crd.spec.names.kind.clone(),
    }
}

async fn compare(api: &Api<CustomResourceDefinition>, needed: &CustomResourceDefinition) -> DefinitionState {
    match timeout(READ_DEADLINE, api.get(&needed.name_any())).await {
        Ok(Ok(found)) => DefinitionState::Installed(lacks(needed, &found)),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => DefinitionState::Absent,
        Ok(Err(kube::Error::Api(status))) => DefinitionState::Unread(Failure::answered(&status).why),
        Ok(Err(error)) => DefinitionState::Unread(Failure::unanswered(&error).why),
        Err(_) => DefinitionState::Unread(format!("no answer within {} s", READ_DEADLINE.as_secs())),
    }
}
