//! A client that leaves the processor to the server: one blocking connection, kept as long as the server keeps it. The
//! caller interprets requests and answers.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::error::Error;

const DEADLINE: Duration = Duration::from_secs(600);
const ATTEMPTS: usize = 3;
const READ_AT_ONCE: usize = 64 * 1024;
const HEAD: &str = "Host: placement\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n\
                    Accept: application/json\r\n";

#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    request: String,
    answer: Vec<u8>,
}

/// The answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, request: String::new(), answer: Vec::new() }
    }

    pub fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<Answer<'_>, Error> {
        write_request(&mut self.request, method, path, body);
        let failed = |error| Error::system(format!("{method} {path}"))(error);
        let (status, begin) = self.exchange().map_err(failed)?;
        Ok(Answer { status, body: &self.answer[begin..] })
    }

    /// Sends a request and returns an answer below 300; every other answer is an error.
    pub fn must(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<Answer<'_>, Error> {
        let answer = self.send(method, path, body)?;
        if answer.status < 300 {
            return Ok(answer);
        }
        let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(500)]).into_owned();
        Err(Error::Refused { request: format!("{method} {path}"), status: answer.status, text })
    }

    /// Replaces a connection that the server has closed in the meantime, as long as the answer had not begun.
    fn exchange(&mut self) -> io::Result<(u16, usize)> {
        for _ in 1..ATTEMPTS {
            let fresh = self.stream.is_none();
            match self.try_once() {
                Err(_) if !fresh && self.answer.is_empty() => self.stream = None,
                other => return other,
            }
        }
        self.try_once()
    }

    fn try_once(&mut self) -> io::Result<(u16, usize)> {
        self.answer.clear();
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.address)?,
        };
        stream.write_all(self.request.as_bytes())?;
        let (head, begin) = read_head(&mut stream, &mut self.answer)?;
        read_body(&mut stream, &mut self.answer, &head, begin)?;
        if !head.closes {
            self.stream = Some(stream);
        }
        Ok((head.status, begin))
    }
}

fn write_request(request: &mut String, method: &str, path: &str, body: Option<&str>) {
    request.clear();
    // Cannot fail: the target is a string.
    let _ = write!(request, "{method} {path} HTTP/1.1\r\n{HEAD}");
    let _ = match body {
        Some(body) => {
            write!(request, "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
        None if method == "GET" || method == "DELETE" => write!(request, "\r\n"),
        None => write!(request, "Content-Length: 0\r\n\r\n"),
    };
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_write_timeout(Some(DEADLINE))?;
    Ok(stream)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunks,
    UntilClosed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Length,
    closes: bool,
}

fn read_head(stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<(Head, usize)> {
    loop {
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let text = String::from_utf8_lossy(&answer[..end]).to_lowercase();
            return Ok((head_of(&text)?, end + 4));
        }
        fill(stream, answer)?;
    }
}

fn head_of(text: &str) -> io::Result<Head> {
    let bad = || io::Error::new(ErrorKind::InvalidData, format!("this is no answer: {text}"));
    let status: u16 = text.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
    let field = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()));
    let length = match (field("content-length"), field("transfer-encoding")) {
        (Some(length), _) => Length::Known(length.parse().map_err(|_| bad())?),
        (None, Some(_)) => Length::Chunks,
        (None, None) if status == 204 || status == 304 => Length::Known(0),
        (None, None) => Length::UntilClosed,
    };
    let kept = if text.starts_with("http/1.0") { field("connection") == Some("keep-alive") } else { true };
    let closes = length == Length::UntilClosed || field("connection") == Some("close") || !kept;
    Ok(Head { status, length, closes })
}

fn read_body(stream: &mut TcpStream, answer: &mut Vec<u8>, head: &Head, begin: usize) -> io::Result<()> {
    match head.length {
        Length::Known(length) => {
            while answer.len() < begin + length {
                fill(stream, answer)?;
            }
        }
        Length::Chunks => {
            while !answer[begin..].ends_with(b"0\r\n\r\n") {
                fill(stream, answer)?;
            }
            join_chunks(answer, begin)?;
        }
        Length::UntilClosed => {
            stream.read_to_end(answer)?;
        }
    }
    Ok(())
}

/// Joins in place, because an ordinary client copies as little.
fn join_chunks(answer: &mut Vec<u8>, begin: usize) -> io::Result<()> {
    let bad = || io::Error::new(ErrorKind::InvalidData, "a chunk has no length");
    let (mut read, mut written) = (begin, begin);
    loop {
        let line = answer[read..].windows(2).position(|two| two == b"\r\n").ok_or_else(bad)?;
        let text = std::str::from_utf8(&answer[read..read + line]).map_err(|_| bad())?;
        let length = usize::from_str_radix(text.trim(), 16).map_err(|_| bad())?;
        let chunk = read + line + 2;
        if length == 0 {
            answer.truncate(written);
            return Ok(());
        }
        if chunk + length + 2 > answer.len() {
            return Err(bad());
        }
        answer.copy_within(chunk..chunk + length, written);
        (read, written) = (chunk + length + 2, written + length);
    }
}

fn fill(stream: &mut TcpStream, answer: &mut Vec<u8>) -> io::Result<()> {
    let before = answer.len();
    answer.resize(before + READ_AT_ONCE, 0);
    let read = stream.read(&mut answer[before..]);
    answer.truncate(before + *read.as_ref().unwrap_or(&0));
    if read? == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers each connection with these bytes after one read, then closes it.
    fn server(answers: &'static [&'static [u8]]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        address
    }

    #[test]
    fn a_closed_connection_is_replaced_and_chunks_are_joined() {
        let mut client = Client::new(server(&[
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n",
            b"HTTP/1.0 404 Not Found\r\n\r\nnothing",
        ]));
        assert_eq!(client.must("GET", "/", None).unwrap(), Answer { status: 200, body: b"ab" });
        assert_eq!(client.must("GET", "/", None).unwrap(), Answer { status: 200, body: b"cde" });
        let refused = client.must("PUT", "/x", Some("{}")).unwrap_err().to_string();
        assert_eq!(refused, "PUT /x: 404 nothing");
    }

    #[test]
    fn heads_say_how_long_a_body_is_and_whether_the_connection_stays() {
        let head = |text| head_of(text).unwrap();
        let kept = head("http/1.1 204 no content\r\nvary: x");
        assert_eq!(kept, Head { status: 204, length: Length::Known(0), closes: false });
        assert!(head("http/1.1 200 ok\r\ncontent-length: 3\r\nconnection: close").closes);
        assert!(head("http/1.0 200 ok\r\ncontent-length: 3").closes);
        assert_eq!(head("http/1.1 200 ok\r\n").length, Length::UntilClosed);
        assert!(head_of("nonsense").is_err());
    }
}
