//! Objects that cannot be decoded, as a newer release may have left them.

use berth_crds::{Reservation, generate};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use super::cloud::Cloud;
use super::waiting::until;

/// The CRDs of a newer release that has another type of Reservation.
pub fn newer_crds() -> Vec<CustomResourceDefinition> {
    let mut crds = generate::without_rules();
    for crd in crds.iter_mut().filter(|crd| crd.spec.names.kind == "Reservation") {
        let mut json = serde_json::to_value(&*crd).unwrap();
        let types = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/type/enum";
        json.pointer_mut(types).unwrap().as_array_mut().unwrap().push(json!("FutureReservation"));
        *crd = serde_json::from_value(json).unwrap();
    }
    crds
}

/// Stores a Reservation that cannot be decoded, as a newer release may have left it.
pub async fn store_unreadable(world: &Cloud, name: &str, target: &str) {
    let size = json!({ "memory": "480Gi", "cpu": "30" });
    let object = json!({ "metadata": { "name": name },
                         "spec": { "type": "FutureReservation", "targetHost": target, "resources": size } });
    // A changed schema takes effect a moment after the CRD.
    let stored = until(async || world.create_raw::<Reservation>(object.clone()).await).await;
    stored.unwrap();
}
