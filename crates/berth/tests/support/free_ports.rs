//! Addresses for the processes that tests start.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that Linux chooses by itself, so that no connection or listener of another test gets one between the test that
/// finds it and the process that listens on it, or while that process is started again.
const PORTS: Range<u16> = 20_000..32_768;

/// How many ports this program has tried.
static TRIED: AtomicU16 = AtomicU16::new(0);

/// Different addresses on loopback that nobody listens on, and that this program gets only once. No listener of our own tries them:
/// programs that other tests fork would keep it open until they call exec.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    [(); N].map(|()| {
        let mut candidates = PORTS.map(|_| SocketAddr::from((Ipv4Addr::LOCALHOST, next_port())));
        candidates.find(|address| TcpStream::connect(address).is_err()).unwrap()
    })
}

/// Programs of tests that run at the same time begin at different ports.
fn next_port() -> u16 {
    let (begin, tried) = (std::process::id().wrapping_mul(97), TRIED.fetch_add(1, Ordering::Relaxed));
    let of_range = begin.wrapping_add(u32::from(tried)) % u32::from(PORTS.end - PORTS.start);
    PORTS.start + u16::try_from(of_range).unwrap()
}

#[test]
fn each_address_is_found_once_and_is_free() {
    let mut found = [free_addresses::<20>(), free_addresses::<20>()].concat();
    assert!(found.iter().all(|address| PORTS.contains(&address.port()) && TcpStream::connect(address).is_err()));
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 40);
}
