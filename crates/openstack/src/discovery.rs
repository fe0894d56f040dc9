//! Finds the address of Keystone's API version 3.

use serde::Deserialize;
use url::Url;

use crate::OpenStackError;
use crate::catalog::with_slash;

/// How the address of version 3 is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdentityUrl {
    /// It is configured.
    Version3(String),
    /// Keystone lists its versions here.
    Unversioned(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Versions {
    versions: Values,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Values {
    values: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    id: String,
    status: String,
    links: Vec<Link>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Link {
    rel: String,
    href: String,
}

/// What the configured address is. It is not logged when it is wrong, because it may have a password in it.
pub(crate) fn classify_url(configured: &str) -> Result<IdentityUrl, OpenStackError> {
    let url = Url::parse(configured).map_err(|error| OpenStackError::Url(error.to_string()))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(OpenStackError::Url("it must begin with https:// or http:// and name a host".to_owned()));
    }
    let url = with_slash(configured);
    Ok(if url.ends_with("/v3/") { IdentityUrl::Version3(url) } else { IdentityUrl::Unversioned(url) })
}

/// The address of version 3 in Keystone's list of versions: the configured one if it is listed, else the newest.
pub(crate) fn choose_version(configured: &str, answer: &[u8]) -> Result<String, String> {
    let listed: Versions = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let mut found: Vec<(u32, String)> = listed.versions.values.iter().filter_map(usable).collect();
    found.sort();
    let same = found.iter().find(|(_, url)| *url == with_slash(configured));
    let chosen = same.or(found.last()).map(|(_, url)| url.clone());
    chosen.ok_or_else(|| "it lists no usable version 3".to_owned())
}

/// The minor version and the address of a version 3 that works.
fn usable(version: &Version) -> Option<(u32, String)> {
    if !["current", "supported", "stable"].contains(&version.status.to_lowercase().as_str()) {
        return None;
    }
    let minor = match version.id.strip_prefix("v3")? {
        "" => 0,
        rest => rest.strip_prefix('.')?.parse().ok()?,
    };
    let own = version.links.iter().find(|link| link.rel == "self")?;
    Some((minor, with_slash(&own.href)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_of_version_3_needs_no_discovery() {
        for url in ["https://id.example/v3", "https://id.example/v3/"] {
            assert_eq!(classify_url(url).unwrap(), IdentityUrl::Version3("https://id.example/v3/".to_owned()));
        }
        let unversioned = classify_url("https://id.example/identity").unwrap();
        assert_eq!(unversioned, IdentityUrl::Unversioned("https://id.example/identity/".to_owned()));
    }

    #[test]
    fn what_is_no_address_is_refused_without_quoting_it() {
        for url in ["", "id.example/v3", "ftp://id.example/v3", "https://user:s3cret@"] {
            let error = classify_url(url).unwrap_err().to_string();
            assert!(
                error.starts_with("url of the auth secret cannot be used: ") && !error.contains("s3cret"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_newest_usable_version_is_chosen() {
        let version = |id: &str, status: &str, url: &str| json!({ "id": id, "status": status, "links": [{ "rel": "self", "href": url }] });
        let listed = json!({ "versions": { "values": [
            version("v2.0", "stable", "https://id.example/v2.0/"),
            version("v3.8", "supported", "https://old.example/v3/"),
            version("v3.14", "stable", "https://id.example/v3/"),
            version("v3.20", "experimental", "https://new.example/v3"),
        ] } })
        .to_string();
        let chosen = |configured| choose_version(configured, listed.as_bytes()).unwrap();
        assert_eq!(chosen("https://id.example/"), "https://id.example/v3/");
        assert_eq!(chosen("https://old.example/v3"), "https://old.example/v3/");
        assert_eq!(choose_version("x", b"{}").unwrap_err(), "it lists no usable version 3");
        assert!(choose_version("x", b"<html>").is_err());
    }
}
