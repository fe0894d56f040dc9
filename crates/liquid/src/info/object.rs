//! A publication as the data of a `ConfigMap`.

use std::collections::BTreeMap;

use berth_core::liquid::info::{ResourceInfos, ServiceInfo};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{ConfigurationState, Publication};

const INFO: &str = "info";
const VERSION: &str = "version";
const PUBLISHED_AT: &str = "publishedAt";
const CONFIGURATION: &str = "configurationHash";
const CONFIGURATION_CHANGED: &str = "configurationChanged";

/// The map with this publication; what others have added to it besides data stays.
pub(super) fn encode(former: Option<&ConfigMap>, publication: &Publication) -> ConfigMap {
    let Publication { info, json, configuration, published_at } = publication;
    let mut data = BTreeMap::from([
        (INFO, json.clone()),
        (VERSION, info.version.to_string()),
        (PUBLISHED_AT, published_at.to_string()),
        (CONFIGURATION, configuration.fingerprint.clone()),
    ]);
    data.extend(configuration.changed.map(|changed| (CONFIGURATION_CHANGED, changed.to_string())));
    let data = data.into_iter().map(|(key, text)| (key.to_owned(), text)).collect();
    ConfigMap { data: Some(data), ..former.cloned().unwrap_or_default() }
}

/// What is published. Something else in the map is nothing to serve.
pub(super) fn decode(map: &ConfigMap) -> Option<Publication> {
    let json = text(map, INFO)?;
    let info: ServiceInfo = serde_json::from_str(json).ok()?;
    if version(map) != Some(info.version) {
        return None;
    }
    let published_at = text(map, PUBLISHED_AT).and_then(|time| time.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH);
    Some(Publication { json: json.to_owned(), info, configuration: configuration(map), published_at })
}

/// A publication without content, whose version the next one exceeds: for a map that does not decode any more.
pub(super) fn decode_version(map: &ConfigMap) -> Option<Publication> {
    let info = ServiceInfo::new(version(map)?, ResourceInfos::new());
    Publication::new(info, configuration(map), Timestamp::UNIX_EPOCH).ok()
}

fn configuration(map: &ConfigMap) -> ConfigurationState {
    let fingerprint = text(map, CONFIGURATION).unwrap_or_default().to_owned();
    ConfigurationState { fingerprint, changed: text(map, CONFIGURATION_CHANGED).and_then(|time| time.parse().ok()) }
}

fn version(map: &ConfigMap) -> Option<i64> {
    text(map, VERSION)?.parse().ok()
}

fn text<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    map.data.as_ref()?.get(key).map(String::as_str)
}
