//! Certificates for tests.

use std::fs;
use std::path::Path;

use berth_telemetry::config::Tls as TlsKeys;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::super::certificate::CertificatePem;

/// An authority.
pub(in crate::tls) struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    pub(in crate::tls) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for these names, with its key and this authority.
    pub(in crate::tls) fn issue(&self, names: &[&str]) -> CertificatePem {
        let (params, key) = (params(names), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.0).unwrap();
        CertificatePem {
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
            authority: Some(self.0.as_ref().pem().into_bytes()),
        }
    }
}

pub(in crate::tls) fn self_signed(names: &[&str]) -> CertificatePem {
    let key = KeyPair::generate().unwrap();
    let certificate = params(names).self_signed(&key).unwrap();
    CertificatePem {
        certificate: certificate.pem().into_bytes(),
        key: key.serialize_pem().into_bytes(),
        authority: None,
    }
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// The files in a folder, as the configuration names them.
pub(in crate::tls) fn write(folder: &Path, pem: &CertificatePem) -> TlsKeys {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        Some(path)
    };
    TlsKeys {
        cert_file: write("tls.crt", &pem.certificate),
        key_file: write("tls.key", &pem.key),
        ca_file: pem.authority.as_deref().and_then(|pem| write("ca.crt", pem)),
        ..TlsKeys::default()
    }
}
