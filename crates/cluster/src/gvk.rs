//! How a kind is printed in routing, messages and metrics.

use berth_telemetry::config;

use crate::Kind;

/// The kind of a type, as the configuration names it.
pub(crate) fn gvk<K: Kind>() -> config::Kind {
    config::Kind {
        group: K::group(&()).into_owned(),
        version: K::version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
    }
}

/// The kind of the lists of a type, printed.
pub(crate) fn list_of<K: Kind>() -> String {
    format!("{}List", printed(&gvk::<K>()))
}

/// `<group>/<version>, Kind=<Kind>`; the core group is empty.
pub(crate) fn printed(config::Kind { group, version, kind }: &config::Kind) -> String {
    format!("{group}/{version}, Kind={kind}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Thing;

    #[test]
    fn kinds_are_printed_with_group_version_and_kind() {
        assert_eq!(printed(&gvk::<Thing>()), "test.berth/v1, Kind=Thing");
        assert_eq!(printed(&config::Kind::parse("v1/Secret").unwrap()), "/v1, Kind=Secret");
    }
}
