//! Whether a configured URL is an address of this process: with the reference's chart the process calls itself, and
//! Berth then uses the scheduler in this process.

use reqwest::Url;

use crate::server::PATH;

/// True for a loopback address, the port where our own API listens, and the path of our own scheduler API.
pub fn is_loopback_own(url: &str, bind_port: u16) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let plain = url.query().is_none() && url.fragment().is_none();
    let ours = url.port_or_known_default() == Some(bind_port) && url.path() == PATH;
    plain && ours && url.host_str().is_some_and(is_loopback)
}

fn is_loopback(host: &str) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || number.parse().is_ok_and(|ip: std::net::IpAddr| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_url_at_our_own_port_with_our_path_is_our_own() {
        for own in [
            "http://localhost:8080/scheduler/nova/external",
            "https://localhost:8080/scheduler/nova/external",
            "http://LOCALHOST:8080/scheduler/nova/external",
            "http://127.0.0.1:8080/scheduler/nova/external",
            "http://127.1.2.3:8080/scheduler/nova/external",
            "http://[::1]:8080/scheduler/nova/external",
            "http://[::ffff:127.0.0.1]:8080/scheduler/nova/external",
        ] {
            assert!(is_loopback_own(own, 8080), "{own}");
            assert!(!is_loopback_own(own, 8081), "{own}");
        }
        assert!(is_loopback_own("http://localhost/scheduler/nova/external", 80));
    }

    #[test]
    fn anything_else_is_another_scheduler() {
        for other in [
            "http://cortex-nova-scheduler:8080/scheduler/nova/external",
            "http://10.0.0.7:8080/scheduler/nova/external",
            "http://localhost.example:8080/scheduler/nova/external",
            "http://localhost:8081/scheduler/nova/external",
            "http://localhost/scheduler/nova/external",
            "http://localhost:8080/other",
            "http://localhost:8080/scheduler/nova/external/",
            "http://localhost:8080/scheduler/nova/external?x=1",
            "localhost:8080/scheduler/nova/external",
            "",
        ] {
            assert!(!is_loopback_own(other, 8080), "{other}");
        }
    }
}
