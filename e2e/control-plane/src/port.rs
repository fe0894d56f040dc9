//! Reserves a loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::{Error, FromRefused as _};

const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// A port on 127.0.0.1 that no other program gets while this value lives, whether or not a server listens on it.
///
/// A socket is bound to it and never listens, so nothing connects to it. A server of ours may share the port
/// (`SO_REUSEPORT`); the kernel gives it to no other program, neither on request nor as a free one. Without that,
/// another program could take the port before the server starts, or while an API server is stopped for a test.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    _socket: TcpSocket,
}

impl ReservedPort {
    pub fn new() -> Result<Self, Error> {
        let socket = TcpSocket::new_v4().map_err(Error::io("open a socket"))?;
        socket.set_reuseport(true).map_err(Error::io("share a port"))?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).map_err(Error::io("find a free port on 127.0.0.1"))?;
        let number = socket.local_addr().map_err(Error::io("find a free port on 127.0.0.1"))?.port();
        Ok(Self { number, _socket: socket })
    }

    pub fn number(&self) -> u16 {
        self.number
    }

    pub async fn is_served(&self) -> bool {
        let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.number));
        timeout(CONNECT_WITHIN, connection).await.is_ok_and(|connection| connection.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reserved_port_is_refused_to_others_and_shared_with_our_server() {
        let port = ReservedPort::new().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.number()));
        assert!(std::net::TcpListener::bind(address).is_err(), "another program must not get it");
        assert!(!port.is_served().await, "no server listens yet");

        let server = TcpSocket::new_v4().unwrap();
        server.set_reuseport(true).unwrap();
        server.bind(address).unwrap();
        let _listener = server.listen(1024).unwrap();
        for _ in 0..100 {
            assert!(port.is_served().await, "the socket that holds the port must not take connections");
        }
    }
}
