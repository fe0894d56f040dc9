//! Requests on sockets of the attack: each client has one of the addresses of loopback, because a server admits only
//! so many connections of one address.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// The addresses of attackers: `127.0.0.16` and the next ones.
const ATTACKERS: u8 = 16;
const ADDRESSES: usize = 64;
/// An answer that takes longer counts as none.
const WITHIN: Duration = Duration::from_secs(20);
/// A small window, so that a slow reader makes the server wait.
const SLOW_WINDOW: u32 = 4096;

/// Connects from the address of this attacker.
pub async fn attack(number: usize, to: SocketAddr) -> io::Result<TcpStream> {
    connect(TcpSocket::new_v4()?, address(number), to).await
}

/// The same with a receive buffer of a few KiB.
pub async fn attack_slowly(number: usize, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(SLOW_WINDOW)?;
    connect(socket, address(number), to).await
}

/// Connects from `127.0.0.{last}`.
pub async fn connect_from(last: u8, to: SocketAddr) -> io::Result<TcpStream> {
    connect(TcpSocket::new_v4()?, last, to).await
}

fn address(number: usize) -> u8 {
    ATTACKERS + u8::try_from(number % ADDRESSES).unwrap_or(0)
}

async fn connect(socket: TcpSocket, last: u8, to: SocketAddr) -> io::Result<TcpStream> {
    socket.bind(([127, 0, 0, last], 0).into())?;
    let connected = timeout(WITHIN, socket.connect(to)).await;
    let stream = connected.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\n{HEAD}\r\n").into_bytes()
}

pub fn send(method: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\n{HEAD}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

const HEAD: &str = "Host: berth\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n";

/// Sends a request and reads its whole answer; returns the status.
pub async fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<u16> {
    let exchange = async {
        // A server that refuses a connection may have answered and closed it before it reads.
        let sent = stream.write_all(request).await;
        match read_answer(stream).await {
            Err(error) => Err(sent.err().unwrap_or(error)),
            answer => answer,
        }
    };
    timeout(WITHIN, exchange).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

async fn read_answer(stream: &mut TcpStream) -> io::Result<u16> {
    let mut answer = Answer::default();
    let mut part = vec![0; 16 * 1024];
    loop {
        let read = stream.read(&mut part).await?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if let Some(status) = answer.add(&part[..read])? {
            return Ok(status);
        }
    }
}

/// An answer as far as it has arrived; its body is not kept.
#[derive(Debug, Default)]
struct Answer {
    head: Vec<u8>,
    status: u16,
    /// How much of the body is missing; `None` for chunks, the last of which ends it.
    missing: Option<usize>,
    tail: Vec<u8>,
}

impl Answer {
    /// The status when this was the last part.
    fn add(&mut self, part: &[u8]) -> io::Result<Option<u16>> {
        const END: &[u8] = b"\r\n\r\n";
        if self.status != 0 {
            return Ok(self.is_ended_by(part).then_some(self.status));
        }
        self.head.extend_from_slice(part);
        let Some(end) = self.head.windows(END.len()).position(|four| four == END) else { return Ok(None) };
        let body = self.head.split_off(end + END.len());
        let head = String::from_utf8_lossy(&self.head).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        self.status = status.ok_or(ErrorKind::InvalidData)?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let is_chunked = head.contains("\r\ntransfer-encoding: chunked");
        self.missing = if is_chunked { None } else { Some(length.unwrap_or(0)) };
        Ok(self.is_ended_by(&body).then_some(self.status))
    }

    fn is_ended_by(&mut self, part: &[u8]) -> bool {
        const LAST: &[u8] = b"0\r\n\r\n";
        if let Some(missing) = &mut self.missing {
            *missing = missing.saturating_sub(part.len());
            return *missing == 0;
        }
        self.tail.extend_from_slice(part);
        let surplus = self.tail.len().saturating_sub(LAST.len());
        self.tail.drain(..surplus);
        self.tail == LAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&str]) -> Vec<Option<u16>> {
        let mut answer = Answer::default();
        parts.iter().map(|part| answer.add(part.as_bytes()).unwrap()).collect()
    }

    #[test]
    fn answers_end_with_their_length_or_their_last_chunk() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(read(&[&head[..9], &head[9..], "ab", "c"]), [None, None, None, Some(200)]);
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(&[head, "1\r\na\r\n0", "\r\n\r\n"]), [None, None, Some(200)]);
        assert_eq!(read(&["HTTP/1.1 204 No Content\r\n\r\n"]), [Some(204)]);
        assert!(Answer::default().add(b"nonsense\r\n\r\n").is_err());
    }
}
