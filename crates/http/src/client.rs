//! HTTP clients: how they are built, and how their errors and answers are read.

use berth_telemetry::chain::chain;
use reqwest::{Client, ClientBuilder, Response};
use rustls::crypto::{CryptoProvider, ring};

/// A client with these settings. Where the system has no certificates, plain HTTP works all the same.
pub fn build(settings: impl Fn() -> ClientBuilder) -> reqwest::Result<Client> {
    if CryptoProvider::get_default().is_none() {
        // Refused only when another thread was quicker; it is the same provider then.
        let _ = ring::default_provider().install_default();
    }
    settings().build().or_else(|_| settings().tls_certs_only([]).build())
}

/// The error and its causes in one line, without the URL: it may hold a password.
pub fn line(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

/// The first bytes of a body, and whether it ended there.
pub async fn first_bytes(answer: &mut Response, most: usize, into: &mut Vec<u8>) -> reqwest::Result<bool> {
    while into.len() < most {
        let Some(part) = answer.chunk().await? else { return Ok(true) };
        into.extend_from_slice(&part[..part.len().min(most - into.len())]);
    }
    Ok(false)
}
