//! The certificates that the listeners of an operator serve.

use std::path::Path;

use berth_http::{CertificateError, TlsInForce};
use berth_telemetry::config::Tls;

use crate::args::OperatorArguments;

#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    /// Of the APIs, by the keys `tls`.
    pub(crate) apis: Option<TlsInForce>,
    /// Of secure metrics alone, by flags.
    own_of_metrics: Option<TlsInForce>,
}

impl Certificates {
    /// Reads the files that are named, if any are.
    pub(crate) fn open(arguments: &OperatorArguments, keys: &Tls) -> Result<Self, CertificateError> {
        let own_of_metrics = match files_of_metrics(arguments, keys) {
            Some(keys) => TlsInForce::open(&keys)?,
            None => None,
        };
        Ok(Self { apis: TlsInForce::open(keys)?, own_of_metrics })
    }

    pub(crate) fn of_metrics(&self) -> Option<&TlsInForce> {
        self.own_of_metrics.as_ref().or(self.apis.as_ref())
    }

    pub(crate) fn all(&self) -> Vec<TlsInForce> {
        self.apis.iter().chain(&self.own_of_metrics).cloned().collect()
    }
}

/// Where the flags of the reference's charts say that the certificate of the metrics is.
fn files_of_metrics(arguments: &OperatorArguments, keys: &Tls) -> Option<Tls> {
    let folder = arguments.metrics_cert_path.as_deref().filter(|_| arguments.metrics_secure)?;
    let file = |name: &str| Some(Path::new(folder).join(name));
    Some(Tls {
        cert_file: file(&arguments.metrics_cert_name),
        key_file: file(&arguments.metrics_cert_key),
        min_version: keys.min_version,
        ..Tls::default()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn operator(flags: &[&str]) -> OperatorArguments {
        let all = ["berth", "operator"].iter().chain(flags);
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Operator(arguments) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    /// Writes a certificate and its key as a Secret of TLS is mounted.
    fn write(folder: &Path, certificate: &str, key: &str) {
        let made = rcgen::generate_simple_self_signed(["berth".to_owned()]).unwrap();
        fs::write(folder.join(certificate), made.cert.pem()).unwrap();
        fs::write(folder.join(key), made.signing_key.serialize_pem()).unwrap();
    }

    #[test]
    fn the_files_of_the_flags_are_for_metrics_only() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "tls.crt", "tls.key");
        let path = folder.path().to_str().unwrap();
        let flagged = Certificates::open(&operator(&["--metrics-cert-path", path]), &Tls::default()).unwrap();
        assert!(flagged.apis.is_none() && flagged.of_metrics().is_some() && flagged.all().len() == 1);
        let open = operator(&["--metrics-cert-path", path, "--metrics-secure=false"]);
        assert!(Certificates::open(&open, &Tls::default()).unwrap().all().is_empty());
        let keys = Tls {
            cert_file: Some(folder.path().join("tls.crt")),
            key_file: Some(folder.path().join("tls.key")),
            ..Tls::default()
        };
        let shared = Certificates::open(&operator(&[]), &keys).unwrap();
        assert!(shared.apis.is_some() && shared.of_metrics().is_some() && shared.all().len() == 1);
        let both = Certificates::open(&operator(&["--metrics-cert-path", path]), &keys).unwrap();
        assert_eq!(both.all().len(), 2);
    }

    #[test]
    fn the_files_may_have_other_names_and_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.pem", "b.pem");
        let path = folder.path().to_str().unwrap();
        let named = ["--metrics-cert-path", path, "--metrics-cert-name=a.pem", "--metrics-cert-key=b.pem"];
        assert!(Certificates::open(&operator(&named), &Tls::default()).unwrap().of_metrics().is_some());
        let missing = Certificates::open(&operator(&["--metrics-cert-path", path]), &Tls::default()).unwrap_err();
        assert!(missing.to_string().contains("tls.crt cannot be read"), "{missing}");
    }
}
