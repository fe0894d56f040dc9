//! The Secret with the credentials of a double of Keystone.

use berth_testkit::keystone::{Keystone, USER};
use serde_json::{Value, json};

use super::world::{World, shipped};

const SECRET: &str = "keystone";

/// The Secret in the configuration.
pub fn secret_ref() -> Value {
    json!({ "name": SECRET, "namespace": "berth-system" })
}

/// Creates the Secret, or replaces it.
pub async fn create_secret(world: &World, keystone: &Keystone, password: &str) {
    let url = keystone.url();
    let values = [
        ("url", url.as_str()),
        ("availability", "public"),
        ("username", USER),
        ("password", password),
        ("projectName", "service"),
        ("userDomainName", "Default"),
        ("projectDomainName", "Default"),
    ];
    let values = values.map(|(key, value)| format!("--from-literal={key}={value}"));
    let mut arguments = vec!["create", "secret", "generic", SECRET, "--namespace=berth-system"];
    arguments.extend(values.iter().map(String::as_str));
    let _ = world.try_kubectl(&["delete", "secret", SECRET, "--namespace=berth-system"]).await;
    world.kubectl(&arguments).await;
}

/// Lets the operator read the Secret.
pub async fn grant_secret(world: &World) {
    world.kubectl(&["apply", "--filename", &shipped("rbac/secrets")]).await;
}
