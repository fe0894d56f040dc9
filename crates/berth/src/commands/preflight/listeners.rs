//! The addresses of flags: whether they can be read, and opened at the moment; and the certificate that they serve.

use berth_cluster::chain;
use berth_http::{Address, CertificateError, HttpError, TlsInForce};
use jiff::Timestamp;

use super::fact::{Fact, Listener};

/// Opens the address and closes it again. A port that the operating system chooses is always free.
pub(super) async fn try_listener(
    what: &'static str,
    flag: &'static str,
    address: Result<Option<Address>, HttpError>,
) -> Fact {
    let taken = match &address {
        Ok(Some(address)) if address.port != 0 => address.listen().await.err().map(|error| chain(&error)),
        _ => None,
    };
    Fact::Listener(Listener { what, flag, address: address.map_err(|error| chain(&error)), taken })
}

/// One fact for each certificate; none if the listeners serve without TLS.
pub(super) fn read_certificates(opened: Result<Vec<TlsInForce>, CertificateError>) -> Vec<Fact> {
    const DAY: i64 = 24 * 60 * 60;
    let days = |tls: TlsInForce| (tls.expires() - Timestamp::now().as_second()).div_euclid(DAY);
    match opened {
        Ok(all) => all.into_iter().map(|tls| Fact::Certificate(Ok(days(tls)))).collect(),
        Err(error) => vec![Fact::Certificate(Err(error.to_string()))],
    }
}
