//! Fills an empty server with a cloud over HTTP, as a compute node's agent would.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::bodies;
use super::cloud::{CUSTOM_TRAITS, Cloud, Provider};
use super::error::Error;
use super::http::Client;

const CONNECTIONS: usize = 8;
/// The project of the consumers that exist from the start.
pub const RESIDENTS: &str = "residents";

/// Fills the server over several connections, each with its own hosts.
pub fn fill(address: SocketAddr, cloud: &Cloud) -> Result<(), Error> {
    let mut client = Client::new(address);
    for name in CUSTOM_TRAITS {
        client.must("PUT", &format!("/traits/{name}"), None)?;
    }
    for provider in cloud.sharing() {
        create(&mut client, &provider)?;
    }
    let next = AtomicU64::new(0);
    let work = || hosts(address, cloud, &next);
    let results: Vec<Result<(), Error>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(joined).collect()
    });
    results.into_iter().collect()
}

/// The result of a thread; a panic becomes an error.
pub fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    thread.join().unwrap_or_else(|_| Err(Error::Answer("a thread of the measurement panicked".to_owned())))
}

fn hosts(address: SocketAddr, cloud: &Cloud, next: &AtomicU64) -> Result<(), Error> {
    let mut client = Client::new(address);
    loop {
        let host = next.fetch_add(1, Ordering::Relaxed);
        if host >= cloud.hosts {
            return Ok(());
        }
        for provider in cloud.host(host) {
            create(&mut client, &provider)?;
        }
        for resident in cloud.residents(host) {
            let path = format!("/allocations/{}", resident.consumer);
            client.must("PUT", &path, Some(&bodies::claim(&resident, RESIDENTS)))?;
        }
    }
}

fn create(client: &mut Client, provider: &Provider) -> Result<(), Error> {
    client.must("POST", "/resource_providers", Some(&bodies::provider(provider)))?;
    for (what, body) in bodies::details(provider) {
        client.must("PUT", &format!("/resource_providers/{}/{what}", provider.key), Some(&body))?;
    }
    Ok(())
}
