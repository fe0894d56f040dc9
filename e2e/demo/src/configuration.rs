//! The configuration of the operator: what it sells to Limes, and the other cluster if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::Error;
use crate::sites::REMOTE_ZONE;

/// Kinds whose objects are in the cluster of their zone.
const OF_ZONES: [&str; 5] = [
    "cortex.cloud/v1alpha1/CommittedResource",
    "cortex.cloud/v1alpha1/Reservation",
    "cortex.cloud/v1alpha1/FlavorGroupCapacity",
    "cortex.cloud/v1alpha1/ProjectQuota",
    "kvm.cloud.sap/v1/Hypervisor",
];
/// All zones: home takes those that the remote does not have.
const ZONES: [&str; 3] = ["eu-demo-1a", "eu-demo-1b", "eu-demo-1c"];
const FLAVOR_GROUPS: &str = "cortex.cloud/v1alpha1/Knowledge";

/// Another cluster.
pub struct RemoteAddress {
    pub url: String,
    pub root_certificate: String,
}

/// Keystone, and the password of the operator there.
pub struct KeystoneAddress<'a> {
    pub url: String,
    pub user: &'a str,
    pub password: &'a str,
    /// Callers show its tokens. Otherwise it leads the syncer to the list of Limes.
    pub authenticates_callers: bool,
}

/// What there is besides the home cluster.
pub struct Surroundings<'a> {
    pub remote: Option<&'a RemoteAddress>,
    pub keystone: Option<&'a KeystoneAddress<'a>>,
    /// The SQLite file with the VMs of the cloud.
    pub vms: Option<&'a Path>,
}

/// Writes it next to the kubeconfig of home; returns its path.
pub fn write(kubeconfig: &Path, surroundings: &Surroundings<'_>) -> Result<PathBuf, Error> {
    let path = kubeconfig.with_file_name("conf.json");
    let text = format!("{:#}\n", configuration(surroundings));
    fs::write(&path, text).map_err(Error::file("write", &path))?;
    Ok(path)
}

fn configuration(Surroundings { remote, keystone, vms }: &Surroundings<'_>) -> Value {
    // The demonstration does not last long enough for the usual interval.
    let mut all = json!({
        "committedResourceAPI": { "flavorGroupResourceConfig": offers() }, "capacityMinReconcileInterval": "1s",
    });
    if let Some(keystone) = keystone {
        all["keystoneURL"] = json!(keystone.url);
        all["osUsername"] = json!(keystone.user);
        all["osPassword"] = json!(keystone.password);
        all["osProjectName"] = json!("service");
        all["osUserDomainName"] = json!("Default");
        all["osProjectDomainName"] = json!("Default");
        if !keystone.authenticates_callers {
            all["auth"] = json!({ "mode": "off" });
            all["enabledTasks"] = json!(["commitments-sync-task"]);
        }
    }
    if let Some(vms) = vms {
        all["vmSourceSqlite"] = json!(vms);
    }
    if let Some(remote) = remote {
        all["apiservers"] = clusters(remote);
        all["committedResourceAPI"]["quotaServedAvailabilityZones"] = json!(ZONES);
    }
    all
}

/// Memory of the fixed ratio is counted in the smallest flavor, and the rest in GiB.
fn offers() -> Value {
    let sold = json!({ "handlesCommitments": true, "handlesDryRun": true, "hasCapacity": true, "hasQuota": true });
    let instances = json!({ "hasCapacity": true, "hasQuota": true });
    let group = |unit: u32| {
        let mut ram = sold.clone();
        ram["ramUnitGiB"] = json!(unit);
        json!({ "ram": ram, "cores": sold, "instances": instances })
    };
    json!({ "gp_v5": group(1), "mem_v4": group(480) })
}

fn clusters(RemoteAddress { url, root_certificate }: &RemoteAddress) -> Value {
    let labels = json!({ "availabilityZone": REMOTE_ZONE });
    let home: Vec<_> = OF_ZONES.into_iter().chain([FLAVOR_GROUPS]).collect();
    json!({
        // It takes the zones that the remote does not have.
        "home": { "gvks": home },
        "remotes": [{ "host": url, "caCert": root_certificate, "labels": labels, "gvks": OF_ZONES }],
    })
}
