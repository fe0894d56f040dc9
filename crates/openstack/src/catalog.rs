//! The catalog of a token: where the services are.

use std::str::FromStr;

use serde::Deserialize;

use crate::OpenStackError;

/// Which of the addresses of a service is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Public,
    Internal,
    Admin,
}

impl Interface {
    fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Interface {
    type Err = OpenStackError;

    fn from_str(text: &str) -> Result<Self, OpenStackError> {
        let all = [Self::Public, Self::Internal, Self::Admin];
        let named = all.into_iter().find(|interface| interface.as_str() == text);
        named.ok_or_else(|| OpenStackError::UnknownInterface(text.to_owned()))
    }
}

/// The services of a token, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Catalog(Vec<Service>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Service {
    r#type: String,
    endpoints: Vec<Endpoint>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Endpoint {
    interface: String,
    url: String,
}

impl Catalog {
    /// The first address of a service type, with a slash at its end.
    pub(crate) fn endpoint(&self, service: &str, interface: Interface) -> Result<String, OpenStackError> {
        let services = self.0.iter().filter(|one| one.r#type == service);
        let mut endpoints = services.flat_map(|one| &one.endpoints).filter(|one| one.interface == interface.as_str());
        let url = endpoints.next().map(|endpoint| with_slash(&endpoint.url)).ok_or(OpenStackError::NoEndpoint)?;
        Ok(if service == "identity" { with_version(&url) } else { url })
    }
}

/// The catalog may have the address of Keystone without its version, or with a former one.
fn with_version(url: &str) -> String {
    let root = ["v3/", "v2.0/"].iter().find_map(|version| url.strip_suffix(version));
    format!("{}v3/", root.unwrap_or(url))
}

pub(crate) fn with_slash(url: &str) -> String {
    if url.ends_with('/') { url.to_owned() } else { format!("{url}/") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_address_of_type_and_interface_counts() {
        let catalog: Catalog = serde_json::from_value(json!([
            { "id": "c1", "name": "keystone", "type": "identity", "endpoints": [
                { "interface": "public", "region": "r1", "url": "https://id.example/v3" },
                { "interface": "internal", "url": "http://id.local/v3/" },
                { "interface": "public", "url": "https://second.example/v3" } ] },
            { "type": "resources", "endpoints": [] },
            { "type": "resources", "endpoints": [{ "interface": "public", "url": "https://limes.example" }] },
        ]))
        .unwrap();
        assert_eq!(catalog.endpoint("identity", Interface::Public).unwrap(), "https://id.example/v3/");
        assert_eq!(catalog.endpoint("identity", Interface::Internal).unwrap(), "http://id.local/v3/");
        assert_eq!(catalog.endpoint("resources", Interface::Public).unwrap(), "https://limes.example/");
        for url in ["http://id.local", "http://id.local/v2.0", "http://id.local/v3/"] {
            assert_eq!(with_version(&with_slash(url)), "http://id.local/v3/");
        }
        for (service, interface) in [("compute", Interface::Public), ("identity", Interface::Admin)] {
            assert_eq!(catalog.endpoint(service, interface), Err(OpenStackError::NoEndpoint));
        }
    }
}
