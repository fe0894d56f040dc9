//! Names of remote clusters for users, logs and metrics. They are unique and stay the same while the configuration
//! does.

use std::collections::BTreeSet;

use berth_core::ClusterName;
use berth_telemetry::config::{ApiServers, Remote};
use http::Uri;

/// The names of the remotes, in the order of the configuration: the zone of a remote, if no other one has it, else the
/// host and port of its URL. A name that would occur twice, or be `home`, gets a number.
pub(crate) fn names(servers: &ApiServers) -> Vec<ClusterName> {
    let mut taken = BTreeSet::from([ClusterName::home()]);
    let mut name = |remote| unique(&wanted(remote, &servers.remotes), &mut taken);
    servers.remotes.iter().map(&mut name).collect()
}

fn wanted(remote: &Remote, all: &[Remote]) -> String {
    let mine = |zone: &&str| all.iter().filter(|other| other.zone() == Some(zone)).count() == 1;
    remote.zone().filter(mine).map_or_else(|| address(&remote.host), str::to_owned)
}

fn address(url: &str) -> String {
    let uri: Option<Uri> = url.parse().ok();
    let host = |uri: &Uri| Some((uri.host()?.to_owned(), uri.port_u16()));
    match uri.as_ref().and_then(host) {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host,
        None => url.to_owned(),
    }
}

fn unique(wanted: &str, taken: &mut BTreeSet<ClusterName>) -> ClusterName {
    let mut name = ClusterName::from(wanted);
    let mut number = 1;
    while taken.contains(&name) {
        number += 1;
        name = format!("{wanted}-{number}").into();
    }
    taken.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use berth_telemetry::config::ZONE_LABEL;

    use super::*;

    fn remote(host: &str, zone: &str) -> Remote {
        let zone = (!zone.is_empty()).then(|| (ZONE_LABEL.to_owned(), zone.to_owned()));
        Remote {
            host: host.to_owned(),
            ca_cert: None,
            insecure_skip_tls_verify: false,
            kinds: BTreeSet::new(),
            labels: BTreeMap::from_iter(zone),
        }
    }

    fn named(remotes: Vec<Remote>) -> Vec<String> {
        names(&ApiServers { home: None, remotes }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_remote_is_called_by_its_zone_or_else_by_its_address() {
        let remotes = vec![
            remote("https://one.example.org:6443/path", "az-a"),
            remote("https://two.example.org:6443", "az-b"),
            remote("https://user:secret@three.example.org", "az-b"),
            remote("https://[::1]:6443", ""),
        ];
        assert_eq!(named(remotes), ["az-a", "two.example.org:6443", "three.example.org", "[::1]:6443"]);
    }

    #[test]
    fn no_two_clusters_have_the_same_name_and_none_is_home() {
        let remotes = vec![remote("https://a", "home"), remote("https://b/x", ""), remote("https://b/y", "")];
        assert_eq!(named(remotes), ["home-2", "b", "b-2"]);
    }
}
