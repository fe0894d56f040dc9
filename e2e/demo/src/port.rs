//! Free ports on this machine.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::error::Error;

/// `N` different free addresses on loopback. Another process may take one before it is used; the operator then exits
/// with an error.
pub fn free<const N: usize>() -> Result<[SocketAddr; N], Error> {
    let failed = |source| Error::System { action: "find a free port on 127.0.0.1", source };
    // All are held until all are found, so that none is found twice.
    let listeners: Vec<_> =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>().map_err(failed)?;
    let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (address, listener) in addresses.iter_mut().zip(&listeners) {
        *address = listener.local_addr().map_err(failed)?;
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ports_differ_and_are_free() {
        let [one, other] = super::free().unwrap();
        assert_ne!(one, other);
        assert!(std::net::TcpListener::bind(one).is_ok());
    }
}
