//! Makes a client as kube does, except that the body of a write checks the fence when it is sent (`lease::fenced`).
//! kube's own client has no hook for that.

use berth_telemetry::clock::ClockSkew;
use hyper::Response;
use hyper::header::DATE;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::jiff::fmt::rfc2822;
use kube::client::ConfigExt;
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder, ServiceExt};

use crate::lease::last_moment;

/// `skew` gets the time in each answer.
pub(super) fn client(config: Config, skew: Option<ClockSkew>) -> kube::Result<Client> {
    if config.proxy_url.is_some() {
        // Berth is built without proxies; kube returns the error.
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
        .map_response(move |answer| note_date(answer, skew.as_ref()))
        .service(connections.map_request(last_moment).map_err(BoxError::from));
    Ok(Client::new(service, config.default_namespace))
}

fn note_date<B>(answer: Response<B>, skew: Option<&ClockSkew>) -> Response<B> {
    let date = answer.headers().get(DATE).and_then(|date| rfc2822::parse(date.to_str().ok()?).ok());
    if let (Some(skew), Some(date)) = (skew, date) {
        skew.add(date.timestamp());
    }
    answer
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use kube::client::Body;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::{Fence, chain};

    /// The request that a server gets for a write, and the client's error when it does not answer.
    async fn sent(fence: Fence) -> (String, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = client(Config::new(url.parse().unwrap()), None).unwrap();
        let write = Request::put("/a").extension(fence).body(Body::from(b"{\"a\":1}".to_vec())).unwrap();
        let writing = tokio::spawn(async move { client.send(write).await.map(drop) });
        let (mut stream, _) = listener.accept().await.unwrap();
        let got = received(&mut stream).await;
        drop(stream);
        (got, chain(&writing.await.unwrap().unwrap_err()))
    }

    /// Up to the end of the body, or of the connection.
    async fn received(stream: &mut TcpStream) -> String {
        let mut got = Vec::new();
        while !got.ends_with(b"}") && stream.read_buf(&mut got).await.unwrap() > 0 {}
        String::from_utf8(got).unwrap()
    }

    #[test]
    fn the_date_of_an_answer_is_compared_and_another_text_is_not() {
        let skew = ClockSkew::default();
        let answer = |date: &str| Response::builder().header(DATE, date).body(()).unwrap();
        for date in ["yesterday", ""] {
            note_date(answer(date), Some(&skew));
        }
        note_date(Response::new(()), Some(&skew));
        let now = "2026-11-25T14:00:07Z".parse().unwrap();
        assert_eq!(skew.of(now), None);
        note_date(answer("Wed, 25 Nov 2026 14:00:00 GMT"), Some(&skew));
        assert_eq!(skew.of(now).unwrap().as_secs(), 6, "7 s less what has passed since");
    }

    #[tokio::test]
    async fn a_fence_that_closed_in_the_meantime_keeps_the_body_back() {
        let (fence, lose) = Fence::held_now();
        lose();
        let (got, error) = sent(fence).await;
        assert!(!got.contains('{'), "{got}");
        assert!(error.contains("does not lead"), "{error}");
    }

    #[tokio::test]
    async fn an_open_fence_changes_nothing() {
        let (got, _) = sent(Fence::held_now().0).await;
        assert!(got.ends_with("content-length: 7\r\n\r\n{\"a\":1}"), "{got}");
    }
}
