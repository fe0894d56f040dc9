//! The base URL at which other replicas reach a server of this process.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;

use crate::Address;

/// How long the name of the peer may take to become an address.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// How requests reach a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// The base URL of the server that listens at `bind`, whose port is the real one (not 0), for example
/// `http://10.0.0.7:8080`: with the IP that it is bound to, else with the IP of the pod (the environment's `POD_IP`),
/// else with the address from which this machine reaches `peer` (host and port), because other machines that reach the
/// same peer should reach it. `None` if none of them is known.
pub async fn base_url(
    scheme: Scheme,
    bind: &Address,
    pod_ip: Option<&str>,
    peer: Option<(&str, u16)>,
) -> Option<String> {
    let known = bind.host.as_deref().and_then(concrete).or_else(|| pod_ip.and_then(concrete));
    let ip = match (known, peer) {
        (Some(ip), _) => ip,
        (None, Some((host, port))) => source(host, port).await?,
        (None, None) => return None,
    };
    (bind.port != 0).then(|| format!("{}://{}", scheme.as_str(), SocketAddr::new(ip, bind.port)))
}

/// The IP, unless it means all interfaces.
fn concrete(text: &str) -> Option<IpAddr> {
    text.trim().parse().ok().filter(|ip: &IpAddr| !ip.is_unspecified())
}

/// Our end of a way to that host. A datagram socket that is connected finds its route and sends nothing.
async fn source(host: &str, port: u16) -> Option<IpAddr> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let peers = timeout(LOOKUP_TIMEOUT, lookup_host((host, port))).await.ok()?.ok()?;
    for peer in peers {
        if let Some(ip) = local(peer).await.filter(|ip| !ip.is_unspecified()) {
            return Some(ip);
        }
    }
    None
}

async fn local(peer: SocketAddr) -> Option<IpAddr> {
    let any = if peer.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await.ok()?;
    socket.connect(peer).await.ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn the_bound_ip_comes_first_then_the_pods_then_the_way_to_the_peer() {
        let peer = Some(("127.0.0.1", 6443));
        for (bind, pod_ip, peer, expected) in [
            ("10.0.0.7:8080", Some("10.1.1.1"), peer, Some("http://10.0.0.7:8080")),
            ("[2001:db8::1]:8080", None, peer, Some("http://[2001:db8::1]:8080")),
            (":8080", Some("10.1.1.1"), peer, Some("http://10.1.1.1:8080")),
            ("0.0.0.0:8081", Some("fd00::5"), peer, Some("http://[fd00::5]:8081")),
            ("[::]:8080", Some(" 10.1.1.1 "), peer, Some("http://10.1.1.1:8080")),
            (":8080", None, peer, Some("http://127.0.0.1:8080")),
            (":8080", Some("nonsense"), peer, Some("http://127.0.0.1:8080")),
            ("somewhere:8080", Some(""), Some(("localhost", 6443)), Some("http://127.0.0.1:8080")),
            (":8080", None, None, None),
            (":8080", None, Some(("no-such-host.invalid", 6443)), None),
            (":0", Some("10.1.1.1"), peer, None),
        ] {
            let found =
                base_url(Scheme::Http, &bound(bind), pod_ip, peer).await.map(|url| url.replace("[::1]", "127.0.0.1"));
            assert_eq!(found.as_deref(), expected, "{bind} {pod_ip:?} {peer:?}");
        }
    }

    #[tokio::test]
    async fn a_peer_in_brackets_is_an_address_of_ipv6() {
        let found = base_url(Scheme::Https, &bound(":8080"), None, Some(("[::1]", 6443))).await;
        let without_ipv6 = UdpSocket::bind("[::1]:0").await.is_err();
        assert_eq!(found.as_deref(), (!without_ipv6).then_some("https://[::1]:8080"));
    }
}
