//! A server that always returns the same bytes. Where other clients may write to the database, it asks the database for
//! its version first. No correct server can be faster.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::runtime::{Builder, Runtime};

use super::error::Error;

/// The cheapest query that shows whether other clients have written.
const VERSION: &str = "SELECT pg_current_snapshot()::text";

/// Serves these bytes until the process ends.
pub fn serve(body: &[u8], database: Option<String>) -> Result<SocketAddr, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(Error::system("listen"))?;
    let address = listener.local_addr().map_err(Error::system("listen"))?;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    let answer = [head.as_bytes(), body].concat();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, database) = (answer.clone(), database.clone());
            thread::spawn(move || {
                let Ok(mut version) = database.as_deref().map(Version::connect).transpose() else { return };
                answer_all(stream, &answer, version.as_mut());
            });
        }
    });
    Ok(address)
}

/// Requests have no body and follow each other.
fn answer_all(mut stream: TcpStream, answer: &[u8], mut version: Option<&mut Version>) {
    let (mut buffer, mut filled) = ([0; 8192], 0);
    // A disconnected client is no error.
    let _ = stream.set_nodelay(true);
    while let Ok(read) = stream.read(&mut buffer[filled..]) {
        filled += read;
        if read == 0 || filled == buffer.len() {
            return;
        }
        if buffer[..filled].ends_with(b"\r\n\r\n") {
            filled = 0;
            let is_known = version.as_mut().is_none_or(|version| version.ask().is_ok());
            if !is_known || stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// A connection that queries the version.
struct Version {
    runtime: Runtime,
    connection: PgConnection,
}

impl Version {
    fn connect(url: &str) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::system("start a runtime"))?;
        let connection = runtime.block_on(PgConnection::connect(url))?;
        Ok(Self { runtime, connection })
    }

    fn ask(&mut self) -> Result<(), Error> {
        self.runtime.block_on(self.connection.fetch_one(sqlx::query(VERSION)))?;
        Ok(())
    }
}
