//! The way to a remote cluster: that of the home cluster with another URL and another root certificate (document 11
//! section 9.2). Whether anybody answers there is not asked.

use berth_core::ClusterName;
use berth_telemetry::config::Remote;
use kube::Config;

use super::{error::ConnectError, stack};
use crate::{Cluster, chain};

/// A client for the remote at `index` of the configuration, with the credentials of `home`.
pub(super) fn cluster(
    home: &Config,
    index: usize,
    remote: &Remote,
    name: ClusterName,
) -> Result<Cluster, ConnectError> {
    let wrong = |key, reason| ConnectError::Remote { index, key, host: remote.host.clone(), reason };
    let mut config = home.clone();
    config.cluster_url = remote.host.parse().map_err(|error| wrong("host", format!("is not a URL: {error}")))?;
    config.accept_invalid_certs = remote.insecure_skip_tls_verify;
    // The name that the certificate of the home cluster has says nothing about this one.
    config.tls_server_name = None;
    let own_root = remote.ca_cert.as_deref().filter(|_| !remote.insecure_skip_tls_verify);
    if let Some(pem) = own_root {
        config.root_cert = Some(certificates(pem).map_err(|reason| wrong("caCert", reason))?);
        config.root_cert_file = None;
    }
    let key = if own_root.is_some() { "caCert" } else { "host" };
    let client = stack::client(config).map_err(|error| wrong(key, chain(&error)))?;
    Ok(Cluster { name, client })
}

/// The certificates of a PEM text.
fn certificates(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let blocks = pem::parse_many(text).map_err(|error| format!("is not PEM: {error}"))?;
    let certificates = blocks.into_iter().filter(|block| block.tag() == "CERTIFICATE").map(pem::Pem::into_contents);
    let all: Vec<_> = certificates.collect();
    if all.is_empty() { Err("holds no certificate; write it in PEM".to_owned()) } else { Ok(all) }
}
