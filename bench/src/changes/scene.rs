//! An operator that sells memory to Limes.

use std::fs;
use std::net::SocketAddr;

use berth_crds::testing;
use serde_json::json;

use super::limes::Limes;
use crate::cloud;
use crate::error::Error;
use crate::operator::Operator;
use crate::plane::Plane;

/// A control plane and its operator with the LIQUID API.
pub struct Scene {
    pub plane: Plane,
    pub operator: Operator,
    api: SocketAddr,
}

impl Scene {
    /// Starts the operator on a control plane with hosts and flavor groups.
    pub async fn open(plane: Plane) -> Result<Self, Error> {
        let path = plane.account().with_file_name("bench-conf.json");
        fs::write(&path, configuration()).map_err(Error::system("the configuration of the operator"))?;
        let config = format!("--config={}", path.display());
        let (mut operator, api) = Operator::start_serving_with(&plane, &[&config]).await?;
        operator.ready().await?;
        Ok(Self { plane, operator, api })
    }

    pub async fn connect(&self, name: &str) -> Result<Limes, Error> {
        Limes::connect(self.api, name).await
    }

    pub async fn close(mut self) -> Result<(), Error> {
        self.operator.check()?;
        self.operator.stop().await?;
        self.plane.stop().await
    }
}

/// Memory is counted in slots.
fn configuration() -> String {
    let ram =
        json!({ "ramUnitGiB": cloud::GIB, "handlesCommitments": true, "handlesDryRun": true, "hasCapacity": true });
    let offered = json!({ "hasCapacity": true });
    let group = json!({ "ram": ram, "cores": offered, "instances": offered });
    json!({ "committedResourceAPI": { "flavorGroupResourceConfig": { testing::GROUP: group } } }).to_string()
}
