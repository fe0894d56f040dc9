//! `http`: the connections of the APIs.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::section::Section;
use super::settings::settings;

settings! {
    /// Settings of the listeners of the APIs.
    pub struct Http = read(s) {
        /// Connections of one API at the same time; never more than half of the limit of open files, and never so many that fewer than 44 files are left.
        max_connections: usize = count("maxConnections", 1024, 1),
        /// `http.trustedPeers`: addresses that may have more than a quarter of the connections each.
        trusted_peers: BTreeSet<IpAddr> = (trusted_peers(s)),
    }
}

fn trusted_peers(s: &mut Section<'_>) -> BTreeSet<IpAddr> {
    const PEERS: &str =
        "IP addresses of proxies and load balancers, each of which may have more than a quarter of the connections.";
    let texts = s.list("trustedPeers", "none", PEERS).unwrap_or_default();
    let mut peers = BTreeSet::new();
    for (index, text) in texts.iter().enumerate() {
        match text.parse::<IpAddr>() {
            Ok(peer) => drop(peers.insert(peer.to_canonical())),
            Err(_) => s.error(
                &format!("trustedPeers[{index}]"),
                format!("{text:?} is not an IP address; write one like 10.0.0.7 or 2001:db8::7"),
            ),
        }
    }
    peers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::decode;

    #[test]
    fn connections_and_trusted_peers_are_read() {
        let values = json!({ "http": { "maxConnections": 7, "trustedPeers": ["10.0.0.7", "::ffff:10.0.0.8", "::1"] } });
        let http = decode(values.as_object().unwrap(), true).unwrap().configuration.http;
        let peers: Vec<String> = http.trusted_peers.iter().map(ToString::to_string).collect();
        assert_eq!((http.max_connections, peers), (7, ["10.0.0.7", "10.0.0.8", "::1"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_peer_that_is_no_address_and_a_server_without_connections_are_refused() {
        for (values, text) in [
            (json!({ "trustedPeers": ["10.0.0.0/8"] }), "http.trustedPeers[0]"),
            (json!({ "trustedPeers": ["proxy"] }), "\"proxy\" is not an IP address"),
            (json!({ "maxConnections": 0 }), "http.maxConnections"),
        ] {
            let values = json!({ "http": values });
            let refused = decode(values.as_object().unwrap(), false).unwrap_err().to_string();
            assert!(refused.contains(text), "{refused}");
        }
    }
}
