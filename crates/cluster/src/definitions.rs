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

pub(crate) fn kind_of(crd: &CustomResourceDefinition) -> config::Kind {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Reply, Request, scripted};

    /// The answer of a cluster in which every CRD is another case.
    fn answer(request: &Request) -> Reply {
        let name = request.path.strip_prefix("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/").unwrap();
        let crd = generate::of_others().into_iter().find(|crd| crd.name_any() == name).unwrap();
        let mut crd = serde_json::to_value(crd).unwrap();
        match name {
            "knowledges.cortex.cloud" => Reply::Json(200, crd),
            "hypervisors.kvm.cloud.sap" => {
                crd["spec"]["versions"][0]["subresources"] = json!({});
                Reply::Json(200, crd)
            }
            "pipelines.cortex.cloud" => Reply::error(404, "NotFound", "not found"),
            _ => Reply::error(403, "Forbidden", "no right to get"),
        }
    }

    #[tokio::test]
    async fn the_crd_of_each_kind_of_others_is_read_and_compared() {
        let all = definitions_of_others(&scripted(answer), &Routes::home_only()).await;
        let of = |kind: &str| all.iter().find(|one| one.kind == kind).unwrap().state.clone();
        assert_eq!(all.len(), 4);
        assert_eq!(of("Knowledge"), DefinitionState::Installed(vec![]));
        let lacks = vec!["it has no subresource status".to_owned()];
        assert_eq!(of("Hypervisor"), DefinitionState::Installed(lacks));
        assert_eq!(of("Pipeline"), DefinitionState::Absent);
        let DefinitionState::Unread(why) = of("Datasource") else { panic!("{all:?}") };
        assert!(why.contains("403"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
        let all = definitions_of_others(&scripted(|_| Reply::Hang), &Routes::home_only()).await;
        let unread = DefinitionState::Unread(format!("no answer within {} s", READ_DEADLINE.as_secs()));
        assert!(all.iter().all(|one| one.state == unread), "{all:?}");
    }
}
