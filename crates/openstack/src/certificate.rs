//! The client certificate for endpoints behind single sign-on.

use reqwest::{Certificate, ClientBuilder, Identity};

use crate::OpenStackError;
use crate::secret::SecretValues;

/// A client certificate, and whom it trusts.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    identity: Identity,
    /// Trusted besides the roots of the system.
    root: Certificate,
    skips_verification: bool,
}

impl ClientCertificate {
    /// Reads the values of a Secret; `None` if its certificate is empty.
    pub fn of_secret(values: &SecretValues) -> Result<Option<Self>, OpenStackError> {
        let value = |key| values.get(key).map(|value| value.trim_ascii());
        let cert = value("cert").ok_or(OpenStackError::MissingCertificateKey("cert"))?;
        let key = value("key").ok_or(OpenStackError::MissingCertificateKey("key"))?;
        if cert.is_empty() {
            return Ok(None);
        }
        if key.is_empty() {
            return Err(OpenStackError::CertificateWithoutKey);
        }
        let pem = [cert, b"\n", key, b"\n"].concat();
        // The words of the error may quote the key.
        let unusable =
            || OpenStackError::Certificate("certificate and key are no PEM that belongs together".to_owned());
        Ok(Some(Self {
            identity: Identity::from_pem(&pem).map_err(|_| unusable())?,
            root: Certificate::from_pem(cert).map_err(|_| unusable())?,
            skips_verification: value("selfSigned") == Some(b"true"),
        }))
    }

    /// Whether any certificate of a server is accepted.
    pub fn skips_verification(&self) -> bool {
        self.skips_verification
    }

    pub(crate) fn apply_to(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = builder.identity(self.identity.clone()).tls_certs_merge([self.root.clone()]);
        builder.tls_danger_accept_invalid_certs(self.skips_verification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(entries: &[(&str, &str)]) -> SecretValues {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn certificate_and_key_must_be_there_and_belong_together() {
        let error = |entries: &[(&str, &str)]| ClientCertificate::of_secret(&values(entries)).unwrap_err().to_string();
        assert_eq!(error(&[("key", "k")]), "missing 'cert' in SSO secret");
        assert_eq!(error(&[("cert", "c")]), "missing 'key' in SSO secret");
        assert_eq!(error(&[("cert", "c"), ("key", "")]), "missing cert key for SSO");
        let text = error(&[("cert", "c"), ("key", "s3cret")]);
        assert!(text.starts_with("failed to load client certificate: ") && !text.contains("s3cret"), "{text}");
        assert!(ClientCertificate::of_secret(&values(&[("cert", ""), ("key", "")])).unwrap().is_none());
    }

    #[test]
    fn only_true_switches_verification_off() {
        let made = rcgen::generate_simple_self_signed(vec!["berth".to_owned()]).unwrap();
        let encode = |tag: &str, der: &[u8]| pem::encode(&pem::Pem::new(tag, der));
        let cert = encode("CERTIFICATE", made.cert.der());
        let key = encode("PRIVATE KEY", &made.signing_key.serialize_der());
        for (self_signed, expected) in [("true", true), ("True", false), ("", false)] {
            let values = values(&[("cert", &cert), ("key", &key), ("selfSigned", self_signed)]);
            let read = ClientCertificate::of_secret(&values).unwrap().unwrap();
            assert_eq!(read.skips_verification(), expected, "{self_signed:?}");
        }
    }
}
