//! TLS for a listener, with the certificate of files, or with one that the process signs itself and that lives as long as it
//! does. A connection that begins without TLS is served as well, with another router: probes stay as they are.

mod certificate;
mod in_force;
mod peers;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use axum::Router;
use berth_telemetry::config::TlsVersion;
use rcgen::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ConfigBuilder, ServerConfig, SupportedProtocolVersion, WantsVerifier};
use tokio_rustls::server::TlsStream;

use crate::error::HttpError;

pub use certificate::CertificateError;
pub use in_force::TlsInForce;

/// The first byte of a TLS connection: a record with a handshake.
const HANDSHAKE: u8 = 0x16;

/// The side of a server in TLS. Clones share the certificate.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// A connection whose client has begun.
pub(crate) enum Opened {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Tls {
    /// A new key and a certificate of it for these names, which no client can verify: it protects from those who only listen.
    pub fn self_signed(names: Vec<String>) -> Result<Self, HttpError> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| HttpError::Certificate { source: error };
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| failed(error.into()))?;
        let CertifiedKey { cert, signing_key } = made;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config = builder(TlsVersion::V1_2)?.with_no_client_auth().with_single_cert(vec![cert.into()], key.into());
        Ok(Self(TlsAcceptor::from(Arc::new(config.map_err(|error| failed(error.into()))?))))
    }

    /// The certificate that is in force when a connection begins. Open connections go on when it changes.
    pub fn of_files(in_force: &TlsInForce) -> Result<Self, HttpError> {
        let followed = in_force.followed().clone();
        let config = builder(followed.oldest)?.with_no_client_auth().with_cert_resolver(followed);
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Waits for the first byte of the client, and for the handshake if it is one.
    pub(crate) async fn open(&self, stream: TcpStream) -> io::Result<Opened> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first == [HANDSHAKE] {
            Ok(Opened::Secure(Box::new(self.0.accept(stream).await?)))
        } else {
            Ok(Opened::Plain(stream))
        }
    }
}

/// A server with the provider of cryptography that the whole process uses.
fn builder(oldest: TlsVersion) -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, HttpError> {
    let versions: &[&SupportedProtocolVersion] = match oldest {
        TlsVersion::V1_2 => &[&TLS13, &TLS12],
        TlsVersion::V1_3 => &[&TLS13],
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let failed = |error| HttpError::Certificate { source: Box::new(error) };
    builder.with_protocol_versions(versions).map_err(failed)
}

/// A listener with TLS, and the routes that it serves without.
#[derive(Clone)]
pub(crate) struct SecureListener {
    pub(crate) tls: Tls,
    pub(crate) plain: Router,
}
