//! The endpoint on a real socket: a server with one thread, so that its processor time can be told apart from that of
//! its clients, and clients that keep their connections.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use axum::Router;
use berth_http::Server;
use berth_scheduler_api::server::PATH;
use futures::future::try_join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::proc;
use crate::times::Times;

pub struct Listening {
    address: SocketAddr,
    thread: u32,
    stop: CancellationToken,
    work: Option<JoinHandle<Result<(), Error>>>,
}

impl Listening {
    /// Serves the router until it is dropped.
    pub fn start(router: Router) -> Result<Self, Error> {
        let (tell, reported) = mpsc::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let work = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                // The receiver is gone only when the start was given up.
                let _ = tell.send((address, proc::this_thread()?));
                let served = Server::new("bench").serve(listener, router, stopped).await;
                served.map_err(|error| Error::Answer(error.to_string()))
            })
        });
        let (address, thread) = reported.recv().map_err(|_| Error::Answer("it does not listen".to_owned()))?;
        Ok(Self { address, thread, stop, work: Some(work) })
    }

    /// Sends `runs` requests over concurrent connections, one after the other on each. Returns how long each took, and
    /// how many were answered per second of time and per second of the server's processor time.
    pub async fn ask(&self, bodies: &[Vec<u8>], runs: usize, connections: usize) -> Result<(Times, f64, f64), Error> {
        let requests: Arc<Vec<Vec<u8>>> = Arc::new(bodies.iter().map(|body| request(body)).collect());
        let (started, before) = (Instant::now(), proc::seconds_of_thread(self.thread)?);
        let callers = (0..connections).map(|number| {
            let (address, requests) = (self.address, requests.clone());
            let work = tokio::spawn(async move { call(address, &requests, number, runs / connections).await });
            async { work.await.map_err(|error| Error::Answer(error.to_string()))? }
        });
        let all = try_join_all(callers).await?;
        let (took, processor) = (started.elapsed().as_secs_f64(), proc::seconds_of_thread(self.thread)? - before);
        let mut times = Times::default();
        for of_one in all {
            times.append(of_one);
        }
        let answered = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
        Ok((times, answered / took, answered / processor.max(0.01)))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
        // The clients have seen every error.
        drop(self.work.take().map(JoinHandle::join));
    }
}

fn failed(error: io::Error) -> Error {
    Error::system("a socket on the loopback device")(error)
}

fn request(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: berth\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

async fn call(address: SocketAddr, requests: &[Vec<u8>], first: usize, runs: usize) -> Result<Times, Error> {
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let (mut times, mut answer) = (Times::default(), Vec::new());
    for request in requests.iter().cycle().skip(first * requests.len() / 8).take(runs) {
        let started = Instant::now();
        stream.write_all(request).await.map_err(failed)?;
        answer.clear();
        while !is_whole(&answer)? {
            let read = stream.read_buf(&mut answer).await.map_err(failed)?;
            if read == 0 {
                return Err(Error::Answer("it closed the connection".to_owned()));
            }
        }
        times.add(started.elapsed());
    }
    Ok(times)
}

/// Whether the answer is complete and has status 200.
fn is_whole(answer: &[u8]) -> Result<bool, Error> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = String::from_utf8_lossy(&answer[..end]);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    match length.filter(|_| head.starts_with("HTTP/1.1 200 ")) {
        Some(length) => Ok(answer.len() >= end + 4 + length),
        None => Err(Error::Answer(String::from_utf8_lossy(answer).into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_it_reports() {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n";
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\ncontent-").unwrap());
        assert!(!is_whole(format!("{head}ab").as_bytes()).unwrap());
        assert!(is_whole(format!("{head}abc").as_bytes()).unwrap());
        assert!(is_whole(b"HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n").is_err());
    }
}
