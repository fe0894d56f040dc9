//! The certificate in force of a process: that of its files, which are read again when they change.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use berth_telemetry::config::{Tls as TlsKeys, TlsVersion};
use parking_lot::RwLock;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tracing::{error, info};

use super::certificate::{Certificate, CertificateError, CertificatePem};
use crate::metrics::HttpMetrics;

/// How often the files are read: a Secret that is mounted takes a minute to change anyway.
const EVERY: Duration = Duration::from_secs(5);

/// The certificate and the key that the listeners of a process serve. Clones share them.
#[derive(Clone)]
pub struct TlsInForce(Arc<Followed>);

/// Files, and what was read last that can be used.
pub(super) struct Followed {
    files: Files,
    pub(super) oldest: TlsVersion,
    current: RwLock<Current>,
}

#[derive(Clone)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    authority: Option<PathBuf>,
}

struct Current {
    read: CertificatePem,
    certificate: Arc<Certificate>,
    /// The certificate before it, which other replicas may still serve.
    former: Option<CertificateDer<'static>>,
}

/// What reading the files again has shown.
#[derive(Debug, PartialEq, Eq)]
enum Reread {
    Same,
    TakenIntoUse,
    Unusable(CertificateError),
}

impl TlsInForce {
    /// Reads the files that the configuration names, if it does.
    pub fn open(keys: &TlsKeys) -> Result<Option<Self>, CertificateError> {
        let (Some(certificate), Some(key)) = (keys.cert_file.clone(), keys.key_file.clone()) else { return Ok(None) };
        let files = Files { certificate, key, authority: keys.ca_file.clone() };
        let read = files.read()?;
        let certificate = Arc::new(Certificate::parse(&read)?);
        let current = RwLock::new(Current { read, certificate, former: None });
        Ok(Some(Self(Arc::new(Followed { files, oldest: keys.min_version, current }))))
    }

    /// When the certificate in force expires, in seconds since 1970.
    pub fn expires(&self) -> i64 {
        self.0.certificate().expires
    }

    pub(super) fn followed(&self) -> &Arc<Followed> {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn reread(&self) {
        self.0.take_into_use(self.0.files.read());
    }

    /// Reads the files again and again, without end, and shows in the metrics what is in force: of several certificates, when
    /// the first of them expires.
    pub async fn follow(all: Vec<Self>, metrics: HttpMetrics) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reported = vec![None; all.len()];
        loop {
            let expires = all.iter().map(Self::expires).min().unwrap_or(i64::MAX);
            metrics.show_certificate(expires, reported.iter().any(Option::is_some));
            tick.tick().await;
            for (one, reported) in all.iter().zip(&mut reported) {
                let files = one.0.files.clone();
                // An error means that the runtime ends.
                let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await else { return };
                report(one.0.take_into_use(read), reported);
            }
        }
    }
}

impl fmt::Debug for TlsInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsInForce").field("expires", &self.expires()).finish_non_exhaustive()
    }
}

/// A failure is logged once, until it changes or ends.
fn report(reread: Reread, reported: &mut Option<CertificateError>) {
    match reread {
        Reread::Same => *reported = None,
        Reread::TakenIntoUse => {
            *reported = None;
            info!("the certificate of the listeners was read again and is in use");
        }
        Reread::Unusable(why) => {
            if reported.as_ref() != Some(&why) {
                error!(error = %why, "files of TLS cannot be used; the former certificate stays in use");
            }
            *reported = Some(why);
        }
    }
}

impl Files {
    fn read(&self) -> Result<CertificatePem, CertificateError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| CertificateError::Unreadable {
                file: path.display().to_string(),
                why: error.to_string(),
            })
        };
        Ok(CertificatePem {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
            authority: self.authority.as_deref().map(read).transpose()?,
        })
    }
}

impl Followed {
    pub(super) fn certificate(&self) -> Arc<Certificate> {
        self.current.read().certificate.clone()
    }

    /// Whether a certificate is the one in force, or the one before it.
    pub(super) fn is_own(&self, certificate: &CertificateDer<'_>) -> bool {
        let current = self.current.read();
        current.certificate.leaf() == Some(certificate) || current.former.as_ref() == Some(certificate)
    }

