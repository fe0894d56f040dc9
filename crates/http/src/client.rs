//! HTTP clients: how they are built, and how their errors and answers are read.

use std::error::Error;
use std::{io, iter};

use berth_telemetry::chain::chain;
use reqwest::{Client, ClientBuilder, Response};
use rustls::CertificateError;
use rustls::crypto::{CryptoProvider, ring};

/// Images have no certificates of their own, so this is what most readers of the error have to do.
const TRUST: &str = "set SSL_CERT_FILE to a file with the certificates of the issuers that are trusted, in PEM";

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
    let error = error.without_url();
    if is_of_unknown_issuer(&error) { format!("{}; {TRUST}", chain(&error)) } else { chain(&error) }
}

/// Whether the certificate of the server is signed by nobody whom this process trusts.
fn is_of_unknown_issuer(error: &(dyn Error + 'static)) -> bool {
    let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
    iter::successors(Some(error), |error| cause(*error))
        .any(|error| error.downcast_ref::<rustls::Error>() == Some(&unknown))
}

/// An error of I/O leaves out the error that it was made of: its source is the source of that one.
fn cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// The first bytes of a body, and whether it ended there.
pub async fn first_bytes(answer: &mut Response, most: usize, into: &mut Vec<u8>) -> reqwest::Result<bool> {
    while into.len() < most {
        let Some(part) = answer.chunk().await? else { return Ok(true) };
        into.extend_from_slice(&part[..part.len().min(most - into.len())]);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_issuer_differs_from_other_faults_of_certificates() {
        let fault = |fault| io::Error::other(io::Error::other(rustls::Error::InvalidCertificate(fault)));
        assert!(is_of_unknown_issuer(&fault(CertificateError::UnknownIssuer)));
        assert!(!is_of_unknown_issuer(&fault(CertificateError::Expired)));
        assert!(!is_of_unknown_issuer(&io::Error::other("UnknownIssuer")));
    }
}
