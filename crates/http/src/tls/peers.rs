//! The side of a client in TLS to other replicas. They are reached by IP, which no certificate names.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError as Rejection, ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
};

use super::in_force::{Followed, TlsInForce};

/// Accepts a replica that serves the certificate in force of this process or the one before it, or one that their authority has
/// signed for the same name.
#[derive(Debug)]
struct Peers {
    own: Arc<Followed>,
    provider: CryptoProvider,
}

impl TlsInForce {
    /// The configuration of clients of other replicas.
    pub(crate) fn client_of_peers(&self) -> Result<ClientConfig, TlsError> {
        let provider = ring::default_provider();
        let peers = Peers { own: self.followed().clone(), provider: provider.clone() };
        let builder = ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions()?;
        Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(peers)).with_no_client_auth())
    }
}

impl ServerCertVerifier for Peers {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if self.own.is_own(leaf) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.own.certificate().authority {
            Some(known) => known.verifier.verify_server_cert(leaf, chain, &known.name, ocsp, now),
            None => Err(Rejection::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::certificate::Certificate;
    use crate::tls::tests::certificates::{Issuer, self_signed, write};

    fn leaf(pem: &super::super::certificate::CertificatePem) -> CertificateDer<'static> {
        Certificate::parse(pem).unwrap().leaf().cloned().unwrap()
    }

    #[test]
    fn replicas_have_the_same_certificate_or_one_of_its_authority_for_the_same_name() {
        let folder = tempfile::tempdir().unwrap();
        let (issuer, name) = (Issuer::new(), ["berth.example.org"]);
        let own = issuer.issue(&name);
        let accepts = |keys, certificate: &CertificateDer<'static>| {
            let tls = TlsInForce::open(&keys).unwrap().unwrap();
            let peers = Peers { own: tls.followed().clone(), provider: ring::default_provider() };
            let by_ip = ServerName::try_from("10.0.0.7").unwrap();
            peers.verify_server_cert(certificate, &[], &by_ip, &[], UnixTime::now()).is_ok()
        };
        let keys = || write(folder.path(), &own);
        assert!(accepts(keys(), &leaf(&own)));
        assert!(accepts(keys(), &leaf(&issuer.issue(&name))), "renewed on another replica already");
        assert!(!accepts(keys(), &leaf(&issuer.issue(&["other.example.org"]))), "of another service");
        assert!(!accepts(keys(), &leaf(&Issuer::new().issue(&name))), "of another authority");
        assert!(!accepts(keys(), &leaf(&self_signed(&name))));
        let without =
            || write(folder.path(), &super::super::certificate::CertificatePem { authority: None, ..own.clone() });
        assert!(accepts(without(), &leaf(&own)) && !accepts(without(), &leaf(&issuer.issue(&name))));
    }
}