    fn take_into_use(&self, read: Result<CertificatePem, CertificateError>) -> Reread {
        let read = match read {
            Ok(read) if read == self.current.read().read => return Reread::Same,
            Ok(read) => read,
            Err(why) => return Reread::Unusable(why),
        };
        let certificate = match Certificate::parse(&read) {
            Ok(certificate) => Arc::new(certificate),
            Err(why) => return Reread::Unusable(why),
        };
        let mut current = self.current.write();
        let former = current.certificate.leaf().filter(|leaf| certificate.leaf() != Some(leaf)).cloned();
        let former = former.or_else(|| current.former.take());
        *current = Current { read, certificate, former };
        Reread::TakenIntoUse
    }
}

/// Each handshake gets the certificate that is in force when it begins.
impl ResolvesServerCert for Followed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certificate().served.clone())
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed").field("certificate", &self.files.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use berth_telemetry::metrics::Metrics;

    use super::*;
    use crate::tls::tests::certificates::{self_signed, write};

    fn opened(folder: &Path) -> TlsInForce {
        TlsInForce::open(&write(folder, &self_signed(&["a"]))).unwrap().unwrap()
    }

    #[test]
    fn without_files_there_is_no_tls_and_files_that_are_missing_end_the_start() {
        assert!(TlsInForce::open(&TlsKeys::default()).unwrap().is_none());
        let missing =
            TlsKeys { cert_file: Some("/nowhere/tls.crt".into()), key_file: Some("k".into()), ..TlsKeys::default() };
        assert!(TlsInForce::open(&missing).unwrap_err().to_string().starts_with("/nowhere/tls.crt cannot be read: "));
    }

    #[test]
    fn a_changed_certificate_is_taken_into_use_and_the_former_stays_known() {
        let folder = tempfile::tempdir().unwrap();
        let tls = opened(folder.path());
        let first = tls.0.certificate().leaf().cloned().unwrap();
        assert_eq!(tls.0.take_into_use(tls.0.files.read()), Reread::Same);
        write(folder.path(), &self_signed(&["b"]));
        assert_eq!(tls.0.take_into_use(tls.0.files.read()), Reread::TakenIntoUse);
        let second = tls.0.certificate().leaf().cloned().unwrap();
        assert!(first != second && tls.0.is_own(&first) && tls.0.is_own(&second));
        write(folder.path(), &self_signed(&["c"]));
        tls.0.take_into_use(tls.0.files.read());
        assert!(!tls.0.is_own(&first) && tls.0.is_own(&second));
    }

    #[test]
    fn a_certificate_that_does_not_fit_its_key_is_not_taken_into_use_and_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let tls = opened(folder.path());
        let before = tls.0.certificate();
        let mut pem = self_signed(&["b"]);
        pem.key = self_signed(&["b"]).key;
        write(folder.path(), &pem);
        let mut reported = None;
        for _ in 0..2 {
            let reread = tls.0.take_into_use(tls.0.files.read());
            assert_eq!(reread, Reread::Unusable(CertificateError::Mismatch));
            report(reread, &mut reported);
        }
        assert_eq!(reported, Some(CertificateError::Mismatch));
        assert!(Arc::ptr_eq(&before, &tls.0.certificate()));
        std::fs::remove_file(folder.path().join("tls.key")).unwrap();
        assert!(matches!(
            tls.0.take_into_use(tls.0.files.read()),
            Reread::Unusable(CertificateError::Unreadable { .. })
        ));
        write(folder.path(), &self_signed(&["b"]));
        report(tls.0.take_into_use(tls.0.files.read()), &mut reported);
        assert!(reported.is_none() && !Arc::ptr_eq(&before, &tls.0.certificate()));
    }

    #[tokio::test(start_paused = true)]
    async fn metrics_show_when_the_certificate_expires_and_whether_the_files_can_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let tls = opened(folder.path());
        let registry = Metrics::new(&std::collections::BTreeMap::new()).unwrap();
        let metrics = HttpMetrics::register(&registry).unwrap();
        let shows = async |line: String| {
            while !registry.pieces().any(|piece| piece.contains(&line)) {
                tokio::time::sleep(EVERY).await;
            }
        };
        let other = tempfile::tempdir().unwrap();
        let other = opened(other.path());
        let first = tls.expires().min(other.expires());
        let following = tokio::spawn(TlsInForce::follow(vec![other, tls], metrics));
        shows(format!("berth_tls_certificate_expiry_timestamp_seconds {first}\n")).await;
        shows("berth_tls_files_unusable 0\n".to_owned()).await;
        std::fs::write(folder.path().join("tls.crt"), "").unwrap();
        shows("berth_tls_files_unusable 1\n".to_owned()).await;
        following.abort();
    }
}
