//! The bearer token of a configuration, for other servers than the API server: kube's client adds it to a request that
//! is not sent.

use std::path::Path;

use berth_telemetry::config::Token;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response};
use kube::Config;
use kube::client::{Body, ConfigExt};
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

use super::ConnectError;
use crate::chain;

/// The token with which [`crate::Cluster::connect`] would identify itself, from the kubeconfig, its plugin, or the service
/// account of the pod; `None` if it does so otherwise, for example with a client certificate.
pub async fn bearer_token(kubeconfig: Option<&Path>) -> Result<Option<Token>, ConnectError> {
    let config = super::configured(kubeconfig, "").await?;
    let invalid = |reason: String| super::invalid(kubeconfig, reason);
    let header = authorization(&config).await.map_err(|error| invalid(chain(&*error)))?;
    let Some(header) = header else { return Ok(None) };
    let shown = header.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
    shown.map(|token| Token::from_text(token).map_err(|wrong| invalid(format!("its token {wrong}")))).transpose()
}

/// The header `Authorization` of a request with this configuration.
async fn authorization(config: &Config) -> Result<Option<HeaderValue>, BoxError> {
    let Some(layer) = config.auth_layer()? else { return Ok(None) };
    let unsent = service_fn(|request: Request<Body>| async move {
        Ok::<_, BoxError>(Response::new(request.headers().get(AUTHORIZATION).cloned()))
    });
    let answer = ServiceBuilder::new().layer(layer).service(unsent).oneshot(Request::new(Body::empty())).await?;
    Ok(answer.into_body())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is found in a kubeconfig with this user.
    async fn found(user: &str) -> Result<Option<String>, ConnectError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "of-a-file").unwrap();
        let user = user.replace("FOLDER", &folder.path().display().to_string());
        let path = folder.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'http://127.0.0.1:1'}}}}]\nusers: [{{name: u, user: {user}}}]\n"
        );
        fs::write(&path, text).unwrap();
        bearer_token(Some(&path)).await.map(|token| token.map(|token| token.reveal().to_owned()))
    }

    #[tokio::test]
    async fn the_token_is_that_of_the_user_of_the_kubeconfig_its_file_or_its_plugin() {
        let plugin = r#"{exec: {apiVersion: client.authentication.k8s.io/v1, command: echo, interactiveMode: Never, args: ['{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-a-plugin"}}']}}"#;
        for (user, token) in
            [("{token: own}", "own"), ("{tokenFile: FOLDER/token}", "of-a-file"), (plugin, "of-a-plugin")]
        {
            assert_eq!(found(user).await.unwrap().as_deref(), Some(token), "{user}");
        }
    }

    #[tokio::test]
    async fn users_with_a_certificate_or_a_password_have_none() {
        for user in ["{client-certificate-data: QQ==, client-key-data: QQ==}", "{username: u, password: p}", "{}"] {
            assert_eq!(found(user).await.unwrap(), None, "{user}");
        }
    }

    #[tokio::test]
    async fn a_token_that_cannot_be_read_is_an_error_that_names_the_kubeconfig() {
        let text = found("{tokenFile: FOLDER/none}").await.unwrap_err().to_string();
        assert!(text.starts_with("the kubeconfig ") && text.contains("/kubeconfig cannot be used: "), "{text}");
    }
}
