//! The kubeconfig files: JSON, which is also YAML.

use std::path::Path;

use serde_json::{Value, json};

pub(crate) const ADMIN: &str = "admin";

const CLUSTER: &str = "berth";

/// The admin's kubeconfig, which refers to the file of the certificate authority.
pub(crate) fn for_admin(server: &str, authority: &Path, token: &str) -> Value {
    let cluster = json!({ "server": server, "certificate-authority": authority });
    of(&cluster, ADMIN, token, "default")
}

/// The kubeconfig of a service account at the same cluster.
pub(crate) fn for_service_account(admin: &Value, namespace: &str, name: &str, token: &str) -> Value {
    of(&admin["clusters"][0]["cluster"], name, token, namespace)
}

fn of(cluster: &Value, user: &str, token: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": CLUSTER, "cluster": cluster }],
        "users": [{ "name": user, "user": { "token": token } }],
        "contexts": [{ "name": user, "context": { "cluster": CLUSTER, "user": user, "namespace": namespace } }],
        "current-context": user,
    })
}
