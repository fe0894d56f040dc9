//! From a configuration to a client, as kube does it, with one thing more: the body of a write asks the fence in the
//! moment in which it is taken for the socket (`lease::fenced`). kube's own client has no place for that.

use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{Client, Config, client::ConfigExt};
use tower::{BoxError, ServiceBuilder, ServiceExt};

use crate::lease::last_moment;

pub(super) fn client(config: Config) -> kube::Result<Client> {
    if config.proxy_url.is_some() {
        // We are built without proxies; kube says so.
        return Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections = legacy::Builder::new(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .service(connections.map_request(last_moment).map_err(BoxError::from));
    Ok(Client::new(service, config.default_namespace))
}
