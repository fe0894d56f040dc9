//! Compares the schemas that an API server publishes (`OpenAPI`) with what we need. Every account may read them, unlike the CRDs
//! themselves.

use std::collections::BTreeMap;

use berth_crds::{generate, lacks};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::deadlines::READ_DEADLINE;
use crate::definitions::kind_of;
use crate::read_once::Failure;
use crate::{Cluster, Definition, DefinitionState, Routes};

/// The kinds that the cluster serves according to the configuration, ours and those of others.
pub async fn published_definitions(cluster: &Cluster, routes: &Routes) -> Vec<Definition> {
    let mut documents: BTreeMap<String, Result<Option<Value>, String>> = BTreeMap::new();
    let mut all = Vec::new();
    for needed in generate::ours().into_iter().chain(generate::of_others()) {
        let kind = kind_of(&needed);
        if !routes.serves_kind(&kind, &cluster.name) {
            continue;
        }
        let path = format!("/openapi/v3/apis/{}/{}", kind.group, kind.version);
        if !documents.contains_key(&path) {
            documents.insert(path.clone(), read(cluster, &path).await);
        }
        let state = match &documents[&path] {
            Err(why) => DefinitionState::Unread(why.clone()),
            Ok(None) => DefinitionState::Absent,
            Ok(Some(document)) => match published(&needed, document) {
                Some(found) => DefinitionState::Installed(lacks(&needed, &found)),
                None => DefinitionState::Absent,
            },
        };
        all.push(Definition { cluster: cluster.name.clone(), kind: kind.kind, state });
    }
    all
}

/// Nothing if the API server knows no kind of the group.
async fn read(cluster: &Cluster, path: &str) -> Result<Option<Value>, String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    match timeout(READ_DEADLINE, cluster.client.request::<Value>(request)).await {
        Ok(Ok(document)) => Ok(Some(document)),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(None),
        Ok(Err(kube::Error::Api(status))) => Err(Failure::answered(&status).why),
        Ok(Err(error)) => Err(Failure::unanswered(&error).why),
        Err(_) => Err(format!("no answer within {} s", READ_DEADLINE.as_secs())),
    }
}

/// The definition as far as the document shows it; nothing if it lacks the kind.
fn published(needed: &CustomResourceDefinition, document: &Value) -> Option<CustomResourceDefinition> {
    let kind = kind_of(needed);
    let is_kind = |schema: &&Value| {
        schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten().any(|one| {
            one["group"] == kind.group.as_str()
                && one["version"] == kind.version.as_str()
                && one["kind"] == kind.kind.as_str()
        })
    };
    let schema = document["components"]["schemas"].as_object()?.values().find(is_kind)?;
    let schema: JSONSchemaProps = serde_json::from_value(schema.clone()).ok()?;
    let base = format!("/apis/{}/{}", kind.group, kind.version);
    let plural = &needed.spec.names.plural;
    let has_path = |path: String| document["paths"].get(path).is_some();
    let namespaced = format!("{base}/namespaces/{{namespace}}/{plural}");
    let (scope, objects) =
        if has_path(namespaced.clone()) { ("Namespaced", namespaced) } else { ("Cluster", format!("{base}/{plural}")) };
    let has_status = has_path(format!("{objects}/{{name}}/status"));
    let mut found = needed.clone();
    scope.clone_into(&mut found.spec.scope);
    found.spec.versions = vec![CustomResourceDefinitionVersion {
        name: kind.version,
        served: true,
        schema: Some(CustomResourceValidation { open_api_v3_schema: Some(schema) }),
        subresources: has_status.then(|| CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus::default()),
            ..CustomResourceSubresources::default()
        }),
        ..CustomResourceDefinitionVersion::default()
    }];
    Some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Reply, scripted};

    const PATH: &str = "/openapi/v3/apis/kvm.cloud.sap/v1";

    fn hypervisor() -> CustomResourceDefinition {
        generate::of_others().into_iter().find(|crd| crd.spec.names.kind == "Hypervisor").unwrap()
    }

    /// As an API server publishes a kind with these fields.
    fn document(properties: &Value, paths: &[&str]) -> Value {
        let of = json!([{ "group": "kvm.cloud.sap", "version": "v1", "kind": "Hypervisor" }]);
        let schema = json!({ "type": "object", "properties": properties, "x-kubernetes-group-version-kind": of });
        let paths: serde_json::Map<_, _> = paths.iter().map(|path| ((*path).to_owned(), json!({}))).collect();
        json!({ "openapi": "3.0.0", "paths": paths, "components": { "schemas": { "cap.cloud.kvm.v1.Hypervisor": schema } } })
    }

    fn fields() -> Value {
        let schema = hypervisor().spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        serde_json::to_value(schema.properties).unwrap()
    }

    async fn state(document: Value) -> DefinitionState {
        let cluster = scripted(move |request| match request.path.as_str() {
            PATH => Reply::Json(200, document.clone()),
            _ => Reply::error(404, "NotFound", "not found"),
        });
        let all = published_definitions(&cluster, &Routes::home_only()).await;
        assert_eq!(all.len(), generate::ours().len() + generate::of_others().len());
        let is_of = |one: &&Definition| one.kind == "Hypervisor";
        assert!(all.iter().filter(|one| !is_of(one)).all(|one| one.state == DefinitionState::Absent), "{all:?}");
        all.iter().find(is_of).unwrap().state.clone()
    }

    const ALL: &str = "/apis/kvm.cloud.sap/v1/hypervisors";
    const STATUS: &str = "/apis/kvm.cloud.sap/v1/hypervisors/{name}/status";

    #[tokio::test]
    async fn what_the_published_schema_lacks_is_named() {
        assert_eq!(state(document(&fields(), &[ALL, STATUS])).await, DefinitionState::Installed(vec![]));
        let mut fields = fields();
        fields["status"]["properties"]["instances"]["items"]["properties"].as_object_mut().unwrap().remove("active");
        let namespaced = ["/apis/kvm.cloud.sap/v1/namespaces/{namespace}/hypervisors"];
        let lacks = [
            "its scope is Namespaced, not Cluster",
            "it has no subresource status",
            "it has no field status.instances[].active",
        ];
        let expected = DefinitionState::Installed(lacks.map(str::to_owned).to_vec());
        assert_eq!(state(document(&fields, &namespaced)).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_refuses_or_hangs_is_not_taken_for_one_without_the_kind() {
        for (hangs, text) in [(false, "403"), (true, "no answer within 10 s")] {
            let reply = move || if hangs { Reply::Hang } else { Reply::error(403, "Forbidden", "no") };
            let cluster = scripted(move |_| reply());
            let all = published_definitions(&cluster, &Routes::home_only()).await;
            let is_unread = |one: &Definition| matches!(&one.state, DefinitionState::Unread(why) if why.contains(text));
            assert!(all.iter().all(is_unread), "{all:?}");
        }
    }
}
