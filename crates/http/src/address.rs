//! Reads the address flags (`:8081`, `host:port`, `0` for off) and opens sockets.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::{fmt, io};

use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::error::HttpError;

/// Connections that the operating system holds until they are accepted.
const BACKLOG: u32 = 1024;

/// Bytes that the operating system holds until a client reads them. With more it would not be noticed for a long time that a slow
/// client reads at all.
const SEND_BUFFER: u32 = 64 * 1024;

/// A host, or all interfaces, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Name or number of the interface, without brackets; `None` is all of them.
    pub host: Option<String>,
    /// TCP port; 0 lets the operating system choose one.
    pub port: u16,
}

impl Address {
    /// Reads the value of a flag; `None` means that the server is off (`0`, or nothing at all).
    pub fn from_flag(text: &str) -> Result<Option<Self>, HttpError> {
        if text.is_empty() || text == "0" { Ok(None) } else { text.parse().map(Some) }
    }

    /// Whether only this machine can connect to it.
    pub fn is_loopback(&self) -> bool {
        let Some(host) = &self.host else { return false };
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
    }

    /// Opens the socket. For all interfaces that is IPv6 and IPv4, or IPv4 alone where there is no IPv6.
    pub async fn listen(&self) -> Result<TcpListener, HttpError> {
        let bind = |host: &str| bind(host.to_owned(), self.port);
        let listener = match &self.host {
            Some(host) => bind(host).await,
            None => match bind("::").await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
                Err(_) => bind("0.0.0.0").await,
                listener => listener,
            },
        };
        listener.map_err(|source| HttpError::Bind { address: self.to_string(), source })
    }
}

/// Listens at the first address of this name that can be used.
async fn bind(host: String, port: u16) -> io::Result<TcpListener> {
    let mut failed = io::Error::other("the name has no address");
    for address in lookup_host((host, port)).await? {
        match listen_at(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted process need not wait for the end of its former connections.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl FromStr for Address {
    type Err = HttpError;

    fn from_str(text: &str) -> Result<Self, HttpError> {
        let wrong = || HttpError::Address { found: text.to_owned() };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = match host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) => inner,
            None if host.contains([':', '/', '[', ']', ' ']) => return Err(wrong()),
            None => host,
        };
        Ok(Self { host: Some(host.to_owned()).filter(|host| !host.is_empty()), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Some(host) => write!(f, "{host}:{}", self.port),
            None => write!(f, ":{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_go_writes_them() {
        for (text, host, port) in [
            (":8081", None, 8081),
            ("0.0.0.0:8080", Some("0.0.0.0"), 8080),
            ("localhost:2112", Some("localhost"), 2112),
            ("[::1]:8080", Some("::1"), 8080),
            (":0", None, 0),
        ] {
            let address = Address::from_flag(text).unwrap().unwrap();
            assert_eq!(address, Address { host: host.map(str::to_owned), port });
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(Address::from_flag("0").unwrap(), None);
        assert_eq!(Address::from_flag("").unwrap(), None);
        for text in ["8080", ":", ":http", ":70000", "::1:80", "http://a:80", "[::1]"] {
            assert!(matches!(Address::from_flag(text), Err(HttpError::Address { .. })), "{text}");
        }
    }

    #[tokio::test]
    async fn a_taken_port_is_refused_with_the_address() {
        let first = Address { host: Some("127.0.0.1".to_owned()), port: 0 }.listen().await.unwrap();
        let same = Address { host: Some("127.0.0.1".to_owned()), port: first.local_addr().unwrap().port() };
        let refused = same.listen().await.unwrap_err().to_string();
        assert!(refused.starts_with(&format!("cannot listen on {same}")), "{refused}");
    }

    /// Nothing accepts them. When a backlog is full, the kernel lets further clients wait.
    #[tokio::test]
    async fn a_thousand_clients_that_come_at_once_wait_in_the_backlog() {
        let listener = Address { host: Some("127.0.0.1".to_owned()), port: 0 }.listen().await.unwrap();
        let (address, mut waiting) = (listener.local_addr().unwrap(), Vec::new());
        for number in 0..1000 {
            let connected = tokio::net::TcpStream::connect(address);
            let within = tokio::time::timeout(std::time::Duration::from_secs(5), connected).await;
            waiting.push(within.unwrap_or_else(|_| panic!("connection {number} is not taken")).unwrap());
        }
    }

    #[tokio::test]
    async fn all_interfaces_include_the_loopback_of_ipv4() {
        let listener = Address { host: None, port: 0 }.listen().await.unwrap();
        tokio::net::TcpStream::connect(("127.0.0.1", listener.local_addr().unwrap().port())).await.unwrap();
    }
}
