//! A certificate, its key and its authority, as they are in files.

use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error as TlsError, InconsistentKeys, RootCertStore};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The contents of the files, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct CertificatePem {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) authority: Option<Vec<u8>>,
}

/// A certificate that can be served.
#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) served: Arc<CertifiedKey>,
    /// When it expires, in seconds since 1970.
    pub(super) expires: i64,
    pub(super) authority: Option<Authority>,
}

/// What recognizes certificates of other replicas that are not the same: they are signed by an authority for this name.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) verifier: Arc<WebPkiServerVerifier>,
    pub(super) name: ServerName<'static>,
}

/// Why files cannot be used. Nothing in it is from the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error("tls.certFile has no certificate; write one in PEM into it (BEGIN CERTIFICATE)")]
    NoCertificate,
    #[error("tls.certFile has a certificate that cannot be read; replace it")]
    BadCertificate,
    #[error(
        "tls.keyFile has no private key that can be used; write one in PEM into it (BEGIN PRIVATE KEY, RSA or ECDSA)"
    )]
    NoKey,
    #[error(
        "the key in tls.keyFile is not that of the certificate in tls.certFile; replace both files with a pair that belongs together"
    )]
    Mismatch,
    #[error(
        "tls.caFile has no certificate of an authority that can be used; write one in PEM into it, or leave tls.caFile out"
    )]
    BadAuthority,
    #[error(
        "the certificate in tls.certFile is for no DNS name, so tls.caFile cannot recognize other replicas; add a name, or leave tls.caFile out"
    )]
    NoName,
    #[error("{file} cannot be read: {why}")]
    Unreadable { file: String, why: String },
}

impl Certificate {
    pub(super) fn parse(pem: &CertificatePem) -> Result<Self, CertificateError> {
        let chain = certificates(&pem.certificate).map_err(|()| CertificateError::BadCertificate)?;
        let leaf = chain.first().ok_or(CertificateError::NoCertificate)?.clone();
        let (_, parsed) = X509Certificate::from_der(&leaf).map_err(|_| CertificateError::BadCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(&pem.key).map_err(|_| CertificateError::NoKey)?;
        let served = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| match error {
            TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => CertificateError::Mismatch,
            TlsError::InvalidCertificate(_) => CertificateError::BadCertificate,
            _ => CertificateError::NoKey,
        })?;
        let authority = pem.authority.as_deref().map(|pem| Authority::parse(pem, &parsed)).transpose()?;
        Ok(Self { served: Arc::new(served), expires: parsed.validity().not_after.timestamp(), authority })
    }

    /// The certificate itself, without those that lead to its authority.
    pub(super) fn leaf(&self) -> Option<&CertificateDer<'static>> {
        self.served.cert.first()
    }
}

impl Authority {
    fn parse(pem: &[u8], leaf: &X509Certificate<'_>) -> Result<Self, CertificateError> {
        let bad = || CertificateError::BadAuthority;
        let mut roots = RootCertStore::empty();
        for root in certificates(pem).map_err(|()| bad())? {
            roots.add(root).map_err(|_| bad())?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let name = dns_name(leaf).ok_or(CertificateError::NoName)?;
        Ok(Self { verifier: verifier.map_err(|_| bad())?, name })
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ()> {
    CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(drop)
}

/// The first name of a certificate, for `*.example.org` one that it is for.
fn dns_name(certificate: &X509Certificate<'_>) -> Option<ServerName<'static>> {
    let names = certificate.subject_alternative_name().ok()??;
    names.value.general_names.iter().find_map(|name| match name {
        GeneralName::DNSName(name) => ServerName::try_from(name.replacen('*', "berth", 1)).ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::tests::certificates::{Issuer, self_signed};

    #[test]
    fn a_certificate_with_its_key_is_read_with_the_time_when_it_expires() {
        let pem = self_signed(&["berth.example.org"]);
        let read = Certificate::parse(&pem).unwrap();
        assert!(read.authority.is_none() && read.leaf().is_some());
        assert!(read.expires > 1_800_000_000, "{}", read.expires);
    }

    #[test]
    fn files_that_cannot_be_used_are_refused_with_what_to_do() {
        let (pem, other) = (self_signed(&["a"]), self_signed(&["a"]));
        let with = |change: &dyn Fn(&mut CertificatePem)| {
            let mut changed = pem.clone();
            change(&mut changed);
            Certificate::parse(&changed).unwrap_err()
        };
        assert_eq!(with(&|pem| pem.certificate.clear()), CertificateError::NoCertificate);
        assert_eq!(with(&|pem| pem.certificate.clone_from(&pem.key)), CertificateError::NoCertificate);
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(with(&|pem| pem.certificate = broken.to_vec()), CertificateError::BadCertificate);
        assert_eq!(with(&|pem| pem.key.clear()), CertificateError::NoKey);
        assert_eq!(with(&|pem| pem.key.clone_from(&other.key)), CertificateError::Mismatch);
        assert_eq!(with(&|pem| pem.authority = Some(broken.to_vec())), CertificateError::BadAuthority);
        assert_eq!(with(&|pem| pem.authority = Some(Vec::new())), CertificateError::BadAuthority);
    }

    #[test]
    fn replicas_are_recognized_by_the_first_name_and_a_certificate_without_names_by_none() {
        let issuer = Issuer::new();
        let named = |names: &[&str]| Certificate::parse(&issuer.issue(names)).map(|read| read.authority.unwrap().name);
        assert_eq!(named(&["berth.example.org", "localhost"]), Ok(ServerName::try_from("berth.example.org").unwrap()));
        assert_eq!(named(&["*.example.org"]), Ok(ServerName::try_from("berth.example.org").unwrap()));
        assert_eq!(named(&["10.0.0.7"]), Err(CertificateError::NoName));
    }
}
