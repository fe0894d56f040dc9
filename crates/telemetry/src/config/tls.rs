//! `tls`: the certificate of all listeners but the probes.

use std::path::PathBuf;

use super::section::Section;
use super::settings::settings;

/// The oldest version of TLS that a listener accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TlsVersion {
    #[default]
    V1_2,
    V1_3,
}

const VERSIONS: [(&str, TlsVersion); 2] = [("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];

settings! {
    /// Settings of TLS. Without files the APIs are served over plain HTTP.
    #[derive(Default)]
    pub struct Tls = read(s) check {
        /// File with the certificate of the listeners in PEM, and those that lead to its authority. It is read again when it changes.
        cert_file: Option<PathBuf> = file("certFile", "none"),
        /// File with the private key of this certificate in PEM.
        key_file: Option<PathBuf> = file("keyFile", "none"),
        /// File with the authority that has signed the certificate, in PEM. Other replicas are then recognized by it; without it they must have the same certificate.
        ca_file: Option<PathBuf> = file("caFile", "none"),
        /// The oldest version of TLS that clients may use.
        min_version: TlsVersion = choice_or("minVersion", &VERSIONS, 0),
    }
}

impl Tls {
    fn check(&self, s: &mut Section<'_>) {
        match (&self.cert_file, &self.key_file, &self.ca_file) {
            (Some(_), None, _) => s.error("certFile", "has no key; set tls.keyFile too".to_owned()),
            (None, Some(_), _) => s.error("keyFile", "has no certificate; set tls.certFile too".to_owned()),
            (None, None, Some(_)) => s.error("caFile", "is for certFile and keyFile; set both or none".to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::decode;

    fn read(tls: &Value) -> Result<Tls, String> {
        let values = json!({ "tls": tls });
        let loaded = decode(values.as_object().unwrap(), true).map_err(|error| error.to_string())?;
        Ok(loaded.configuration.tls)
    }

    #[test]
    fn files_and_the_oldest_version_are_read() {
        let none = read(&json!({})).unwrap();
        assert_eq!((none.cert_file, none.key_file, none.min_version), (None, None, TlsVersion::V1_2));
        let all = json!({ "certFile": "/tls/tls.crt", "keyFile": "/tls/tls.key", "caFile": "/tls/ca.crt", "minVersion": "1.3" });
        let all = read(&all).unwrap();
        assert_eq!((all.cert_file, all.min_version), (Some("/tls/tls.crt".into()), TlsVersion::V1_3));
        assert_eq!((all.key_file, all.ca_file), (Some("/tls/tls.key".into()), Some("/tls/ca.crt".into())));
    }

    #[test]
    fn a_certificate_without_its_key_and_other_versions_are_refused() {
        for (tls, text) in [
            (json!({ "certFile": "tls.crt" }), "tls.certFile: has no key; set tls.keyFile too"),
            (json!({ "keyFile": "tls.key" }), "tls.keyFile: has no certificate; set tls.certFile too"),
            (json!({ "caFile": "ca.crt" }), "tls.caFile: is for certFile and keyFile"),
            (json!({ "minVersion": "1.1" }), "tls.minVersion"),
        ] {
            let refused = read(&tls).unwrap_err();
            assert!(refused.contains(text), "{refused}");
        }
    }
}
