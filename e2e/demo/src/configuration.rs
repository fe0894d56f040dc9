//! The configuration of an operator that works with two clusters.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::Error;
use crate::sites::REMOTE_ZONE;

/// Kinds whose objects are in the cluster of their zone.
const OF_ZONES: [&str; 4] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "kvm.cloud.sap/v1/Hypervisor",
];
/// All zones: home takes those that the remote does not have.
const ZONES: [&str; 3] = ["eu-demo-1a", "eu-demo-1b", "eu-demo-1c"];
const FLAVOR_GROUPS: &str = "cortex.cloud/v1alpha1/Knowledge";

/// Writes it next to the kubeconfig of home; returns its path.
pub fn write(kubeconfig: &Path, url: &str, root_certificate: &str) -> Result<PathBuf, Error> {
    let path = kubeconfig.with_file_name("conf.json");
    fs::write(&path, format!("{:#}\n", with_remote(url, root_certificate))).map_err(Error::file("write", &path))?;
    Ok(path)
}

fn with_remote(url: &str, root_certificate: &str) -> Value {
    let labels = json!({ "availabilityZone": REMOTE_ZONE });
    let home: Vec<_> = OF_ZONES.into_iter().chain([FLAVOR_GROUPS]).collect();
    json!({
        "apiservers": {
            // It takes the zones that the remote does not have.
            "home": { "gvks": home },
            "remotes": [{ "host": url, "caCert": root_certificate, "labels": labels, "gvks": OF_ZONES }],
        },
        "committedResourceAPI": { "quotaServedAvailabilityZones": ZONES },
    })
}
