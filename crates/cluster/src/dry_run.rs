//! Creates objects as a dry run, which shows whether the real write would succeed, and writes nothing.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::answers::{describe_status, is_about_rights};
use crate::deadlines::READ_DEADLINE;
use crate::{Cluster, chain};

/// Why an object could not be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It could be, or it is there already.
    Succeeds,
    NoNamespace,
    /// We may not create it, which [`crate::examine`] says better.
    NotAllowed,
    /// The API server refuses it, and why.
    Refused(String),
    /// There was no answer, and why.
    Unanswered(String),
}

/// The Lease of this name.
pub async fn dry_run_lease(cluster: &Cluster, namespace: &str, name: &str) -> DryRun {
    dry_run_creation::<Lease>(cluster, namespace, name).await
}

/// The `ConfigMap` of this name.
pub async fn dry_run_config_map(cluster: &Cluster, namespace: &str, name: &str) -> DryRun {
    dry_run_creation::<ConfigMap>(cluster, namespace, name).await
}

async fn dry_run_creation<K>(cluster: &Cluster, namespace: &str, name: &str) -> DryRun
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Default + Clone,
    K: Serialize + DeserializeOwned + std::fmt::Debug,
{
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    let api = Api::<K>::namespaced(cluster.client.clone(), namespace);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    match timeout(READ_DEADLINE, api.create(&dry, &object)).await {
        Ok(Ok(_)) => DryRun::Succeeds,
        // Conflict: it exists.
        Ok(Err(kube::Error::Api(status))) if status.code == 409 => DryRun::Succeeds,
        // Both kinds are always served.
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => DryRun::NoNamespace,
        Ok(Err(kube::Error::Api(status))) if status.code == 403 && is_about_rights(&status) => DryRun::NotAllowed,
        Ok(Err(kube::Error::Api(status))) => DryRun::Refused(describe_status(&status)),
        Ok(Err(error)) => DryRun::Unanswered(chain(&error)),
        Err(_) => DryRun::Unanswered(format!("no answer within {} s", READ_DEADLINE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Reply, scripted};

    async fn of(reply: Reply) -> DryRun {
        let reply = std::sync::Mutex::new(Some(reply));
        let cluster = scripted(move |request| {
            assert_eq!(request.path, "/apis/coordination.k8s.io/v1/namespaces/n/leases");
            assert_eq!(request.query["dryRun"], "All");
            reply.lock().unwrap().take().unwrap()
        });
        dry_run_lease(&cluster, "n", "berth").await
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_object_that_is_there_or_could_be_is_fine() {
        let created = Reply::Json(201, json!({ "metadata": { "name": "berth" }, "spec": {} }));
        assert_eq!(of(created).await, DryRun::Succeeds);
        assert_eq!(of(Reply::error(409, "AlreadyExists", "it exists")).await, DryRun::Succeeds);
        assert_eq!(of(Reply::error(404, "NotFound", "namespaces \"n\" not found")).await, DryRun::NoNamespace);
        let denied =
            r#"leases is forbidden: User "u" cannot create resource "leases" in API group "coordination.k8s.io""#;
        assert_eq!(of(Reply::error(403, "Forbidden", denied)).await, DryRun::NotAllowed);
        let refused = of(Reply::error(403, "Forbidden", "exceeded quota")).await;
        assert_eq!(refused, DryRun::Refused("the API server refuses it (403): exceeded quota".to_owned()));
        assert_eq!(of(Reply::Hang).await, DryRun::Unanswered("no answer within 10 s".to_owned()));
    }
}
